"""What a piece of work costs of processors, in all processes of a benchmark: Java, Spark's Python, the broker, the committer."""

import contextlib

import psutil


class Processors:
    """Of this process and all below it.

    Processes that end take along what they spent since the last look: Spark's Python workers, mostly, which it keeps.
    """

    def __init__(self) -> None:
        self._own = psutil.Process()
        self._seen: dict[tuple[int, float], float] = {}

    def spent_s(self) -> float:
        """Ever; the difference between two looks counts."""
        for process in (self._own, *self._own.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                times = process.cpu_times()
                self._seen[process.pid, process.create_time()] = times.user + times.system
        return sum(self._seen.values())
