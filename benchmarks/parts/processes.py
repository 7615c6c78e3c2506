"""Timing whole processes: from the start to the end, and what they took of the processors."""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of each run: by the clock, and of all the process's threads."""

    seconds: tuple[float, ...]
    processor_seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    @property
    def processor_median_s(self) -> float:
        return statistics.median(self.processor_seconds)


def in_turns(commands: Mapping[str, Sequence[str]], runs: int, folder: Path) -> dict[str, Timing | str]:
    """Each of the commands so often, by turns, so that what else the machine does strikes all of them; after one run of each
    that is not counted: it compiles bytecode, and warms the operating system's cache. One that fails is answered by its last
    line.
    """
    failed: dict[str, str] = {}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            once = failed.get(name) or _once(command, folder)
            if isinstance(once, str):
                failed[name] = once
            elif turn:
                taken[name].append(once)
    return {
        name: failed.get(name) or Timing(tuple(each for each, _ in found), tuple(each for _, each in found))
        for name, found in taken.items()
    }


def clean_environment() -> dict[str, str]:
    """Without settings of ours, which could lead a command anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEADGATE_")}
    return kept | {"PYTHONWARNINGS": "ignore"}


def _once(command: Sequence[str], folder: Path) -> tuple[float, float] | str:
    with tempfile.TemporaryFile() as said:
        before = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder, env=clean_environment()
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - before
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode == 0:
            return seconds, used.ru_utime + used.ru_stime
        said.seek(0)
        lines = said.read().decode(errors="replace").strip().splitlines()
        return (lines or [f"ended with {process.returncode} without a word"])[-1][:200]
