"""Waiting for a condition, with a deadline and a word on what was waited for."""

import time
from collections.abc import Callable

LOOK_S = 0.02


class Overdue(AssertionError):
    """What had to come didn't come in time."""


def wait_until(condition: Callable[[], bool], what: str, within_s: float = 60.0) -> None:
    """Raises `Overdue`."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > within_s:
            raise Overdue(f"{what}: not within {within_s:g} s")
        time.sleep(LOOK_S)
