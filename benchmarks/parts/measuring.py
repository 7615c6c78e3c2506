"""Measuring one thing in a process of its own: medians of times, and the peak of private memory above the imports'."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

SAMPLE_EVERY_S = 0.002
LIMIT_S = 60.0
"""A figure takes no further runs after so much time."""


@dataclass(frozen=True)
class Measured:
    """Seconds of each run, the peak of memory above the imports, and what the work said about its result."""

    seconds: tuple[float, ...]
    peak_bytes: int
    result: str
    processor_seconds: tuple[float, ...]
    """Of all threads of the process. On a busy machine they say more than the clock."""

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    @property
    def processor_median_s(self) -> float:
        return statistics.median(self.processor_seconds)


class _Peak(threading.Thread):
    """Samples this process's memory while it works: `ru_maxrss` would count what was there before.

    What counts is private memory. Pages of the libraries' own code, which are read from their files when first used and
    given back at any time, say nothing of the work.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process()
        self._done = threading.Event()
        self.before = self._private()
        self.highest = self.before

    def run(self) -> None:
        while not self._done.wait(SAMPLE_EVERY_S):
            self.highest = max(self.highest, self._private())

    def stop(self) -> int:
        self.highest = max(self.highest, self._private())
        self._done.set()
        self.join()
        return self.highest - self.before

    def _private(self) -> int:
        memory = self._process.memory_info()
        return int(memory.rss - getattr(memory, "shared", 0))


def repeat(runs: int, prepare: Callable[[], object], work: Callable[[], str]) -> Measured:
    """`work` several times, each after `prepare`, which is not timed. The first run warms the libraries up, untimed."""
    prepare()
    peak = _Peak()
    peak.start()
    result = work()
    peak_bytes = peak.stop()
    seconds: list[float] = []
    processor_seconds: list[float] = []
    while len(seconds) < runs and sum(seconds) < LIMIT_S:
        prepare()
        start, processor_start = time.perf_counter(), time.process_time()
        result = work()
        seconds.append(time.perf_counter() - start)
        processor_seconds.append(time.process_time() - processor_start)
    return Measured(tuple(seconds), peak_bytes, result, tuple(processor_seconds))


def in_own_process(program: Path, *arguments: str, limit_s: int = 1800) -> Measured | str:
    """Run `program --one …`, which prints what `report` prints. A failure comes back as its last line."""
    done = subprocess.run(
        [sys.executable, str(program), "--one", *arguments],
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["failed without a word"])[-1][:200]
    body = json.loads(done.stdout.strip().splitlines()[-1])
    return Measured(tuple(body["seconds"]), body["peak_bytes"], body["result"], tuple(body["processor_seconds"]))


def report(measured: Measured) -> None:
    print(json.dumps(asdict(measured)))
