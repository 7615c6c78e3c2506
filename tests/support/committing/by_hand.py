"""An executor whose work waits for the test."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class ByHand(Executor):
    """Work waits until it is let go, in order."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def let_go(self) -> None:
        waiting, self.waiting = self.waiting, []
        for future, work in waiting:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001  # as an executor does: it is the future's to tell
                future.set_exception(error)
