"""PURGE: carries out a cleaning plan. First the log, then data files, and those only after an accepted purge commit.

What may go is decided in `cleaning`. Every step leaves a table that reads as before, and several cleaners at once only
repeat each other's deletes.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import assert_never

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.operations import Committed, Duplicate, Operation, Purge, Receipt, Rejected
from headgate_table.errors import CorruptTable
from headgate_table.indextables.cleaning import (
    HOUR_MS,
    MIN_FILE_AGE_HOURS,
    Category,
    CleaningPlan,
    Deletion,
    Protected,
    limits_of,
    plan_cleaning,
)
from headgate_table.indextables.deleting import Deleted, count_states, delete_all
from headgate_table.indextables.log_inventory import LogInventory, take_inventory
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.log_survey import survey_log
from headgate_table.indextables.named_files import NamedFiles
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.orphans import OrphanSearch

MAX_ORPHANS = 200_000
"""Data files that one run deletes. A run keeps their names in memory; what is left over waits for the next."""
PURGE_PATHS = 10_000
"""Paths in one purge commit: about a megabyte of version file."""
_ROUNDS = 3
"""How often a refused purge is planned anew. A refusal means that a file came back into use meanwhile."""

_log = get_logger("headgate.clean")


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What PURGE found and did. Without problems `status` is SUCCESS or DRY_RUN, else PARTIAL_SUCCESS."""

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


class Cleaner:
    """Cleans one table. `protected` is what somebody needs that the table's log doesn't know of."""

    def __init__(
        self,
        reader: LogReader,
        ambient: Ambient,
        options: TableOptions,
        commit: Callable[[Operation], Receipt],
        protected: Protected | None = None,
    ) -> None:
        self._reader = reader
        self._store = reader.store
        self._ambient = ambient
        self._options = options
        self._commit = commit
        self._protected = protected or Protected()

    def purge(
        self, older_than_hours: int | None = None, log_retention_hours: int | None = None, *, dry_run: bool = False
    ) -> PurgeReport:
        """Delete expired versions and states, manifests and data files that nothing retained names.

        Raises `InvalidInput` for a retention of files under 24 hours, unless `purge.retentionCheckEnabled` is false.
        """
        hours = self._file_hours(older_than_hours)
        if log_retention_hours is not None and log_retention_hours < 0:
            raise InvalidInput(f"the retention of the log is {log_retention_hours} hours; it can't be negative")
        began_s = self._ambient.monotonic_s()
        deleted = Deleted()
        survey = survey_log(self._reader, self._protected)
        limits = limits_of(self._options, log_retention_hours)
        plan = plan_cleaning(survey.inventory, survey.roots, limits, self._ambient.now_ms())
        notes = list(plan.notes)
        deleted.problems.extend(plan.problems)
        if not dry_run:
            delete_all(self._store, plan.deletions, deleted)
            inventory = take_inventory(self._store)
        else:
            inventory = survey.inventory
        orphans = self._orphans(inventory, plan if dry_run else CleaningPlan(()), hours, notes, deleted.problems)
        if not dry_run:
            self._delete_orphans(orphans, hours, deleted)
        listed = (*plan.deletions, *orphans) if dry_run else tuple(deleted.done)
        report = PurgeReport(
            status=_status(dry_run, deleted.problems),
            orphaned_files_found=len(orphans),
            orphaned_files_deleted=deleted.count(Category.DATA_FILE),
            size_mb_deleted=_megabytes(deleted.done),
            retention_hours=hours,
            tx_log_files_deleted=sum(
                deleted.count(category) for category in (Category.VERSION, Category.CHECKPOINT, Category.MANIFEST)
            ),
            expired_states_found=count_states(plan.deletions),
            expired_states_deleted=deleted.states(),
            dry_run=dry_run,
            duration_ms=int((self._ambient.monotonic_s() - began_s) * 1000),
            message=_message(dry_run, listed, [*deleted.problems, *notes]),
            deletions=listed,
        )
        _log.info(
            "table_purged",
            table=self._store.uri,
            status=report.status,
            files=report.orphaned_files_deleted,
            log_files=report.tx_log_files_deleted,
            states=report.expired_states_deleted,
        )
        return report

    def _file_hours(self, asked: int | None) -> int:
        hours = self._options.purge_file_retention_hours if asked is None else asked
        if hours < 0:
            raise InvalidInput(f"the retention of files is {hours} hours; it can't be negative")
        if hours < MIN_FILE_AGE_HOURS and self._options.purge_retention_check:
            raise InvalidInput(
                f"a retention of {hours} hours could delete files of jobs that have not committed yet; at least "
                f"{MIN_FILE_AGE_HOURS} are needed. If no job is running, set indextables.purge.retentionCheckEnabled=false"
            )
        return hours

    def _orphans(
        self, inventory: LogInventory, plan: CleaningPlan, hours: int, notes: list[str], problems: list[str]
    ) -> list[Deletion]:
        """Data files that nothing names which the plan leaves; none when that can't be found out."""
        try:
            named = self._named(inventory, {deletion.key for deletion in plan.deletions})
        except (CorruptTable, InvalidInput) as error:
            problems.append(f"no data file was deleted, because the log doesn't say which are still named: {error}")
            return []
        search = OrphanSearch(named, self._ambient.now_ms() - hours * HOUR_MS, MAX_ORPHANS)
        found = search.look(self._store.list())
        if not search.is_complete:
            notes.append(f"there are more than {MAX_ORPHANS} orphaned files; run it again for the rest")
        reason = f"no retained version names it, and it is older than {hours} hours"
        return [Deletion(info.key, info.size, Category.DATA_FILE, reason) for info in found]

    def _named(self, inventory: LogInventory, going: Collection[str]) -> NamedFiles:
        named = NamedFiles(self._reader)
        named.keys.update(self._protected.files)
        for version, folder in inventory.states.items():
            if folder.manifest is not None and folder.manifest.key not in going:
                named.add_state(version)
        for version, info in inventory.checkpoints.items():
            if info.key not in going:
                named.add_checkpoint(version)
        for version, info in inventory.versions.items():
            if info.key not in going:
                named.add_version(version)
        return named

    def _delete_orphans(self, orphans: list[Deletion], hours: int, deleted: Deleted) -> None:
        for start in range(0, len(orphans), PURGE_PATHS):
            batch = self._forbidden(orphans[start : start + PURGE_PATHS], hours, deleted)
            if not delete_all(self._store, batch, deleted):
                return

    def _forbidden(self, batch: list[Deletion], hours: int, deleted: Deleted) -> list[Deletion]:
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
                    again = self._orphans(take_inventory(self._store), CleaningPlan(()), hours, [], deleted.problems)
                    batch = [item for item in again if item.key in wanted]
                case _:
                    assert_never(receipt)
        deleted.problems.append(f"{len(batch)} files were left, because their purge was refused: {reason}")
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
            parts.append(f"{len(found)} {category.value}{'s' if len(found) > 1 else ''}")
    verb = "would delete" if dry_run else "deleted"
    return "; ".join([f"{verb} {', '.join(parts)}" if parts else "nothing to delete", *problems])
