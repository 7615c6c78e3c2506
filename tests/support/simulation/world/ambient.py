"""The `Ambient` of a simulated process: the scheduler's time, and ids and randomness that follow from the seed."""

import hashlib
import random
from collections.abc import Collection
from concurrent.futures import Future
from typing import Any

from support.simulation.world.scheduler import Process


class SimulatedAmbient:
    """Every life of a process has its own, so that no two draw the same ids. Its clock may be wrong by `skew_ms`."""

    def __init__(self, process: Process, seed: str, skew_ms: int = 0) -> None:
        self._process = process
        self._seed = seed
        self.skew_ms = skew_ms
        self._drawn = 0
        self._random = random.Random(f"ambient/{seed}")

    def now_ms(self) -> int:
        return self._process.scheduler.now_ms + self.skew_ms

    def monotonic_s(self) -> float:
        return self._process.scheduler.now_ms / 1000

    def new_id(self) -> str:
        self._drawn += 1
        return hashlib.blake2b(f"{self._seed}/{self._drawn}".encode(), digest_size=16).hexdigest()

    def jitter(self) -> float:
        return self._random.random()

    def sleep(self, seconds: float) -> None:
        self._process.sleep(seconds)

    def wait_for_any(self, work: Collection[Future[Any]], timeout_s: float) -> None:
        if not any(each.done() for each in work):
            self._process.sleep(timeout_s)
