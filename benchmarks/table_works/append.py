"""Adding 100 files to a table, which is kept open, or opened for it."""

import itertools
import json
from typing import TYPE_CHECKING, Any

from parts.measuring import Measured, repeat
from parts.tables import PARTITION, added_files, iceberg_append, iceberg_table, partition_of, path_of
from table_works.opening import copied, opened
from table_works.work import APPENDED, DELTA, HEADGATE, ICEBERG, Task, Work, large_sizes

if TYPE_CHECKING:
    from headgate_schemas.actions.actions import AddFile


def new_files(number: int) -> "list[AddFile]":
    return added_files(f"new{number}", APPENDED)


def delta_append(table: Any, number: int) -> None:
    from deltalake.transaction import AddAction

    adds = [
        AddAction(
            path_of(index, f"new{number}"),
            1000,
            {PARTITION: partition_of(index)},
            1,
            True,
            json.dumps({"numRecords": 100, "minValues": {"id": 1}, "maxValues": {"id": 9}}),
        )
        for index in range(APPENDED)
    ]
    table.create_write_transaction(adds, "append", table.schema(), [PARTITION])


def _headgate(task: Task, *, cold: bool = False) -> Measured:
    with copied(task.folder) as place:
        kept = opened(place)
        kept.append(new_files(-1))
        numbers = itertools.count()

        def work() -> str:
            receipt = (opened(place) if cold else kept).append(new_files(next(numbers)))
            return f"version {receipt.version}"  # type: ignore[union-attr]  # a rejection has none, and ends the run

        return repeat(task.runs, lambda: None, work)


def _delta(task: Task, *, cold: bool = False) -> Measured:
    from deltalake import DeltaTable

    with copied(task.folder) as place:
        kept = DeltaTable(place)
        numbers = itertools.count()

        def work() -> str:
            table = DeltaTable(place) if cold else kept
            delta_append(table, next(numbers))
            return f"based on version {table.version()}"

        return repeat(task.runs, lambda: None, work)


def _iceberg(task: Task) -> Measured:
    table = iceberg_table(task.folder)
    numbers = itertools.count()

    def work() -> str:
        iceberg_append(table, task.folder, range(APPENDED), f"new{next(numbers)}")
        return f"snapshot {len(table.metadata.snapshots)}"

    return repeat(task.runs, lambda: None, work)


def _headgate_cold(task: Task) -> Measured:
    return _headgate(task, cold=True)


def _delta_cold(task: Task) -> Measured:
    return _delta(task, cold=True)


APPEND = Work(
    "add 100 files, table kept open (delta-rs, pyiceberg: the same)",
    {HEADGATE: _headgate, DELTA: _delta, ICEBERG: _iceberg},
    large_sizes,
)
APPEND_COLD = Work("open the table, then add 100 files", {HEADGATE: _headgate_cold, DELTA: _delta_cold}, large_sizes)
