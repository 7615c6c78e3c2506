"""An `Ambient` whose clock stands still until the test moves it."""

import hashlib
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any

START_MS = 1_780_000_000_000
HOUR_MS = 3_600_000


class FakeAmbient:
    """Ids that repeat from run to run, no jitter, and sleep that moves the clock."""

    def __init__(self, seed: str = "fake", time_ms: int = START_MS) -> None:
        self._seed = seed
        self._drawn = 0
        self.time_ms = time_ms

    def advance(self, *, hours: float = 0, seconds: float = 0) -> None:
        self.time_ms += int(hours * HOUR_MS + seconds * 1000)

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_s(self) -> float:
        return self.time_ms / 1000

    def new_id(self) -> str:
        self._drawn += 1
        return hashlib.sha256(f"{self._seed}/{self._drawn}".encode()).hexdigest()[:32]

    def jitter(self) -> float:
        return 0.5

    def sleep(self, seconds: float) -> None:
        """Moves the clock by a millisecond at least, so that whoever sleeps until some time gets there."""
        self.advance(seconds=max(seconds, 0.001))

    def wait_for_any(self, work: Collection[Future[Any]], timeout_s: float) -> None:
        if not any(each.done() for each in work):
            self.sleep(timeout_s)
