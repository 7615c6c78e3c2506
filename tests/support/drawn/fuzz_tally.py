"""What came of mutated input: outcomes are counted, and what must never happen is kept with the input that made it."""

import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_SECONDS = 2.0
"""Of the processor's time, for one input: what else the machine does doesn't count. Well-behaved ones take a tenth of a
millisecond."""
_MEMORY_EVERY = 50
_SHOWN_BYTES = 4_000


@dataclass(slots=True)
class Tally:
    """`outcomes` counts by name; `problems` are what must never happen, with the bytes that made it."""

    max_memory_bytes: int
    max_seconds: float = MAX_SECONDS
    outcomes: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    slowest_s: float = 0.0
    most_bytes: int = 0
    _tried: int = 0

    def attempt(self, data: bytes, outcome: Callable[[], str]) -> None:
        """Count what `outcome` says. An exception, too much time or too much memory is a problem."""
        measure_memory = self._tried % _MEMORY_EVERY == 0
        self._tried += 1
        if measure_memory:
            tracemalloc.start()
        before = time.process_time()
        try:
            self.outcomes[outcome()] += 1
        except Exception as error:  # noqa: BLE001  # whatever comes out is what is looked for
            self._problem(f"{type(error).__name__}: {error}", data)
        taken = time.process_time() - before
        self.slowest_s = max(self.slowest_s, taken)
        if taken > self.max_seconds:
            self._problem(f"{taken:.1f} s of the processor", data)
        if measure_memory:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.most_bytes = max(self.most_bytes, peak)
            if peak > self.max_memory_bytes:
                self._problem(f"{peak} bytes of memory", data)

    def _problem(self, what: str, data: bytes) -> None:
        self.problems.append(f"{what[:_SHOWN_BYTES]} from {data[:_SHOWN_BYTES].hex()}")
