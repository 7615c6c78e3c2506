"""Counting the Python function calls of a piece of work: steps that don't depend on the machine's mood."""

import sys
import threading
from collections.abc import Callable
from types import FrameType


def python_calls(work: Callable[[], object]) -> int:
    """How many Python functions were called, in this thread and in those that start meanwhile."""
    counts: list[None] = []

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            counts.append(None)

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len(counts)
