"""One partition of a table: its files, and no others."""

from pathlib import Path

from parts.measuring import Measured, repeat
from parts.tables import PARTITION, partition_of
from table_works.opening import opened
from table_works.work import DELTA, HEADGATE, ICEBERG, Task, Work, large_sizes


def _headgate(task: Task) -> Measured:
    import headgate_table.table  # noqa: F401  # imports are not part of the work

    where = f"{PARTITION} = '{partition_of(task.files // 2)}'"

    def work() -> str:
        snapshot = opened(task.folder).snapshot(where=where)
        found = len(snapshot.paths())
        read, skipped = snapshot.statistics.manifests_read, snapshot.statistics.manifests_skipped
        return f"{found:,} files; {read} of {read + skipped} manifests"

    return repeat(task.runs, lambda: None, work)


def _delta(task: Task) -> Measured:
    from deltalake import DeltaTable

    wanted = partition_of(task.files // 2)

    def work() -> str:
        return f"{len(DeltaTable(task.folder).file_uris(partition_filters=[(PARTITION, '=', wanted)])):,} files"

    return repeat(task.runs, lambda: None, work)


def _iceberg(task: Task) -> Measured:
    from pyiceberg.table import StaticTable

    location = (Path(task.folder) / "metadata_location").read_text()
    where = f"{PARTITION} == '{partition_of(task.files // 2)}'"

    def work() -> str:
        scan = StaticTable.from_metadata(location).scan(row_filter=where)
        return f"{sum(1 for _ in scan.plan_files()):,} files"

    return repeat(task.runs, lambda: None, work)


PARTITION_WORK = Work(
    "list the files of one partition", {HEADGATE: _headgate, DELTA: _delta, ICEBERG: _iceberg}, large_sizes
)
