"""Python's garbage collector in a process that runs for a long time and makes others wait for its answers."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

FREEZES = 3
"""By the third full collection, the modules, the models of the store's client and the first tables are loaded."""


@contextmanager
def sparing_collector() -> Iterator[None]:
    """Leave what is loaded at the start out of the full collections that follow.

    Most of what a full collection looks through is what it looked through the last time; every wait for an answer pays
    for that. What was loaded and is dropped later stays in memory until the end, if it is part of a cycle.
    """
    left = FREEZES

    def freeze(phase: str, info: Mapping[str, int]) -> None:
        nonlocal left
        if phase == "stop" and info["generation"] == 2 and left > 0:
            left -= 1
            gc.freeze()

    gc.callbacks.append(freeze)
    try:
        yield
    finally:
        gc.callbacks.remove(freeze)
        gc.unfreeze()
