"""The role `compact`: when a state is due for compaction, and the proposal. The table room decides what to rewrite and
how.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from headgate_schemas.actions.actions import CommitInfo, RemoveFile
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, CompactState, Duplicate, RejectCode, Rejected
from headgate_table.errors import CommitConflict, CorruptTable
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.indextables.compaction.plan import compaction_due
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.readable_versions import left_versions
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.settings.options import TableOptions
from headgate_table.table import Table
from headgate_worker.roles.interface import CompactTask, OpenTable, Outlook, Report, Task

ROUNDS = 3
"""How often a compaction that was overtaken is planned anew at once; after that it waits like any failure."""
LOOK_BACK = 100
"""Versions that are searched for a merge. One that is older has had its compaction, or is swept up by the thresholds."""
_OVERTAKEN = (RejectCode.BASE_GONE,)

_log = get_logger("headgate.compact")


class CompactRole:
    """Proposes `compact_state` for tables whose newest state is due."""

    name = "compact"

    def __init__(self, open_table: OpenTable, ambient: Ambient) -> None:
        self._open_table = open_table
        self._ambient = ambient

    def look(self, table: Table, now_ms: int) -> Outlook:
        """The tasks of `plan`. The worker's own interval of looks is frequent enough for states."""
        return Outlook(self.plan(table, now_ms))

    def plan(self, table: Table, now_ms: int) -> Sequence[Task]:
        state = table.reader.latest().state
        if state is None:
            return ()  # nothing to compact before the committer's first state, or with JSON checkpoints
        reason = due(table.reader, state, table.options)
        if reason is None:
            return ()
        plan = self._compactor(table, state).plan(state)
        entries = sum(state.manifests[place].num_entries for place in plan.rewrite)
        return (CompactTask(table.uri, reason, entries),) if plan.is_needed else ()

    def run(self, task: Task) -> Report:
        assert isinstance(task, CompactTask), "a role runs what it has planned"
        reason = ""
        for _ in range(ROUNDS):
            table = self._open_table(task.table)
            log = table.reader.latest()
            try:
                swap = self._prepared(table, log)
            except CorruptTable as error:
                # Another compaction may have replaced its base, and cleaning may have deleted the base's manifests.
                if not self._is_overtaken(task, log):
                    raise
                reason = str(error)
                continue
            if swap is None:
                return Report("nothing is due any more")
            receipt = table.commit(swap)
            match receipt:
                case Committed(version) | Duplicate(version):
                    return Report(
                        f"{len(swap.removes)} manifests became {len(swap.adds)}, without {len(swap.tombstones)} tombstones"
                        f" ({task.reason})",
                        version,
                    )
                case Rejected(code, reason):
                    # No log names its manifests; cleaning finds them.
                    _log.info("compaction_refused", table=task.table, code=code.value, reason=reason)
                    if code not in _OVERTAKEN:
                        break
                case _:
                    assert_never(receipt)
        raise CommitConflict(f"the state of {task.table} was not compacted: {reason}; it is planned again later")

    def _is_overtaken(self, task: CompactTask, log: LoadedLog) -> bool:
        """Whether the table has a newer state than the loaded log."""
        return self._open_table(task.table).reader.latest().plan.base.version > log.plan.base.version

    def _prepared(self, table: Table, log: LoadedLog) -> CompactState | None:
        """The swap with its manifests written; None if there is nothing to do."""
        if log.state is None or due(table.reader, log.state, table.options) is None:
            return None
        compactor = self._compactor(table, log.state)
        plan = compactor.plan(log.state)
        return compactor.prepare(log.state, plan, table.reader.metadata(log)) if plan.is_needed else None

    def _compactor(self, table: Table, state: StateManifest) -> Compactor:
        """The compactor of a state that is due."""
        options = table.options
        if compaction_due(state, options) is None and state.tombstones:
            # The thresholds have been checked: from here on, every manifest with a dead entry counts.
            options = replace(options, compaction_tombstone_threshold=0.0)
        return Compactor(table.reader, self._ambient, options)


def due(reader: LogReader, state: StateManifest, options: TableOptions) -> str | None:
    """The reason to compact the state, by the triggers of the format; None if there is none."""
    reason = compaction_due(state, options)
    if reason is not None or not state.tombstones:
        return reason
    return _due_by_versions(reader, state, options)


def _due_by_versions(reader: LogReader, state: StateManifest, options: TableOptions) -> str | None:
    """The triggers by single commits since the last compaction: a merge, or many removes at once."""
    retained = [version for version in reader.full_listing().versions if version <= state.version]
    for version, actions in left_versions(reader, retained[-LOOK_BACK:][::-1]):
        if actions is None:
            continue  # the thresholds still apply
        body = next((action.body for action in actions if isinstance(action, CommitInfo)), {})
        if isinstance(body.get("swap"), dict):
            return None
        removes = [action for action in actions if isinstance(action, RemoveFile)]
        # A group may hold a merge beside other proposals; only the merge's removes change no data.
        if options.compaction_after_merge and not all(remove.data_change for remove in removes):
            return f"version {version} merged files"
        if len(removes) > options.compaction_large_remove_threshold:
            return f"version {version} removed {len(removes)} files at once"
    return None
