"""The one place that knows the time, makes ids, draws random numbers, sleeps and waits for threads.

Everything else is handed an `Ambient`, so that a simulation can own all of it.
"""

import random
import time
import uuid
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol


class Ambient(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since the epoch. Never used for safety."""
        ...

    def monotonic_s(self) -> float:
        """A clock that only moves forward, for measuring how long something took."""
        ...

    def new_id(self) -> str:
        """32 lowercase hex characters, unique."""
        ...

    def jitter(self) -> float:
        """A random number in [0, 1)."""
        ...

    def sleep(self, seconds: float) -> None: ...

    def wait_for_any(self, work: "Collection[Future[Any]]", timeout_s: float) -> None:
        """Until one of them has ended, or the time is over."""
        ...


class SystemAmbient:
    """The real clock, real ids, real randomness, real sleep."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def new_id(self) -> str:
        return uuid.uuid4().hex

    def jitter(self) -> float:
        return random.random()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def wait_for_any(self, work: "Collection[Future[Any]]", timeout_s: float) -> None:
        wait(work, timeout_s, FIRST_COMPLETED)
