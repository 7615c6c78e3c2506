"""While a simulation runs, nobody may use the real clock, real ids, real sleep or threads: it would not be repeatable."""

import threading
import time
import uuid
from contextlib import AbstractContextManager, ExitStack
from typing import NoReturn
from unittest.mock import patch

from headgate_schemas.ambient import SystemAmbient


class NotSimulated(AssertionError):
    """Something real was used; what should have been handed in is in the message."""


def nothing_real() -> AbstractContextManager[object]:
    """In its `with` block, real time, ids, sleep and threads raise `NotSimulated`."""
    stack = ExitStack()
    for name in ("now_ms", "monotonic_s", "new_id", "jitter", "sleep"):
        stack.enter_context(patch.object(SystemAmbient, name, _refusing(f"SystemAmbient.{name}", "its Ambient")))
    stack.enter_context(patch.object(threading.Thread, "start", _refusing("a thread", "an executor")))
    stack.enter_context(patch.object(time, "sleep", _refusing("time.sleep", "an Ambient")))
    stack.enter_context(patch.object(uuid, "uuid4", _refusing("uuid.uuid4", "an Ambient")))
    return stack


def _refusing(what: str, instead: str) -> object:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NotSimulated(f"the simulation was left through {what}: hand in {instead}")

    return refuse
