"""A real committer in a thread of the test's own process."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from headgate_bus.open import open_bus
from headgate_committer.serving import serving
from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.settings import StoreSettings

STOP_LIMIT_S = 60.0


@contextmanager
def a_committer(address: str, group: str = "headgate-committer") -> Iterator[None]:
    """One that decides what is proposed, in a thread of its own, until the end of the block."""
    stopped = threading.Event()
    failures: list[BaseException] = []
    ambient = SystemAmbient()
    with (
        closing(open_bus(address, ambient)) as opened,
        serving(opened, StoreSettings(local_durable=False), ambient, group=group) as committer,
    ):

        def run() -> None:
            try:
                committer.run(stopped.is_set)
            except BaseException as error:  # noqa: BLE001 - raised again where the test can see it
                failures.append(error)

        thread = threading.Thread(target=run, name="committer")
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join(STOP_LIMIT_S)
    assert not thread.is_alive()
    assert failures == []
