"""Compacting a table's state; `maintenance.py` measures it at length."""

from parts.compacting import copies
from parts.measuring import Measured, repeat
from parts.tables import path_of
from table_works.opening import opened
from table_works.work import DELTA, HEADGATE, Task, Work, large_sizes

DEAD_EVERY = 50


def _headgate(task: Task) -> Measured:
    with copies(task.folder) as (place, copy):

        def prepare() -> None:
            copy()
            table = opened(place())
            table.delete(paths=[path_of(number) for number in range(0, task.files, DEAD_EVERY)])
            table.checkpoint()

        def work() -> str:
            table = opened(place())
            receipt = table.compact()
            state = table.snapshot().log.state
            return f"version {receipt.version}: {state.num_files:,} files in {len(state.manifests)} manifests"  # type: ignore[union-attr]  # a rejection has none, and ends the run

        return repeat(task.runs, prepare, work)


def _delta(task: Task) -> Measured:
    from deltalake import DeltaTable

    with copies(task.folder) as (place, copy):

        def work() -> str:
            table = DeltaTable(place())
            table.create_checkpoint()
            return f"checkpoint at {table.version()}"

        return repeat(task.runs, copy, work)


COMPACT = Work("headgate compact; delta-rs create_checkpoint", {HEADGATE: _headgate, DELTA: _delta}, large_sizes)
