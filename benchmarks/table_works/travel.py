"""Time travel: a table as it was five commits ago."""

from parts.measuring import Measured, repeat
from table_works.histories import COMMITS, delta_history, headgate_history, iceberg_history
from table_works.load import COLUMNS
from table_works.opening import opened
from table_works.work import DELTA, HEADGATE, ICEBERG, Task, Work, large_sizes

BACK_TO = COMMITS // 2
"""The commit after which the table is read."""


def _headgate(task: Task) -> Measured:
    with headgate_history(task.folder) as (place, start):

        def work() -> str:
            return f"{opened(place).snapshot(start + BACK_TO).files(COLUMNS).num_rows:,} files"

        return repeat(task.runs, lambda: None, work)


def _delta(task: Task) -> Measured:
    from deltalake import DeltaTable

    with delta_history(task.folder) as (place, start):

        def work() -> str:
            table = DeltaTable(place, version=start + BACK_TO)
            return f"{table.get_add_actions(flatten=True).num_rows:,} files"

        return repeat(task.runs, lambda: None, work)


def _iceberg(task: Task) -> Measured:
    from pyiceberg.table import StaticTable

    location, snapshots = iceberg_history(task.folder)

    def work() -> str:
        scan = StaticTable.from_metadata(location).scan(snapshot_id=snapshots[BACK_TO])
        return f"{sum(1 for _ in scan.plan_files()):,} files"

    return repeat(task.runs, lambda: None, work)


TRAVEL = Work(
    "list all live files as they were five commits ago, with all that the log says of them",
    {HEADGATE: _headgate, DELTA: _delta, ICEBERG: _iceberg},
    large_sizes,
)
