"""The signals that stop a long-running process: SIGTERM, or Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def until_told_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether SIGTERM or SIGINT came. A second signal has its usual effect, for users who don't want to wait."""
    told = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in signals}

    def stop(number: int, _: FrameType | None) -> None:
        told.set()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)

    for number in signals:
        signal.signal(number, stop)
    try:
        yield told.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
