"""So many random runs, side by side in processes, and tables of what they came to and of what went wrong in them.

Exit 1 when one failed, each with the command that replays it, and when many runs never saw a fault of some kind.
"""

import argparse
import gc
import hashlib
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from support.simulation.actors import retries
from support.simulation.milvus_run import simulate_milvus
from support.simulation.outcome import Failure, Outcome, replay
from support.simulation.run import simulate
from support.simulation.troubles import addresses, careless, copies, failing_disk, nemesis, outsiders, rivals, surgery
from support.simulation.world import faults, simulated_bus

KINDS = {"log": simulate, "milvus": simulate_milvus}
"""By the format of the tables."""
MILVUS_EVERY = 4
"""Of seeds that run without a kind, each so many'th is on manifests."""
FAULTS = (
    *faults.KINDS,
    *nemesis.KINDS,
    *outsiders.KINDS,
    *surgery.KINDS,
    *rivals.KINDS,
    *retries.KINDS,
    *careless.KINDS,
    *addresses.KINDS,
    *copies.KINDS,
    *failing_disk.KINDS,
    *simulated_bus.KINDS,
)
ENOUGH_SEEDS = 200
"""With fewer, it may be chance that a fault never came up."""
WIDTH = 130
"""Of a terminal, at least: the tables have to fit."""


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    kind: str
    seconds: float
    """Of the processor."""
    outcome: Outcome | None
    failure: str


def run(asked: tuple[int, str | None]) -> Result:
    seed, kind = asked[0], asked[1] or kind_of(asked[0])
    began = time.process_time()
    try:
        outcome = KINDS[kind](seed)
    except Failure as failure:
        return Result(seed, kind, time.process_time() - began, None, str(failure))
    return Result(seed, kind, time.process_time() - began, outcome, "")


def kind_of(seed: int) -> str:
    """What a seed plays when nobody says."""
    return "milvus" if seed % MILVUS_EVERY == MILVUS_EVERY - 1 else "log"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many runs (default 200)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument(
        "--kind", choices=KINDS, help="the format of the tables (default: each fourth seed on manifests)"
    )
    parser.add_argument("--until-failure", action="store_true", help="no more runs after the first that fails")
    given = parser.parse_args(arguments)
    asked = [(seed, given.kind) for seed in range(given.first, given.first + given.seeds)]
    console = Console(width=max(WIDTH, Console().width))
    began = time.monotonic()
    results = []
    with _side_by_side(min(given.jobs, given.seeds)) as each:
        for result in each(asked):
            results.append(result)
            if result.failure:
                console.print(result.failure, markup=False, highlight=False)
                if given.until_failure:
                    break
    return _told(console, results, time.monotonic() - began)


@contextmanager
def _side_by_side(jobs: int) -> Iterator[Callable[[Sequence[tuple[int, str | None]]], Iterable[Result]]]:
    """Runs as they end; in this process, where there is only one at a time."""
    if jobs == 1:
        _collect_seldom()
        yield lambda asked: map(run, asked)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, _collect_seldom) as pool:
        yield lambda asked: pool.imap_unordered(run, asked, chunksize=1)


def _collect_seldom() -> None:
    """A run leaves little behind, and what was imported stays: collecting it again and again takes a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


def _told(console: Console, results: Sequence[Result], seconds: float) -> int:
    failed = [result for result in results if result.failure]
    fine = [(result, result.outcome) for result in results if result.outcome is not None]
    console.print(_runs(results))
    outcomes, injected, did = Counter[str](), Counter[str](), Counter[str]()
    for _, outcome in fine:
        outcomes.update(outcome.outcomes)
        injected.update(outcome.injected)
        did.update(outcome.did)
    console.print(_counted("what became of proposals", outcomes, sorted(outcomes)))
    console.print(_counted("what else was done", did, list(did)))
    console.print(_counted("what went wrong", injected, FAULTS))
    traces = hashlib.blake2b(digest_size=8)
    for result in sorted(results, key=lambda item: item.seed):
        traces.update((result.outcome.digest if result.outcome else "failed").encode())
    console.print(
        f"{len(results)} runs in {seconds:.1f} s ({len(results) / seconds:.1f} a second), {len(failed)} failed; "
        f"traces {traces.hexdigest()}"
    )
    for result in failed:
        console.print(f"replay: {replay(result.seed, result.kind)}", highlight=False)
    never = [kind for kind in FAULTS if not injected[kind]] if len(fine) >= ENOUGH_SEEDS else []
    kinds = {result.kind for result in results}
    if never and kinds == set(KINDS):
        console.print(f"never came up: {', '.join(never)}", highlight=False)
        return 1
    return 1 if failed else 0


def _runs(results: Sequence[Result]) -> Table:
    table = Table(
        "tables",
        "seeds",
        "failed",
        "versions",
        "proposals",
        "receipts",
        "steps",
        "simulated h",
        "processor s",
        "slowest",
    )
    for kind in KINDS:
        of_kind = [result for result in results if result.kind == kind]
        if not of_kind:
            continue
        outcomes = [result.outcome for result in of_kind if result.outcome is not None]
        slowest = max(of_kind, key=lambda result: result.seconds)
        table.add_row(
            kind,
            str(len(of_kind)),
            str(len(of_kind) - len(outcomes)),
            str(sum(outcome.versions for outcome in outcomes)),
            str(sum(outcome.proposals for outcome in outcomes)),
            str(sum(outcome.receipts for outcome in outcomes)),
            str(sum(outcome.steps for outcome in outcomes)),
            f"{sum(outcome.simulated_s for outcome in outcomes) / 3600:.1f}",
            f"{sum(result.seconds for result in of_kind):.1f}",
            f"seed {slowest.seed}: {slowest.seconds:.1f} s",
        )
    return table


def _counted(title: str, counts: Counter[str], names: Sequence[str]) -> Table:
    table = Table(title, "times")
    for name in names:
        table.add_row(name, str(counts[name]))
    return table
