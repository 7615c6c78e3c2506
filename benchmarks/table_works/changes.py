"""What came and went between two versions: files, since none of these tables has any rows.

delta-rs's feed of changes (`load_cdf`) reads rows from data files, so two versions are compared; pyiceberg's scan of appends
tells of no removed files.
"""

from parts.measuring import Measured, repeat
from table_works.histories import delta_history, headgate_history, iceberg_history
from table_works.opening import opened
from table_works.work import DELTA, HEADGATE, ICEBERG, Task, Work, two_sizes


def _headgate(task: Task) -> Measured:
    with headgate_history(task.folder) as (place, start):

        def work() -> str:
            changes = opened(place).changes(start)
            return f"{changes.added.num_rows:,} added, {changes.removed.num_rows} removed"

        return repeat(task.runs, lambda: None, work)


def _delta(task: Task) -> Measured:
    from deltalake import DeltaTable

    with delta_history(task.folder) as (place, start):

        def work() -> str:
            before = set(DeltaTable(place, version=start).file_uris())
            now = set(DeltaTable(place).file_uris())
            return f"{len(now - before):,} added, {len(before - now)} removed"

        return repeat(task.runs, lambda: None, work)


def _iceberg(task: Task) -> Measured:
    from pyiceberg.table import StaticTable

    location, snapshots = iceberg_history(task.folder)

    def work() -> str:
        scan = StaticTable.from_metadata(location).incremental_append_scan(
            from_snapshot_id_exclusive=snapshots[0], to_snapshot_id_inclusive=snapshots[-1]
        )
        return f"{sum(1 for _ in scan.plan_files()):,} added"

    return repeat(task.runs, lambda: None, work)


CHANGES = Work(
    "what 10 commits of 100 files added and removed",
    {HEADGATE: _headgate, DELTA: _delta, ICEBERG: _iceberg},
    two_sizes,
)
