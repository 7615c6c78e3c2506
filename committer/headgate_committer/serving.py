"""The composition of a committer process: from a bus, stores' settings and limits to a committer that can run."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headgate_bus.interface import Bus
from headgate_committer.committer import DEFAULT_GROUP, Committer
from headgate_committer.context import CommitterContext
from headgate_committer.limits import CommitterLimits
from headgate_committer.tables import StoredTables
from headgate_schemas.ambient import Ambient
from headgate_schemas.measures import SILENT, Measures
from headgate_table.caching.resources import lean_resources
from headgate_table.store.addresses import table_address
from headgate_table.store.open import StoreSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE_THREADS = 16
"""Tables that are worked on at the same time; they mostly wait for the store."""
STATE_THREADS = 4
"""States that are written at the same time."""


@contextmanager
def serving(
    bus: Bus,
    stores: StoreSettings,
    ambient: Ambient,
    limits: CommitterLimits | None = None,
    *,
    roots: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    name: str = "committer",
    group: str = DEFAULT_GROUP,
    measures: Measures = SILENT,
) -> "Iterator[Committer]":
    """A committer in a place of the group, until the end of the block. `overrides` are table settings of this process."""
    resources = lean_resources(ambient.monotonic_s, measures=measures)
    tables = StoredTables(stores, resources, ambient, roots, overrides, measures)
    bus.prepare()
    identity = f"{name}-{ambient.new_id()[:12]}"  # its own for every run: it stands in every version
    with (
        ThreadPoolExecutor(STATE_THREADS, thread_name_prefix="headgate-state") as background,
        ThreadPoolExecutor(STORE_THREADS, thread_name_prefix="headgate-commit") as executor,
    ):
        context = CommitterContext(ambient, identity, executor, background, limits or CommitterLimits(), measures)
        committer = Committer(bus, tables, context, group=group, roots=tuple(map(table_address, roots)))
        try:
            yield committer
        finally:
            committer.close()
            resources.fetchers.shutdown(wait=False, cancel_futures=True)
            resources.splitters.shutdown(wait=False, cancel_futures=True)
