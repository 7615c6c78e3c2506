"""The role `clean`: cleans each table once in a while, and keeps everything that undecided proposals need.

The table room has the rules of cleaning.
"""

from collections.abc import Callable, Sequence

from headgate_bus.claims import DEFAULT_LIMITS, FOLDER, ClaimLimits, plan_sweep, store_now_ms
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.cleaning.plan import (
    HOUR_MS,
    MINUTE_MS,
    Category,
    Deletion,
    Protected,
)
from headgate_table.settings.option_conflicts import contradiction
from headgate_table.settings.options import MIN_FILE_AGE_HOURS, TableOptions
from headgate_table.store.interface import Store
from headgate_table.table import Table
from headgate_worker.roles.interface import CleanTask, OpenTable, Outlook, Report, Task, Trigger
from headgate_worker.roles.undecided import protected_by

MAX_CLAIMS = 100_000
"""Claims that one run deletes; what is left over waits for the next."""

_log = get_logger("headgate.clean")


class CleanRole:
    """Deletes expired versions and states, orphan manifests, old claims, and data files after an accepted `purge`.

    `give_up` is called repeatedly during deletion, and may raise `Abandoned`.
    """

    name = "clean"

    def __init__(
        self,
        open_table: OpenTable,
        bus: Bus,
        ambient: Ambient,
        committer_group: str,
        claims: ClaimLimits = DEFAULT_LIMITS,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_table = open_table
        self._bus = bus
        self._ambient = ambient
        self._committer_group = committer_group
        self._claims = claims
        self._give_up = give_up

    def look(self, table: Table, now_ms: int) -> Outlook:
        """The task of `plan`, and the trigger of purge-on-write."""
        return Outlook(self.plan(table, now_ms), _trigger(table))

    def plan(self, table: Table, now_ms: int) -> Sequence[Task]:
        """Always a task: only a full listing shows whether there is anything to delete, and that is most of the work."""
        return (CleanTask(table.uri),)

    def run(self, task: Task) -> Report:
        assert isinstance(task, CleanTask), "a role runs what it has planned"
        table = self._open_table(task.table)
        options = table.options
        protected = protected_by(self._bus, self._committer_group, table.reader, self._ambient, self._claims)
        cleaner = Cleaner(table.reader, self._ambient, options, table.commit, protected, self._give_up)
        hours = (
            (options.purge_on_write_file_hours, options.purge_on_write_log_hours)
            if _is_on_write(table)
            else (None, None)
        )
        report = cleaner.purge(*hours, also=old_claims(table.store, options, protected, self._ambient.now_ms()))
        problems = () if report.status == "SUCCESS" else (report.message,)
        # Only while it makes progress; otherwise it would list the table for ever.
        more = not report.is_complete and report.orphaned_files_deleted > 0 and not problems
        return Report(report.message, None, problems, more=more)


def old_claims(store: Store, options: TableOptions, protected: Protected, now_ms: int) -> list[Deletion]:
    """Claims that no proposal needs any more: settled long ago, or written for a proposal that was never sent.

    A committer deletes the claims below its settled offset, but only while it commits, and by the bus's clock. This
    uses the store's clock: a proposal that is sent only now for a claim of this age has expired.
    """
    keep_ms = max(options.dedupe_window_hours, MIN_FILE_AGE_HOURS) * HOUR_MS
    keep_ms += options.purge_clock_skew_minutes * MINUTE_MS
    listed = {info.key: info for info in store.list(FOLDER)}
    if any(info.modified_ms < now_ms - keep_ms for info in listed.values()):
        now_ms = min(now_ms, store_now_ms(store))  # this process's clock may be ahead
    keys = plan_sweep(
        listed.values(),
        now_ms=now_ms,
        keep_ms=keep_ms,
        still_needed=protected.claims.__contains__,
        max_deletes=MAX_CLAIMS,
    )
    return [
        Deletion(
            key,
            listed[key].size,
            Category.CLAIM,
            f"no undecided proposal names it, and it is {_age(listed[key].modified_ms, now_ms)} old",
        )
        for key in keys
    ]


def _age(modified_ms: int, now_ms: int) -> str:
    return f"{(now_ms - modified_ms) // (24 * HOUR_MS)} days"


def _trigger(table: Table) -> Trigger | None:
    if not _is_on_write(table):
        return None
    options = table.options
    return Trigger(writes=options.purge_on_write_after_writes or None, after_merge=options.purge_on_write_after_merge)


def _is_on_write(table: Table) -> bool:
    """Whether the table is cleaned by the settings of purge-on-write. If these contradict each other, it isn't."""
    options = table.options
    problem = contradiction(options) if options.purge_on_write else None
    if problem is not None:
        _log.warning("settings_contradict", table=table.uri, reason=problem)
    return options.purge_on_write and problem is None
