"""Slices of generators, side by side until the time is up: who is next, what came of each, and what it adds up to."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from support.attack.generators import Generator

ROOT = Path(__file__).resolve().parents[3]
MAX_SLICE_S = 1_800.0
"""A slice that takes longer hangs: that is a failure, too."""
MAX_SHOWN = 12_000
"""Characters of a failed slice's output that are kept, from its end."""
_REPLAY = re.compile(r"^ *replay: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Slice:
    generator: Generator
    seed: int


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of one slice."""

    slice: Slice
    seconds: float
    failed: bool
    output: str = ""
    """The end of what a failed one printed."""
    replays: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """What a generator has tried."""

    slices: int = 0
    cases: int = 0
    failed: int = 0
    seconds: float = 0.0
    replays: list[str] = field(default_factory=list)

    def add(self, ended: Ended) -> None:
        self.slices += 1
        self.cases += ended.slice.generator.cases
        self.failed += ended.failed
        self.seconds += ended.seconds
        self.replays += [replay for replay in ended.replays if replay not in self.replays]


Runs = Callable[[Slice], Ended]


def attack(
    generators: Sequence[Generator],
    draw_seed: Callable[[], int],
    until_s: float,
    jobs: int,
    told: Callable[[Ended], None],
    *,
    runs: Runs | None = None,
    now_s: Callable[[], float] = time.monotonic,
) -> dict[str, Tally]:
    """Run slices until the time is up, at least one of each generator. The one that has had the least time is next."""
    run = runs or run_slice
    tallies = {generator.name: Tally() for generator in generators}
    busy: dict[Future[Ended], Slice] = {}
    begun: dict[str, int] = dict.fromkeys(tallies, 0)
    with ThreadPoolExecutor(jobs) as executor:
        while True:
            while len(busy) < jobs:
                chosen = _next(generators, tallies, begun, now_s() >= until_s)
                if chosen is None:
                    break
                begun[chosen.name] += 1
                slice_ = Slice(chosen, draw_seed())
                busy[executor.submit(run, slice_)] = slice_
            if not busy:
                return tallies
            done, _ = wait(busy, return_when=FIRST_COMPLETED)
            for future in done:
                ended = future.result()
                tallies[busy.pop(future).generator.name].add(ended)
                told(ended)


def _next(
    generators: Sequence[Generator], tallies: dict[str, Tally], begun: dict[str, int], is_over: bool
) -> Generator | None:
    waiting = [generator for generator in generators if not (is_over and begun[generator.name])]

    def had(generator: Generator) -> tuple[float, int]:
        running = begun[generator.name] - tallies[generator.name].slices
        tally = tallies[generator.name]
        mean_s = tally.seconds / tally.slices if tally.slices else 0.0
        return tally.seconds + running * mean_s, begun[generator.name]

    return min(waiting, key=had, default=None)


def run_slice(slice_: Slice) -> Ended:
    """One slice as a process of its own, ended if it hangs."""
    began_s = time.monotonic()
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, *slice_.generator.arguments(slice_.seed)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    hung = threading.Event()

    def end() -> None:
        hung.set()
        process.kill()

    timer = threading.Timer(MAX_SLICE_S, end)
    timer.start()
    try:
        output, _ = process.communicate()
    finally:
        timer.cancel()
        if process.poll() is None:
            process.kill()
            process.wait()
    seconds = time.monotonic() - began_s
    if process.returncode == 0:
        return Ended(slice_, seconds, failed=False)
    if hung.is_set():
        output += f"\nit was ended after {MAX_SLICE_S:.0f} s"
    replays = tuple(dict.fromkeys(_REPLAY.findall(output))) or (slice_.generator.replay(slice_.seed),)
    return Ended(slice_, seconds, failed=True, output=output[-MAX_SHOWN:], replays=replays)
