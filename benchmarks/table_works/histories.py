"""Tables with a history: ten commits of 100 files each, on top of what a table was made with."""

from collections.abc import Iterator
from contextlib import contextmanager

from parts.tables import iceberg_append, iceberg_table
from table_works.append import delta_append, new_files
from table_works.opening import copied, opened
from table_works.work import APPENDED

COMMITS = 10


@contextmanager
def headgate_history(folder: str) -> Iterator[tuple[str, int]]:
    """A copy of our table with the commits, and the version before them."""
    with copied(folder) as place:
        table = opened(place)
        start = table.version
        for number in range(COMMITS):
            table.append(new_files(number))
        yield place, start


@contextmanager
def delta_history(folder: str) -> Iterator[tuple[str, int]]:
    from deltalake import DeltaTable

    with copied(folder) as place:
        start = DeltaTable(place).version()
        for number in range(COMMITS):
            delta_append(DeltaTable(place), number)
        yield place, start


def iceberg_history(folder: str) -> tuple[str, list[int]]:
    """Where the metadata of the newest version lies, and its snapshots, oldest first; files that exist stay as they are."""
    table = iceberg_table(folder)
    for number in range(COMMITS):
        iceberg_append(table, folder, range(APPENDED), f"new{number}")
    return table.metadata_location, [snapshot.snapshot_id for snapshot in table.metadata.snapshots]
