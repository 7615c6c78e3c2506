"""Calls of the Kafka client that have no deadline, each on a thread of its own, which is abandoned when the time is
over.

The client's transactional calls hang for ever when the broker goes away at the wrong moment, and nothing frees them
again. So the objects that such a call uses must be discarded with it.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TypeVar

from headgate_bus.errors import BusError, BusUnavailable

MAX_CALLS = 200
"""Calls that run or hang. A hanging one costs a parked thread and comes from one outage of the broker: a process with
this many of them is better restarted."""

Result = TypeVar("Result")


class DeadlinePassed(BusUnavailable):
    """A call didn't end in time. It may still take effect, and the objects that it used must be discarded."""


class KafkaCalls:
    """Runs calls with a deadline. Threads share it."""

    def __init__(self, limit: int = MAX_CALLS) -> None:
        self._limit = limit
        self._slots = threading.BoundedSemaphore(limit)

    def start(self, doing: str, call: Callable[[], Result]) -> "Future[Result]":
        """Run on a thread of its own; the process doesn't wait for it at its end."""
        if not self._slots.acquire(blocking=False):
            raise BusError(
                f"{doing} was not tried: {self._limit} earlier calls of the Kafka client still hang; restart this process"
            )
        future: Future[Result] = Future()
        thread = threading.Thread(
            target=self._run, args=(future, call), name=f"headgate-kafka: {doing[:60]}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            self._slots.release()
            raise BusError(
                f"{doing} was not tried: this process gets no more threads ({error}); raise its limit, or restart it"
            ) from error
        return future

    def within(self, timeout_s: float, doing: str, call: Callable[[], Result]) -> Result:
        """The call's result or error; or `DeadlinePassed`."""
        return self.result(self.start(doing, call), timeout_s, doing)

    def result(self, future: "Future[Result]", timeout_s: float, doing: str) -> Result:
        try:
            return future.result(max(timeout_s, 0.0))
        except FutureTimeout:
            if future.done():
                raise
            raise DeadlinePassed(f"{doing} did not end within {timeout_s:.1f} s; try again later") from None

    def _run(self, future: "Future[Result]", call: Callable[[], Result]) -> None:
        try:
            try:
                result = call()
            finally:
                # Before the waiting thread hears of the end, because its next call may need this place.
                self._slots.release()
        except BaseException as error:  # noqa: BLE001  # handed to the thread that waits, whatever it is
            future.set_exception(error)
        else:
            future.set_result(result)
