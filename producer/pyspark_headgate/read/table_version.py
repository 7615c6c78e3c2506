"""The version that one read of a table sees. It is found once, when Spark makes the source, and travels with it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_headgate.options import SourceOptions

if TYPE_CHECKING:
    from headgate_table.interface.snapshot import Snapshot
    from headgate_table.table import Table


@dataclass(frozen=True, slots=True)
class Pinned:
    """One version of a table, as far as its rows' shape goes. Spark sends sources to executors: nothing of Headgate is in here."""

    version: int
    schema_string: str
    partition_columns: tuple[str, ...]


def open_table(given: SourceOptions) -> "Table":
    """The table of these options, with the settings in force. On the driver only."""
    from headgate_table.table import Table
    from pyspark_headgate.effective_settings import effective

    settings = effective(given)
    return Table.open(given.path, settings.store, settings=settings.table)


def pin(given: SourceOptions) -> Pinned:
    """The version that the options ask for, or the newest. Raises what opening and reading a table raises."""
    snapshot = open_table(given).snapshot(given.version_as_of, given.timestamp_as_of)
    return pinned_at(snapshot)


def pin_if_any(given: SourceOptions) -> Pinned | None:
    """The same, but None where there is nothing to be read: sources are made for tables that are yet to be written, too.

    Whoever reads after all pins again, and is told why it can't be.
    """
    from headgate_schemas.errors import HeadgateError

    try:
        return pin(given)
    except HeadgateError:
        return None


def pinned_at(snapshot: "Snapshot") -> Pinned:
    metadata = snapshot.metadata
    return Pinned(snapshot.version, metadata.schema_string, tuple(metadata.partition_columns))
