"""All random generators with fresh seeds, side by side: what was tried, by kind, and the command that replays each failure.

Exit 1 when something was found.
"""

import argparse
import os
import random
import secrets
import time
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from support.attack.campaign import Ended, Tally, attack
from support.attack.generators import GENERATORS, MAX_SEED

WIDTH = 130


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="begin nothing new after so long (default 10)")
    parser.add_argument("--seed", type=int, help="of the drawing of seeds (default: a fresh one)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs side by side")
    parser.add_argument("--only", default="", help="generators whose name holds this text")
    given = parser.parse_args(arguments)
    console = Console(width=max(WIDTH, Console().width))
    chosen = [generator for generator in GENERATORS if given.only in generator.name]
    if not chosen:
        names = ", ".join(generator.name for generator in GENERATORS)
        console.print(f"no generator's name holds {given.only!r}; there are {names}", highlight=False)
        return 2
    seed = secrets.randbelow(MAX_SEED) if given.seed is None else given.seed
    drawn = random.Random(seed)
    console.print(f"seeds are drawn from {seed}", highlight=False)

    def told(ended: Ended) -> None:
        state = "FAILED" if ended.failed else "ok"
        generator = ended.slice.generator
        console.print(
            f"{generator.name}: {generator.cases} from seed {ended.slice.seed}, {ended.seconds:.0f} s: {state}",
            highlight=False,
        )
        if ended.failed:
            console.print(ended.output, markup=False, highlight=False)

    began_s = time.monotonic()
    tallies = attack(chosen, lambda: drawn.randrange(MAX_SEED), began_s + given.minutes * 60, given.jobs, told)
    console.print(_table(tallies, time.monotonic() - began_s))
    failed = [replay for tally in tallies.values() for replay in tally.replays]
    for replay in failed:
        console.print(f"replay: {replay}", markup=False, highlight=False)
    console.print(f"{sum(tally.cases for tally in tallies.values())} cases, {len(failed)} failures", highlight=False)
    return 1 if failed else 0


def _table(tallies: Mapping[str, Tally], seconds: float) -> Table:
    tries = {generator.name: generator.tries for generator in GENERATORS}
    table = Table(
        "generator", "what was tried", "cases", "failed", "processor min", title=f"{seconds / 60:.1f} minutes"
    )
    for name, tally in tallies.items():
        table.add_row(name, tries[name], str(tally.cases), str(tally.failed), f"{tally.seconds / 60:.1f}")
    return table
