"""So many histories, side by side in processes: what was tried, by kind, and for a failure the one command that replays it."""

import argparse
import multiprocessing
import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import count, islice
from multiprocessing.pool import AsyncResult
from pathlib import Path

from rich.console import Console
from rich.table import Table

from support.mirror_readers.here import READERS
from support.oracle.history import Played, play, shrink

_Asked = tuple[int, Sequence[int] | None]
"""A seed, and which of its steps; all of them, without."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="oracle", description=__doc__)
    parser.add_argument("--seeds", type=int, help="how many histories (default 200, or as many as the minutes allow)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--minutes", type=float, help="begin no history after so many minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--steps", help="of each history these steps only, as in 0,3,4")
    parser.add_argument("--spark", action="store_true", help="written and read by Spark, too, one after the other")
    parser.add_argument(
        "--engines",
        type=Path,
        metavar="PYTHON",
        help="mirrors are read by chdb and delta-spark, too, which are installed beside this Python; one after the other",
    )
    parser.add_argument("--until-failure", action="store_true", help="no more histories after the first that fails")
    parser.add_argument("--no-shrink", action="store_true", help="tell of a failure as it was found, with all steps")
    given = parser.parse_args(arguments)
    most = given.seeds if given.seeds is not None else None if given.minutes is not None else 200
    only = None if given.steps is None else [int(step) for step in given.steps.split(",") if step]
    console = Console(width=max(130, Console().width))
    asked = ((seed, only) for seed in islice(count(given.first), most))
    tried: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    histories, began = 0, time.monotonic()
    until = None if given.minutes is None else began + given.minutes * 60
    timely = asked if until is None else _until(asked, until)
    for played in _by_ways(timely, given):
        histories += 1
        tried.update(played.done)
        if not played.kind:
            continue
        failures[played.kind] += 1
        # With other engines a history takes so long that it is told as it is.
        as_it_is = given.no_shrink or given.spark or given.engines or only is not None
        least = played if as_it_is else shrink(played)
        console.print(f"\nseed {played.seed} fails: {least.kind}", style="bold red", highlight=False)
        console.print(least.failure, markup=False, highlight=False)
        replay = least.replay.replace("make oracle", "make engines") if given.engines else least.replay
        console.print(f"replay: {replay}{' SPARK=1' if given.spark else ''}", markup=False, highlight=False)
        if given.until_failure:
            break
    table = Table("tried", "times", title=f"{histories} histories in {time.monotonic() - began:.0f} s")
    for name, times in sorted(tried.items(), key=lambda item: -item[1]):
        table.add_row(name, str(times))
    for name, times in failures.most_common():
        table.add_row(f"FAILED: {name}", str(times), style="bold red")
    console.print(table)
    return 1 if failures else 0


def _by_ways(asked: Iterator[_Asked], given: argparse.Namespace) -> Iterator[Played]:
    if given.spark:
        return _with_spark(asked)
    return _played(asked, given.jobs) if given.engines is None else _with_engines(asked, given.engines)


def _with_engines(asked: Iterator[_Asked], python: Path) -> Iterator[Played]:
    from support.mirror_readers.apart import readers_apart

    with readers_apart(python) as apart:
        for seed, only in asked:
            yield play(seed, only, readers={**READERS, **apart})


def _with_spark(asked: Iterator[_Asked]) -> Iterator[Played]:
    from support.spark.session import local_spark  # takes seconds, and hundreds of megabytes

    with local_spark() as session:
        for seed, only in asked:
            yield play(seed, only, session)


def _played(asked: Iterator[_Asked], jobs: int) -> Iterator[Played]:
    if jobs < 2:
        yield from map(_play, asked)
        return
    # Arrow and the table's own threads don't survive a fork.
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=200) as pool:
        ahead: deque[AsyncResult[Played]] = deque()
        # Not `imap`, which would take all that is asked for at once, and so know nothing of time.
        for each in asked:
            ahead.append(pool.apply_async(_play, (each,)))
            if len(ahead) >= 2 * jobs:
                yield ahead.popleft().get()
        while ahead:
            yield ahead.popleft().get()


def _until(asked: Iterator[_Asked], until: float) -> Iterator[_Asked]:
    for each in asked:
        if time.monotonic() >= until:
            return
        yield each


def _play(asked: _Asked) -> Played:
    return play(*asked)
