"""PURGE: carries out a cleaning plan. First the log, then data files, and those only after an accepted purge commit.

`plan`, `orphans` and `leftovers` choose the objects. After every step the table reads as before, and several cleaners
at once only repeat each other's deletes.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Duplicate, Operation, Purge, Receipt, Rejected
from headgate_schemas.messages.sources import Source
from headgate_table.indextables.cleaning.deleting import Deleted, Deleter, count_states
from headgate_table.indextables.cleaning.leftovers import expired_temporaries
from headgate_table.indextables.cleaning.mirrored import mirror_at
from headgate_table.indextables.cleaning.open_damage import open_damage
from headgate_table.indextables.cleaning.orphans import OrphanSearch
from headgate_table.indextables.cleaning.plan import (
    HOUR_MS,
    Category,
    CleaningPlan,
    Deletion,
    Protected,
    limits_of,
    margin_ms,
    plan_cleaning,
)
from headgate_table.indextables.cleaning.quarantine import expired_in_quarantine, fits_into_quarantine
from headgate_table.indextables.cleaning.survey import survey_log
from headgate_table.indextables.log.inventory import LogInventory, take_inventory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.indextables.rules.named_files import UNTOLD, NamedFiles
from headgate_table.indextables.write.commit_times import time_for_ages_ms
from headgate_table.settings.options import MIN_FILE_AGE_HOURS, TableOptions
from headgate_table.store.local.leftovers import LocalLeftovers, local_leftovers

MAX_ORPHANS = 200_000
"""Data files that one run deletes. A run keeps their names in memory; what is left over waits for the next."""
PURGE_PATHS = 10_000
"""Paths in one purge commit: about a megabyte of version file."""
_ROUNDS = 3
"""How often a refused purge is planned anew. A refusal means that a file came back into use meanwhile."""
_SHARE_OF_WINDOW = 4
"""A purged path is forbidden for `coordinator.dedupe.window` only. Its file is deleted within half of that or not at all, and
not more files are purged at once than can be deleted within a quarter."""

_log = get_logger("headgate.clean")


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """The result of PURGE. Without problems `status` is SUCCESS or DRY_RUN, else PARTIAL_SUCCESS."""

    status: str
    orphaned_files_found: int
    orphaned_files_deleted: int
    size_mb_deleted: float
    retention_hours: int
    tx_log_files_deleted: int
    expired_states_found: int
    expired_states_deleted: int
    dry_run: bool
    duration_ms: int
    message: str
    deletions: tuple[Deletion, ...]
    """What was deleted, or in a dry run what would be, object by object with the reason."""
    is_complete: bool = True
    """Whether nothing was left over for another run because there was too much of it."""


@dataclass(slots=True)
class _Run:
    """One purge: its start, to which all ages refer, and its results so far."""

    now_ms: int
    hours: int
    youngest_ms: int
    deleter: Deleter
    deleted: Deleted
    local: LocalLeftovers
    notes: list[str] = field(default_factory=list)
    is_complete: bool = True


class Cleaner:
    """Cleans one table. `protected` are needs that the table's log doesn't show.

    `give_up` is called repeatedly, and may raise to end the run; the next run deletes the rest.
    """

    def __init__(
        self,
        reader: LogReader,
        ambient: Ambient,
        options: TableOptions,
        commit: Callable[[Operation], Receipt],
        protected: Protected | None = None,
        give_up: Callable[[], None] = lambda: None,
        *,
        is_direct: bool = False,
    ) -> None:
        """`is_direct`: purges are committed without the bus, so they are not decided after the proposals that wait
        there.
        """
        self._reader = reader
        self._store = reader.store
        self._ambient = ambient
        self._options = options
        self._commit = commit
        self._protected = protected or Protected()
        self._passes_bus = is_direct and protected is None
        self._give_up = give_up

    def purge(
        self,
        older_than_hours: int | None = None,
        log_retention_hours: int | None = None,
        *,
        dry_run: bool = False,
        also: Sequence[Deletion] = (),
    ) -> PurgeReport:
        """Delete expired versions and states, manifests and data files that nothing retained names, and the objects in
        `also`.

        Raises `InvalidInput` for a retention of files under 24 hours, unless `purge.retentionCheckEnabled` is false.
        """
        hours = self._file_hours(older_than_hours)
        if log_retention_hours is not None and log_retention_hours < 0:
            raise InvalidInput(f"the retention of the log is {log_retention_hours} hours; it can't be negative")
        began_s = self._ambient.monotonic_s()
        run = self._begun(hours)
        mirror = mirror_at(self._store, self._options)
        survey = survey_log(self._reader, mirror.protecting(self._protected, run.now_ms))
        plan = plan_cleaning(survey.inventory, survey.roots, limits_of(self._options, log_retention_hours), run.now_ms)
        damage = open_damage(self._reader, survey)
        if damage is not None:
            return self._refused(run, damage, dry_run, began_s)
        run.notes.extend(plan.notes)
        run.deleted.problems.extend(plan.problems)
        if dry_run:
            orphans = self._orphans(survey.inventory, plan, run)
        else:
            run.deleter.delete_all(plan.deletions, run.deleted)
            orphans = self._orphans(take_inventory(self._store), CleaningPlan(()), run)
            self._delete_orphans(orphans, run)
        gone = {deletion.key for deletion in (plan.deletions if dry_run else run.deleted.done)}
        leavings = (*self._leavings(run), *mirror.expired(survey.inventory, gone, run.now_ms), *also)
        if not dry_run:
            run.deleter.delete_all(leavings, run.deleted)
        done = (*plan.deletions, *orphans, *leavings) if dry_run else tuple(run.deleted.done)
        report = self._report(run, plan, orphans, done, dry_run, began_s)
        _log.info(
            "table_purged",
            table=self._store.uri,
            status=report.status,
            files=report.orphaned_files_deleted,
            log_files=report.tx_log_files_deleted,
            states=report.expired_states_deleted,
        )
        return report

    def _refused(self, run: _Run, damage: str, dry_run: bool, began_s: float) -> PurgeReport:
        """Nothing is deleted from a damaged table: its unreadable parts may need any object, and so may a repair."""
        run.deleted.problems.append(f"nothing was deleted, because the log is damaged: {damage}")
        run.is_complete = False
        _log.warning("table_not_purged", table=self._store.uri, reason=damage)
        return self._report(run, CleaningPlan(()), (), (), dry_run, began_s)

    def _begun(self, hours: int) -> _Run:
        now_ms = time_for_ages_ms(self._store, self._ambient, self._protected.looked_ms)
        return _Run(
            now_ms=now_ms,
            hours=hours,
            youngest_ms=now_ms - hours * HOUR_MS - margin_ms(self._options),
            deleter=Deleter(self._store, self._ambient, self._options, self._give_up, self._reader.resources.measures),
            deleted=Deleted(),
            local=local_leftovers(self._store),
        )

    def _report(
        self,
        run: _Run,
        plan: CleaningPlan,
        orphans: Sequence[Deletion],
        listed: tuple[Deletion, ...],
        dry_run: bool,
        began_s: float,
    ) -> PurgeReport:
        deleted = run.deleted
        return PurgeReport(
            status=_status(dry_run, deleted.problems),
            orphaned_files_found=len(orphans),
            orphaned_files_deleted=deleted.count(Category.DATA_FILE),
            size_mb_deleted=_megabytes(deleted.done),
            retention_hours=run.hours,
            tx_log_files_deleted=sum(
                deleted.count(category) for category in (Category.VERSION, Category.CHECKPOINT, Category.MANIFEST)
            ),
            expired_states_found=count_states(plan.deletions),
            expired_states_deleted=deleted.states(),
            dry_run=dry_run,
            duration_ms=int((self._ambient.monotonic_s() - began_s) * 1000),
            message=_message(dry_run, listed, [*deleted.problems, *dict.fromkeys(run.notes)]),
            deletions=listed,
            is_complete=run.is_complete,
        )

    def _file_hours(self, asked: int | None) -> int:
        hours = self._options.purge_file_retention_hours if asked is None else asked
        if hours < 0:
            raise InvalidInput(f"the retention of files is {hours} hours; it can't be negative")
        if hours < MIN_FILE_AGE_HOURS and self._options.purge_retention_check:
            raise InvalidInput(
                f"a retention of {hours} h could delete files of jobs that have not committed yet; at least "
                f"{MIN_FILE_AGE_HOURS} h are needed. If no job is running, set indextables.purge.retentionCheckEnabled=false"
            )
        return hours

    def _orphans(self, inventory: LogInventory, plan: CleaningPlan, run: _Run) -> list[Deletion]:
        """The unnamed data files that the plan leaves; none if they can't be found out."""
        self._give_up()
        try:
            source = self._fed_from() if self._passes_bus else None
            if source is not None:
                run.deleted.problems.append(
                    f"no data file was deleted: the table is fed from {source}, where proposals may wait that need files which "
                    f"no version names yet. Give its bus; or say that nothing waits there (--nothing-waits, or in Python "
                    f"protected=Protected())"
                )
                return []
            named = NamedFiles(self._reader)
            named.keys.update(self._protected.files)
            named.add_log(inventory, without={deletion.key for deletion in plan.deletions})
        except UNTOLD as error:
            run.deleted.problems.append(
                f"no data file was deleted, because the log doesn't say which are still named: {error}"
            )
            return []
        search = OrphanSearch(
            named, run.youngest_ms, MAX_ORPHANS, lambda key: run.local.is_linked(key) or self._is_unmovable(key)
        )
        for info in self._store.list():
            search.see(info)
        found = search.found(self._store.list)
        if not search.is_complete:
            run.is_complete = False
            run.notes.append(f"there are more than {MAX_ORPHANS} orphaned files; run it again for the rest")
        unmovable = [key for key in search.left() if self._is_unmovable(key)]
        if unmovable:
            run.notes.append(
                f"{len(unmovable)} names are too long for quarantine and were left, such as {unmovable[0]}"
            )
        reason = f"no retained version names it, and it is older than {run.hours} hours"
        return [Deletion(info.key, info.size, Category.DATA_FILE, reason) for info in found]

    def _fed_from(self) -> Source | None:
        """The source whose committer decides for the table; None if there were only direct commits."""
        return recover(self._reader, self._reader.latest(), self._options).source

    def _is_unmovable(self, key: str) -> bool:
        return self._options.purge_quarantine_hours > 0 and not fits_into_quarantine(key)

    def _leavings(self, run: _Run) -> list[Deletion]:
        """The leftovers of killed writers and earlier cleaners."""
        hours = self._options.purge_quarantine_hours or self._options.purge_file_retention_hours
        oldest_ms = run.now_ms - hours * HOUR_MS - margin_ms(self._options)
        temporaries = expired_temporaries(run.local, run.youngest_ms, run.now_ms)
        return [*temporaries, *expired_in_quarantine(self._store, oldest_ms, run.now_ms)]

    def _delete_orphans(self, orphans: list[Deletion], run: _Run) -> None:
        window_s = self._options.dedupe_window_hours * 3600
        step = max(1, min(PURGE_PATHS, self._options.purge_deletes_per_second * window_s // _SHARE_OF_WINDOW))
        for start in range(0, len(orphans), step):
            # Counted from before the commit, by both clocks: one of them may have stopped with the machine.
            began_s, began_ms = self._ambient.monotonic_s(), self._ambient.now_ms()
            batch = self._forbidden(orphans[start : start + step], run)

            def still_forbidden(began_s: float = began_s, began_ms: int = began_ms) -> bool:
                gone_s = max(self._ambient.monotonic_s() - began_s, (self._ambient.now_ms() - began_ms) / 1000)
                return gone_s < window_s / 2

            if not run.deleter.delete_all(batch, run.deleted, still_forbidden):
                return

    def _forbidden(self, batch: list[Deletion], run: _Run) -> list[Deletion]:
        """The files of the batch that a purge commit has forbidden for good; only these may be deleted."""
        reason = ""
        for _ in range(_ROUNDS):
            if not batch:
                return []
            receipt = self._commit(Purge(tuple(deletion.key for deletion in batch)))
            match receipt:
                case Committed() | Duplicate():
                    return batch
                case Rejected(reason=reason):
                    wanted = {deletion.key for deletion in batch}
                    again = self._orphans(take_inventory(self._store), CleaningPlan(()), run)
                    batch = [item for item in again if item.key in wanted]
                case _:
                    assert_never(receipt)
        run.deleted.problems.append(f"{len(batch)} files were left, because their purge was refused: {reason}")
        return []


def _status(dry_run: bool, problems: Collection[str]) -> str:
    if dry_run:
        return "DRY_RUN"
    return "PARTIAL_SUCCESS" if problems else "SUCCESS"


def _megabytes(deletions: Collection[Deletion]) -> float:
    size = sum(deletion.size for deletion in deletions if deletion.category is Category.DATA_FILE)
    return round(size / (1 << 20), 6)


def _message(dry_run: bool, deletions: Collection[Deletion], problems: Collection[str]) -> str:
    parts = []
    for category in Category:
        found = [deletion for deletion in deletions if deletion.category is category]
        if found:
            parts.append(f"{len(found)} {category.plural if len(found) > 1 else category.value}")
    verb = "would delete" if dry_run else "deleted"
    return "; ".join([f"{verb} {', '.join(parts)}" if parts else "nothing to delete", *problems])
