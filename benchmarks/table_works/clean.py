"""Cleaning a folder full of small data files, of which the last tenth is in no version and a month old.

delta-rs finds such files by its full vacuum only. Both are told to keep a week.
"""

import os
import shutil
from collections import Counter as Tally
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from parts.measuring import Measured, repeat
from parts.tables import make_delta, make_headgate, path_of
from table_works.opening import fresh_resources
from table_works.work import DELTA, HEADGATE, ICEBERG, HasNone, Maker, Task, Work, largest_size

if TYPE_CHECKING:
    from headgate_schemas.measures import Histogram
    from headgate_table.table import Table

ORPHANED = 10
"""Of so many objects, one."""
KEPT_HOURS = 7 * 24
FASTEST = 100_000
"""Deletes a second: as many as the setting allows, since a pace for the sake of others would be all that is measured."""
_MADE_S = 1_700_000_000
_NO_CLEANING = HasNone("no cleaning: expire_snapshots forgets snapshots, and deletes no files")


def make_headgate_with_orphans(folder: str, files: int) -> None:
    _with_data_files(make_headgate, folder, files)


def make_delta_with_orphans(folder: str, files: int) -> None:
    _with_data_files(make_delta, folder, files)


def _with_data_files(make: Maker, folder: str, files: int) -> None:
    """The log is kept a second time beside the table, for the next run."""
    live = files - files // ORPHANED
    make(folder, live)
    for name in _logs(folder):
        shutil.copytree(f"{folder}/{name}", f"{folder}.log/{name}")
    _write(folder, 0, files)


def _logs(folder: str) -> list[str]:
    return [entry.name for entry in Path(folder).iterdir() if entry.name.startswith("_")]


def _write(folder: str, first: int, end: int) -> None:
    made: set[str] = set()
    for number in range(first, end):
        path = f"{folder}/{path_of(number)}"
        parent = path.rpartition("/")[0]
        if parent not in made:
            os.makedirs(parent, exist_ok=True)
            made.add(parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.write(descriptor, b"PAR1")
        os.utime(descriptor, (_MADE_S, _MADE_S))
        os.close(descriptor)


def _as_it_was(task: Task) -> Callable[[], None]:
    """What undoes a run: the log as it was made, and the orphans back in their places."""

    def prepare() -> None:
        for name in _logs(task.folder):
            shutil.rmtree(f"{task.folder}/{name}")
        for name in _logs(f"{task.folder}.log"):
            shutil.copytree(f"{task.folder}.log/{name}", f"{task.folder}/{name}")
        missing = task.files - task.files // ORPHANED
        if not os.path.exists(f"{task.folder}/{path_of(missing)}"):
            _write(task.folder, missing, task.files)

    return prepare


class _Requests:
    """Counts what is asked of the store, and measures nothing else."""

    def __init__(self) -> None:
        from headgate_schemas.measures import Silent

        self.counted: Tally[str] = Tally()
        self.silent = Silent()
        self.count, self.set, self.timing = self.silent.count, self.silent.set, self.silent.timing

    def observe(self, metric: "Histogram", value: float, *labels: str, times: int = 1) -> None:
        self.counted[labels[0]] += times

    def __str__(self) -> str:
        return ", ".join(f"{count:,} {name}" for name, count in sorted(self.counted.items()))


def _opened(folder: str, requests: _Requests) -> "Table":
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.store.measured import MeasuredStore
    from headgate_table.store.open import StoreSettings, open_store
    from headgate_table.table import Table

    ambient = SystemAmbient()
    store = MeasuredStore(open_store(folder, StoreSettings(), ambient), requests, ambient.monotonic_s)
    return Table(store, ambient, fresh_resources(), {"purge.deletesPerSecond": str(FASTEST)})


def _headgate(task: Task, *, dry_run: bool) -> Measured:
    import headgate_table.table  # noqa: F401  # imports are not part of the work

    def work() -> str:
        requests = _Requests()
        report = _opened(task.folder, requests).purge(KEPT_HOURS, dry_run=dry_run)
        count = report.orphaned_files_found if dry_run else report.orphaned_files_deleted
        return f"{count:,} files; requests: {requests}"

    return repeat(task.runs, _as_it_was(task), work)


def _delta(task: Task, *, dry_run: bool) -> Measured:
    from deltalake import DeltaTable

    def work() -> str:
        return f"{len(DeltaTable(task.folder).vacuum(KEPT_HOURS, dry_run=dry_run, full=True)):,} files"

    return repeat(task.runs, _as_it_was(task), work)


def _headgate_looking(task: Task) -> Measured:
    return _headgate(task, dry_run=True)


def _headgate_deleting(task: Task) -> Measured:
    return _headgate(task, dry_run=False)


def _delta_looking(task: Task) -> Measured:
    return _delta(task, dry_run=True)


def _delta_deleting(task: Task) -> Measured:
    return _delta(task, dry_run=False)


_MAKERS = {HEADGATE: make_headgate_with_orphans, DELTA: make_delta_with_orphans}

CLEAN_DRY = Work(
    "find the orphans among so many data files: purge and vacuum(full=True), dry runs",
    {HEADGATE: _headgate_looking, DELTA: _delta_looking, ICEBERG: _NO_CLEANING},
    largest_size,
    _MAKERS,
)
CLEAN = Work(
    f"find and delete them: purge, its pace set to {FASTEST:,} deletes a second, and vacuum(full=True)",
    {HEADGATE: _headgate_deleting, DELTA: _delta_deleting, ICEBERG: _NO_CLEANING},
    largest_size,
    _MAKERS,
)
