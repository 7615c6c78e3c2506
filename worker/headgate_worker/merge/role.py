"""The role `merge` of a worker: one task for each group of small files."""

from collections.abc import Callable, Sequence
from typing import assert_never

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_table.table import Table
from headgate_worker.merge.merging import Merging
from headgate_worker.merge.orders import MergeEngine
from headgate_worker.merge.plan import MergeGroup, MergeLimits
from headgate_worker.merge.report import GroupDone, GroupFailed, GroupLost, GroupNothing, GroupPending
from headgate_worker.merge.table_settings import codec_of, files_until_due, on_write_limits, unasked_limits
from headgate_worker.roles.interface import MergeTask, OpenTable, Outlook, Report, Task, Trigger

_log = get_logger("headgate.merge")


class MergeFailed(HeadgateError):
    """A group of files could not be merged, and nothing was changed. The message gives the reason."""


class MergeRole:
    """Merges small files by the table's own settings unless `limits` is given.

    `engine_for` makes the engine that writes into a table's store.
    """

    def __init__(
        self,
        open_table: OpenTable,
        engine_for: Callable[[Table], MergeEngine],
        ambient: Ambient,
        limits: Callable[[Table], MergeLimits] | None = None,
    ) -> None:
        self._open_table = open_table
        self._engine_for = engine_for
        self._ambient = ambient
        self._limits = limits or limits_for

    @property
    def name(self) -> str:
        return "merge"

    def look(self, table: Table, now_ms: int) -> Outlook:
        """The tasks of `plan`; and for merge-on-write, the number of new files that could make its groups."""
        limits = self._limits(table)
        plan = self._merging(table).plan(limits)
        for note in plan.notes():
            _log.info("merge_planned", table=table.uri, groups=len(plan.groups), note=note)
        tasks = [MergeTask(table.uri, group.sources) for group in plan.groups]
        options = table.options
        if not options.merge_on_write:
            return Outlook(tasks)
        missing = files_until_due(plan.waiting, limits.min_sources, options.merge_on_write_min_groups)
        return Outlook(tasks, Trigger(added_files=missing))

    def plan(self, table: Table, now_ms: int) -> Sequence[Task]:
        """The groups of small files that are worth a merge, the largest savings first."""
        return self.look(table, now_ms).tasks

    def run(self, task: Task) -> Report:
        """Raises `MergeFailed` if an immediate retry would be useless."""
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
                return Report(f"not merged: {reason}", None, problems, lost=True)
            case GroupPending(output, reason):
                said = f"the outcome of {output} is not known, so it is kept: {reason}"
                return Report(said, None, (*problems, said))
            case GroupFailed(reason):
                raise MergeFailed(f"{len(task.sources)} files of {task.table} were not merged: {reason}")
            case _:
                assert_never(report.result)

    def _merging(self, table: Table) -> Merging:
        return Merging(table, self._engine_for(table), self._ambient, codec=codec_of(table.options))


def limits_for(table: Table) -> MergeLimits:
    """The limits in the table's settings."""
    options, metadata = table.options, table.metadata
    return on_write_limits(options, metadata) if options.merge_on_write else unasked_limits(options, metadata)
