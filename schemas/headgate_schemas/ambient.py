"""The clock, ids, random numbers, sleep and waiting for threads: the only module that uses those of the system.

All other code gets an `Ambient` as an argument, so that a simulation can replace it.
"""

import random
import time
import uuid
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Protocol


class Ambient(Protocol):
    def now_ms(self) -> int:
        """Wall-clock time in milliseconds since the epoch. No safety depends on it."""
        ...

    def monotonic_s(self) -> float:
        """A clock that only moves forward, for measuring durations."""
        ...

    def new_id(self) -> str:
        """32 lowercase hex characters, unique."""
        ...

    def jitter(self) -> float:
        """A random number in [0, 1)."""
        ...

    def sleep(self, seconds: float) -> None: ...

    def wait_for_any(self, work: "Collection[Future[Any]]", timeout_s: float) -> None:
        """Wait until one of them has ended, or until the time is over."""
        ...


class SystemAmbient:
    """The system's clock, ids, randomness and sleep."""

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
