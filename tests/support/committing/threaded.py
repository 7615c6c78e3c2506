"""A real committer in a thread of the test's own process."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from headgate_committer.serving import serving
from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.settings import StoreSettings
from support.processes.threads import in_a_thread


@contextmanager
def a_committer(address: str, group: str = DEFAULT_GROUP) -> Iterator[None]:
    """One that decides what is proposed, until the end of the block."""
    ambient = SystemAmbient()
    with (
        closing(open_bus(address, ambient)) as opened,
        serving(opened, StoreSettings(local_durable=False), ambient, group=group) as committer,
        in_a_thread(committer.run, "committer"),
    ):
        yield
