"""Loading a table: all live files with all that the log says of them."""

from pathlib import Path

from parts.measuring import Measured, repeat
from table_works.opening import opened
from table_works.work import DELTA, HEADGATE, ICEBERG, Task, Work, every_size

COLUMNS = ("path", "partition_values", "size", "modification_time", "num_records", "min_values", "max_values")


def _headgate(task: Task) -> Measured:
    import headgate_table.table  # noqa: F401  # imports are not part of the work

    def work() -> str:
        return f"{opened(task.folder).snapshot().files(COLUMNS).num_rows:,} files"

    return repeat(task.runs, lambda: None, work)


def _delta(task: Task) -> Measured:
    from deltalake import DeltaTable

    def work() -> str:
        return f"{DeltaTable(task.folder).get_add_actions(flatten=True).num_rows:,} files"

    return repeat(task.runs, lambda: None, work)


def _iceberg(task: Task) -> Measured:
    from pyiceberg.table import StaticTable

    location = (Path(task.folder) / "metadata_location").read_text()

    def work() -> str:
        return f"{sum(1 for _ in StaticTable.from_metadata(location).scan().plan_files()):,} files"

    return repeat(task.runs, lambda: None, work)


LOAD = Work(
    "list all live files with path, partition, size, records and statistics",
    {HEADGATE: _headgate, DELTA: _delta, ICEBERG: _iceberg},
    every_size,
)
