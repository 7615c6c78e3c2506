"""The role `merge` of a worker: one task for each group of small files."""

from collections.abc import Callable, Sequence
from typing import assert_never

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_table.table import Table
from headgate_worker.merge.engine import MergeEngine
from headgate_worker.merge.merging import Merging
from headgate_worker.merge.plan import MergeGroup, MergeLimits
from headgate_worker.merge.report import GroupDone, GroupFailed, GroupLost, GroupNothing, GroupPending
from headgate_worker.roles import OpenTable, Report
from headgate_worker.tasks import MergeTask, Task

UNASKED_MIN_SOURCES = 5
"""A group that doesn't fill its output waits until it saves at least four files: who appends one small file at a time must
not have everything before it written again each time."""

_log = get_logger("headgate.merge")


class MergeFailed(HeadgateError):
    """A group of files could not be merged, and nothing was changed. The message says why."""


class MergeRole:
    """Merges small files as they come. `engine_for` makes the engine that writes into a table's store."""

    def __init__(
        self,
        open_table: OpenTable,
        engine_for: Callable[[Table], MergeEngine],
        ambient: Ambient,
        limits: Callable[[Table], MergeLimits] | None = None,
        *,
        codec: str | None = None,
    ) -> None:
        self._open_table = open_table
        self._engine_for = engine_for
        self._ambient = ambient
        self._limits = limits or (lambda table: MergeLimits(min_sources=UNASKED_MIN_SOURCES))
        self._codec = codec

    @property
    def name(self) -> str:
        return "merge"

    def plan(self, table: Table, now_ms: int) -> Sequence[Task]:
        plan = self._merging(table).plan(self._limits(table))
        for note in plan.notes():
            _log.info("merge_planned", table=table.uri, groups=len(plan.groups), note=note)
        return [MergeTask(table.uri, group.sources) for group in plan.groups]

    def run(self, task: Task) -> Report:
        """Raises `MergeFailed` where trying again at once would be of no use."""
        assert isinstance(task, MergeTask), f"{task} is no task of this role"
        report = self._merging(self._open_table(task.table)).merge_group(MergeGroup(task.sources))
        problems = tuple(f"{skip.path} is left alone for a while: {skip.reason}" for skip in report.skips)
        match report.result:
            case GroupDone(sources, output, version, before, after):
                said = f"merged {len(sources)} files of {before} bytes into {output} of {after}"
                return Report(said, version, problems)
            case GroupNothing():
                return Report("too few readable files were left to merge", None, problems)
            case GroupLost(reason):
                return Report(f"not merged: {reason}", None, problems, more=True)
            case GroupPending(output, reason):
                said = f"the outcome of {output} is not known, so it is kept: {reason}"
                return Report(said, None, (*problems, said))
            case GroupFailed(reason):
                raise MergeFailed(f"{len(task.sources)} files of {task.table} were not merged: {reason}")
            case _:
                assert_never(report.result)

    def _merging(self, table: Table) -> Merging:
        return Merging(table, self._engine_for(table), self._ambient, codec=self._codec)
