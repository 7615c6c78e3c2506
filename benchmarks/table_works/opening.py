"""Opening our table with an empty cache, and copies of tables that a measurement may change."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate_table.caching.resources import ReadResources
    from headgate_table.table import Table


def fresh_resources() -> "ReadResources":
    """The threads of the process, and an empty cache."""
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.caching.cache import ObjectCache
    from headgate_table.caching.path_orders import PathOrders
    from headgate_table.caching.resources import process_resources

    return replace(process_resources(), cache=ObjectCache(SystemAmbient().monotonic_s), orders=PathOrders())


def opened(uri: str, storage: Mapping[str, str] | None = None) -> "Table":
    # Imported late: what a peer measures in its own process must not hold our libraries.
    from headgate_table.table import Table

    return Table.open(uri, storage, resources=fresh_resources())


@contextmanager
def copied(folder: str) -> Iterator[str]:
    """A copy that a measurement may change."""
    with tempfile.TemporaryDirectory(prefix="copy-", dir=Path(folder).parent) as scratch:
        yield shutil.copytree(folder, f"{scratch}/table")
