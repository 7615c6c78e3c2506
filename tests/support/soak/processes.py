"""What a process holds at a moment, as Linux tells it: nothing of it asks the process itself."""

import os
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Holding:
    memory_mib: float
    """Private: pages of libraries' own files, which are given back at any time, don't count."""
    files: int
    threads: int
    cpu_s: float
    """Spent since it began."""


def held_by(pid: int) -> Holding | None:
    """None for one that is gone, or has ended and is not yet buried."""
    folder = Path("/proc", str(pid))
    try:
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        # The name, in brackets, may hold anything.
        numbers = (folder / "stat").read_text().rpartition(")")[2].split()
        files = len(os.listdir(folder / "fd"))
    except (FileNotFoundError, ProcessLookupError):
        return None
    if "RssAnon" not in status:
        return None
    return Holding(
        int(status["RssAnon"].split()[0]) * 1024 / MIB,
        files,
        int(status["Threads"]),
        (int(numbers[11]) + int(numbers[12])) / _TICKS_PER_S,
    )
