"""TRUNCATE TIME TRAVEL: deletes the versions before the newest, and the objects that only they needed. Data files stay.

`plan` chooses the objects; ages don't matter here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_table.errors import CorruptTable
from headgate_table.indextables.cleaning.deleting import Deleted, Deleter, count_states
from headgate_table.indextables.cleaning.mirrored import mirror_at
from headgate_table.indextables.cleaning.plan import (
    MIN_MANIFEST_AGE_MS,
    MINUTE_MS,
    Category,
    CleaningPlan,
    Deletion,
    Limits,
    Protected,
    StateFacts,
    plan_cleaning,
)
from headgate_table.indextables.cleaning.survey import LogSurvey, survey_log
from headgate_table.indextables.format.names import POINTER, checkpoint_key, state_key
from headgate_table.indextables.format.pointer import state_pointer
from headgate_table.indextables.log.inventory import StateFolder
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import Base, BaseKind
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.write.base_writer import base_kind
from headgate_table.indextables.write.commit_times import time_for_ages_ms
from headgate_table.indextables.write.state_writer import StateWriter
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import ObjectInfo

_T = TypeVar("_T")
_log = get_logger("headgate.clean")

_ANY_AGE_MS = -(2**62)
"""The store's clock may be ahead of ours, so that ages are negative."""
_NO_AGE = Limits(
    state_count=1,
    state_age_ms=_ANY_AGE_MS,
    log_age_ms=_ANY_AGE_MS,
    manifest_age_ms=MIN_MANIFEST_AGE_MS,
    is_truncation=True,
)


@dataclass(frozen=True, slots=True)
class TruncateReport:
    """The result of TRUNCATE TIME TRAVEL. `files_preserved` counts the live data files, all of which stay."""

    table_path: str
    status: str
    checkpoint_version: int
    versions_deleted: int
    checkpoints_deleted: int
    files_preserved: int
    message: str
    deletions: tuple[Deletion, ...] = ()
    """What was deleted, or in a dry run what would be, object by object with the reason."""


class Truncation:
    """Deletes the history of one table."""

    def __init__(
        self,
        reader: LogReader,
        ambient: Ambient,
        options: TableOptions,
        checkpoint: Callable[[], LoadedLog],
        protected: Protected | None = None,
    ) -> None:
        self._reader = reader
        self._ambient = ambient
        self._options = options
        self._checkpoint = checkpoint
        self._protected = protected or Protected()

    def run(self, *, dry_run: bool = False) -> TruncateReport:
        """Write a state of the newest version if it has none, then delete the objects before it.

        Other implementations leave exactly one state. Here the newest two states, the versions between them, the newest
        version file and the metadata's only source stay: a running reader, a late writer and a restarting committer
        need them. So a version or two may remain readable.
        """
        log = self._reader.latest() if dry_run else self._checkpoint()
        files = self._live_files(log)
        # Ages matter only for manifests, the states that name them, and a mirror.
        now_ms = time_for_ages_ms(self._reader.store, self._ambient, self._protected.looked_ms)
        protected = mirror_at(self._reader.store, self._options).protecting(self._protected, now_ms)
        if dry_run:
            base = Base(base_kind(self._options), log.version)
            is_written = log.plan.base != base
            survey = survey_log(self._reader, protected, will_remember=is_written)
            if is_written:
                survey = _with_base(survey, base, log, now_ms)
            survey = _pointed_at(survey, log.version)
        else:
            self._assert_pointer(log)
            survey = survey_log(self._reader, protected)
        limits = replace(_NO_AGE, skew_ms=self._options.purge_clock_skew_minutes * MINUTE_MS)
        plan = plan_cleaning(survey.inventory, survey.roots, limits, now_ms)
        deleted = Deleted(problems=list(plan.problems))
        if not dry_run:
            measures = self._reader.resources.measures
            deleter = Deleter(self._reader.store, self._ambient, self._options, measures=measures)
            deleter.delete_all(plan.deletions, deleted)
        return self._report(log.version, files, plan, deleted, dry_run)

    def _live_files(self, log: LoadedLog) -> int:
        """Read the whole newest version, before any object that could replace a part of it is deleted."""
        entries, _ = read_entries(self._reader.store, self._reader.resources, log, ("path",))
        return int(entries.num_rows)

    def _assert_pointer(self, log: LoadedLog) -> None:
        """Another program may have written a state without a pointer."""
        if log.plan.base == Base(BaseKind.CHECKPOINT, log.version):
            return  # the pointer to a JSON checkpoint was moved when it was written or found
        state = log.state
        if state is None or state.version != log.version:
            raise CorruptTable(f"{self._reader.store.uri} has no state at version {log.version}; nothing was deleted")
        writer = StateWriter(self._reader, self._ambient, self._options)
        writer.advance_pointer(state_pointer(state.version, state.num_files, state.total_bytes, state.created_at))

    def _report(self, version: int, files: int, plan: CleaningPlan, deleted: Deleted, dry_run: bool) -> TruncateReport:
        listed = plan.deletions if dry_run else tuple(deleted.done)
        counts = {category: sum(item.category is category for item in listed) for category in Category}
        states = count_states(listed)
        verb = "would delete" if dry_run else "deleted"
        done = (
            f"{verb} {counts[Category.VERSION]} version files, {states} states, {counts[Category.CHECKPOINT]} checkpoint "
            f"files and {counts[Category.MANIFEST]} manifests; the table stays at version {version}"
        )
        status = "DRY_RUN" if dry_run else "ERROR" if deleted.problems else "SUCCESS"
        report = TruncateReport(
            table_path=self._reader.store.uri,
            status=status,
            checkpoint_version=version,
            versions_deleted=counts[Category.VERSION],
            checkpoints_deleted=states + counts[Category.CHECKPOINT],
            files_preserved=files,
            message="; ".join([done, *deleted.problems, *plan.notes]),
            deletions=listed,
        )
        _log.info(
            "history_truncated",
            table=report.table_path,
            status=status,
            version=version,
            versions=report.versions_deleted,
            states=states,
        )
        return report


def _with_base(survey: LogSurvey, wanted: Base, log: LoadedLog, now_ms: int) -> LogSurvey:
    """The log with a state of the newest version, which refers to the manifests of its base; or with a JSON checkpoint,
    which refers to none.
    """
    version = log.version
    inventory, roots = survey.inventory, survey.roots
    if wanted.kind is BaseKind.CHECKPOINT:
        checkpoint = ObjectInfo(checkpoint_key(version), 0, now_ms, "")
        return LogSurvey(replace(inventory, checkpoints=_with(inventory.checkpoints, version, checkpoint)), roots)
    base = roots.states.get(log.plan.base.version)
    manifests = frozenset[str]() if base is None else base.manifests
    facts = StateFacts(created_at=2**63 - 1, manifests=manifests, has_metadata=True, has_coordinator=True)
    folder = StateFolder(version, ObjectInfo(state_key(version), 0, now_ms, ""), (), ())
    inventory = replace(inventory, states=_with(inventory.states, version, folder))
    return LogSurvey(inventory, replace(roots, states=_with(roots.states, version, facts)))


def _with(found: Mapping[int, _T], version: int, more: _T) -> dict[int, _T]:
    return dict(sorted({**found, version: more}.items()))


def _pointed_at(survey: LogSurvey, version: int) -> LogSurvey:
    inventory = survey.inventory
    if inventory.pointer is None:
        inventory = replace(inventory, pointer=ObjectInfo(POINTER, 0, 0, ""))
    return LogSurvey(inventory, replace(survey.roots, pointer=version))
