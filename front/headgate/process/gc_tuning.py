"""Settings of Python's garbage collector for a long-running process with clients that wait."""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

FREEZES = 3
"""By the third full collection, the modules, the models of the store's client and the first tables are loaded."""


@contextmanager
def sparing_collector() -> Iterator[None]:
    """Exclude the objects of the start from later full collections.

    A full collection looks through mostly the same objects each time, and every waiting client pays for that. The
    excluded objects stay in memory until the end, even if they become part of an unused cycle.
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
