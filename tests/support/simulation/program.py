"""So many random runs, side by side in processes, and a table of what they came to.

Exit 1 when one failed; each failure names the command that replays it.
"""

import argparse
import hashlib
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.table import Table

from support.simulation.milvus_run import simulate_milvus
from support.simulation.run import Failure, Outcome, simulate

COLUMNS = (
    "seed",
    "seconds",
    "simulated s",
    "steps",
    "versions",
    "states",
    "proposals",
    "rejected",
    "receipts",
    "merges",
    "swaps",
    "deleted",
    "trace",
)
KINDS = {"log": simulate, "milvus": simulate_milvus}
"""By the format of the tables."""
WIDTH = 130
"""Of a terminal, at least: the table has to fit."""
ROWS_SHOWN = 40
"""Of many runs, the slowest; failures always."""


@dataclass(frozen=True, slots=True)
class Result:
    seed: int
    seconds: float
    outcome: Outcome | None
    failure: str


def run(seed: int, kind: str = "log") -> Result:
    began = time.monotonic()
    try:
        outcome = KINDS[kind](seed)
    except Failure as failure:
        return Result(seed, time.monotonic() - began, None, str(failure))
    return Result(seed, time.monotonic() - began, outcome, "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many runs (default 200)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--kind", choices=KINDS, default="log", help="the format of the tables (default log)")
    given = parser.parse_args(arguments)
    seeds = range(given.first, given.first + given.seeds)
    console = Console(width=max(WIDTH, Console().width))
    began = time.monotonic()
    if given.seeds == 1:
        results = [run(given.first, given.kind)]
    else:
        with multiprocessing.get_context("spawn").Pool(min(given.jobs, given.seeds)) as pool:
            results = []
            for result in pool.imap_unordered(partial(run, kind=given.kind), seeds, chunksize=1):
                results.append(result)
                if result.failure:
                    console.print(result.failure, markup=False, highlight=False)
    failed = [result for result in results if result.failure]
    console.print(_table(results))
    if given.seeds == 1 and failed:
        console.print(failed[0].failure, markup=False, highlight=False)
    traces = hashlib.blake2b(digest_size=8)
    for result in sorted(results, key=lambda item: item.seed):
        traces.update((result.outcome.digest if result.outcome else "failed").encode())
    console.print(
        f"{len(results)} runs in {time.monotonic() - began:.1f} s, {len(failed)} failed; traces {traces.hexdigest()}"
    )
    for result in failed:
        kind = "" if given.kind == "log" else f"KIND={given.kind} "
        console.print(f"replay: make simulate {kind}SEEDS=1 FIRST={result.seed}", highlight=False)
    return 1 if failed else 0


def _table(results: Sequence[Result]) -> Table:
    table = Table(*COLUMNS)
    slowest = sorted(results, key=lambda result: -result.seconds)[:ROWS_SHOWN]
    for result in sorted(slowest, key=lambda item: item.seed):
        outcome = result.outcome
        if outcome is None:
            table.add_row(str(result.seed), f"{result.seconds:.2f}", *["failed"], *[""] * (len(COLUMNS) - 3))
            continue
        table.add_row(
            str(result.seed),
            f"{result.seconds:.2f}",
            f"{outcome.simulated_s:.0f}",
            str(outcome.steps),
            str(outcome.versions),
            str(outcome.states),
            str(outcome.proposals),
            str(outcome.rejected),
            str(outcome.receipts),
            str(outcome.merges),
            str(outcome.swaps),
            str(outcome.cleaned),
            outcome.digest[:8],
        )
    return table
