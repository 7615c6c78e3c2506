"""While a simulation runs, nobody in it may use the real clock, real ids, real sleep or threads: it would not be repeatable."""

import functools
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from headgate_schemas.ambient import SystemAmbient

_OF_AN_AMBIENT = ("now_ms", "monotonic_s", "new_id", "jitter", "sleep")


class NotSimulated(AssertionError):
    """Something real was used; what should have been handed in is in the message."""


def nothing_real() -> AbstractContextManager[object]:
    """In its `with` block, real time, ids, sleep and threads raise `NotSimulated` in this thread, which is the simulation's.

    Others were there before, such as those of Spark's client, and are none of its business.
    """
    stack = ExitStack()
    for owner, name, what, instead in (
        *((SystemAmbient, name, f"SystemAmbient.{name}", "its Ambient") for name in _OF_AN_AMBIENT),
        (threading.Thread, "start", "a thread", "an executor"),
        (time, "sleep", "time.sleep", "an Ambient"),
        (uuid, "uuid4", "uuid.uuid4", "an Ambient"),
    ):
        stack.enter_context(patch.object(owner, name, _refusing(getattr(owner, name), what, instead)))
    return stack


def _refusing(real: Callable[..., Any], what: str, instead: str) -> Callable[..., Any]:
    simulating = threading.get_ident()

    @functools.wraps(real)
    def refuse(*args: Any, **named: Any) -> Any:
        if threading.get_ident() != simulating:
            return real(*args, **named)
        raise NotSimulated(f"the simulation was left through {what}: hand in {instead}")

    return refuse
