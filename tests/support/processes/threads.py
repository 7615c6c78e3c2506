"""A process's outermost loop, run in a thread of the test's own process."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

STOP_LIMIT_S = 60.0


@contextmanager
def in_a_thread(run: Callable[[Callable[[], bool]], object], name: str) -> Iterator[None]:
    """Until the end of the block, when the loop is told to stop; what it raised fails the test."""
    stopped = threading.Event()
    failures: list[BaseException] = []

    def loop() -> None:
        try:
            run(stopped.is_set)
        except BaseException as error:  # noqa: BLE001 - raised again where the test can see it
            failures.append(error)

    thread = threading.Thread(target=loop, name=name)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join(STOP_LIMIT_S)
    assert not thread.is_alive()
    assert failures == []
