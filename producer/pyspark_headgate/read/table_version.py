"""The version that one read of a table sees. It is looked up once, when Spark makes the source, and is part of the
source.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_headgate.options import SourceOptions

if TYPE_CHECKING:
    from headgate_table.interface.snapshot import Snapshot
    from headgate_table.table import Table


@dataclass(frozen=True, slots=True)
class Pinned:
    """The number and the columns of one version of a table. Spark sends sources to executors, so it uses no other part
    of Headgate.
    """

    version: int
    schema_string: str
    partition_columns: tuple[str, ...]


def open_table(given: SourceOptions) -> "Table":
    """The table of these options, with the effective settings. For drivers only."""
    from headgate_table.table import Table
    from pyspark_headgate.effective_settings import effective

    settings = effective(given)
    return Table.open(given.path, settings.store, settings=settings.table)


def pin(given: SourceOptions) -> Pinned:
    """The version in the options, or the newest. Raises the errors of opening and reading a table."""
    snapshot = open_table(given).snapshot(given.version_as_of, given.timestamp_as_of)
    return pinned_at(snapshot)


def pin_if_any(given: SourceOptions) -> Pinned | None:
    """The version, or None if there is nothing to read: Spark also makes sources for tables that don't exist yet.

    A reader looks the version up again, and then gets the error.
    """
    from headgate_schemas.errors import HeadgateError

    try:
        return pin(given)
    except HeadgateError:
        return None


def pinned_at(snapshot: "Snapshot") -> Pinned:
    metadata = snapshot.metadata
    return Pinned(snapshot.version, metadata.schema_string, tuple(metadata.partition_columns))
