"""Executors of simulated processes: one runs its work at once, the other beside the submitter, as a fiber of the process."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.resources import ReadResources
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.scheduler import Died, Process, Signal

T = TypeVar("T")

_LOOK_AGAIN_S = 60.0


def _run_into(future: "Future[Any]", fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = fn(*args, **kwargs)
    except Died:
        raise
    except BaseException as error:  # noqa: BLE001  # as any executor does: it is the future's to raise
        future.set_exception(error)
    else:
        future.set_result(result)


class AtOnce(Executor):
    """Runs everything in the caller; a failure is the future's, as with threads."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        _run_into(future, fn, args, kwargs)
        return future


class FiberFuture(Future[Any]):
    """Waiting for it lets others go on."""

    def __init__(self, process: Process) -> None:
        super().__init__()
        self._process = process
        self._done = Signal()
        self.add_done_callback(lambda _: process.scheduler.send(self._done))

    def result(self, timeout: float | None = None) -> Any:
        while not self.done():
            self._process.wait(self._done, _LOOK_AGAIN_S)
        return super().result(0)


class Beside(Executor):
    """Runs everything in fibers of the process, which die with it."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future = FiberFuture(self._process)
        self._process.start(lambda: _run_into(future, fn, args, kwargs), f"{self._process.name} beside")
        return future


def resources_of(ambient: SimulatedAmbient) -> ReadResources:
    """An empty cache, and no threads."""
    return ReadResources(ObjectCache(ambient.monotonic_s), AtOnce(), AtOnce())
