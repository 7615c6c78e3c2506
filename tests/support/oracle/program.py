"""So many histories, side by side in processes: what was tried, by kind, and for a failure the one command that replays it."""

import argparse
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count, islice

from rich.console import Console
from rich.table import Table

from support.oracle.history import Played, play, shrink


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="oracle", description=__doc__)
    parser.add_argument("--seeds", type=int, help="how many histories (default 200, or as many as the minutes allow)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--minutes", type=float, help="begin no history after so many minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--steps", help="of each history these steps only, as in 0,3,4")
    parser.add_argument("--no-shrink", action="store_true", help="tell of a failure as it was found, with all steps")
    given = parser.parse_args(arguments)
    most = given.seeds if given.seeds is not None else None if given.minutes is not None else 200
    only = None if given.steps is None else [int(step) for step in given.steps.split(",") if step]
    console = Console(width=max(130, Console().width))
    asked = ((seed, only) for seed in islice(count(given.first), most))
    tried: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    histories, began = 0, time.monotonic()
    for played in _played(asked, given.jobs, None if given.minutes is None else began + given.minutes * 60):
        histories += 1
        tried.update(played.done)
        if not played.kind:
            continue
        failures[played.kind] += 1
        least = played if given.no_shrink or only is not None else shrink(played)
        console.print(f"\nseed {played.seed} fails: {least.kind}", style="bold red", highlight=False)
        console.print(least.failure, markup=False, highlight=False)
        console.print(f"replay: {least.replay}", markup=False, highlight=False)
    table = Table("tried", "times", title=f"{histories} histories in {time.monotonic() - began:.0f} s")
    for name, times in sorted(tried.items(), key=lambda item: -item[1]):
        table.add_row(name, str(times))
    for name, times in failures.most_common():
        table.add_row(f"FAILED: {name}", str(times), style="bold red")
    console.print(table)
    return 1 if failures else 0


def _played(asked: Iterator[tuple[int, Sequence[int] | None]], jobs: int, until: float | None) -> Iterator[Played]:
    timely = asked if until is None else _until(asked, until)
    if jobs < 2:
        yield from map(_play, timely)
        return
    # Arrow and the table's own threads don't survive a fork.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=200) as pool:
        yield from pool.imap(_play, timely)


def _until(
    asked: Iterator[tuple[int, Sequence[int] | None]], until: float
) -> Iterator[tuple[int, Sequence[int] | None]]:
    for each in asked:
        if time.monotonic() >= until:
            return
        yield each


def _play(asked: tuple[int, Sequence[int] | None]) -> Played:
    return play(*asked)
