"""Decides which table is due for which role: facts in, decisions out. Uses no clock, bus or threads.

A desk is one role at one table. It has at most one look or task under way. Due desks wait in one queue, ordered by the
time at which they could begin, so no desk is served twice while another waits. If the schedule forgets a table, a later
event or sweep brings it back.
"""

import heapq
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate_worker.limits import RoleTerms, ScheduleLimits
from headgate_worker.roles.interface import Task, Trigger

MERGE_OPERATION = "Rewrite"
GROUP_OPERATION = "Group"
"""Of several kinds of proposals in one version, merges perhaps among them."""
WRITE_OPERATIONS = frozenset({"Append", "Overwrite", "Delete", "Restore", GROUP_OPERATION})
"""As commit events name what changes data. A merge is none of them, or its own outputs would call for the next."""
SETTINGS_OPERATION = "Alter"
_REMOVING = frozenset({"Overwrite", "Delete", MERGE_OPERATION})
"""Operations that show in an event by the files that they remove."""


def may_be_among(operation: str, wanted: frozenset[str], removed_files: int) -> bool:
    """Whether a version may hold one of the wanted operations. The event of a group names only its effect on files."""
    if operation in wanted or not wanted:
        return operation in wanted
    return operation == GROUP_OPERATION and (removed_files > 0 or not wanted <= _REMOVING)


@dataclass(slots=True)
class CommitCounts:
    """The effects of the commits since the last look began."""

    commits: int = 0
    writes: int = 0
    added_files: int = 0
    merges: int = 0

    def count(self, operation: str, added_files: int, removed_files: int) -> None:
        self.commits += 1
        if operation in WRITE_OPERATIONS:
            self.writes += 1
            self.added_files += added_files
        # The event doesn't say whether a group holds a merge. An unnecessary look does no harm.
        if operation == MERGE_OPERATION or (operation == GROUP_OPERATION and removed_files):
            self.merges += 1

    def crosses(self, trigger: Trigger | None) -> bool:
        if trigger is None:
            return False
        return (
            (trigger.added_files is not None and self.added_files >= trigger.added_files)
            or (trigger.writes is not None and self.writes >= trigger.writes)
            or (trigger.after_merge and self.merges > 0)
        )


@dataclass(frozen=True, slots=True)
class PlanTable:
    """Decision: let the role plan for the table."""

    table: str
    role: str


@dataclass(frozen=True, slots=True)
class RunTask:
    """Decision: let the role run a planned task."""

    table: str
    role: str
    task: Task


Decision = PlanTable | RunTask

_Key = tuple[str, str]

_SPARE_ENTRIES = 100
"""Of the queue: void ones, of tables that were forgotten, are taken out when there are more."""


@dataclass(slots=True)
class _Desk:
    terms: RoleTerms
    tally: CommitCounts = field(default_factory=CommitCounts)
    trigger: Trigger | None = None
    """What the role has said would make the next look urgent."""
    is_due: bool = False
    """For a look."""
    is_urgent: bool = False
    """For a look that doesn't wait for the cooldown."""
    not_before_ms: int = 0
    rested_from_ms: int = 0
    """When the cooldown began."""
    failures: int = 0
    """In a row."""
    losses: int = 0
    """Looks in a row of whose tasks one was lost."""
    has_lost: bool = False
    """Whether one of the last look's was."""
    tasks: deque[Task] = field(default_factory=deque)
    turn: int = 0
    """Of its entry in the queue that counts; 0 where it has none."""
    ready_ms: int = 0
    """Of that entry."""


class Schedule:
    """`decide` begins work. The caller must answer each decision by `planned`, `finished`, `lost` or `failed`."""

    def __init__(self, roles: Collection[str], limits: ScheduleLimits, terms: Mapping[str, RoleTerms]) -> None:
        self._roles = {role: terms.get(role, RoleTerms()) for role in roles}
        self._limits = limits
        self._tables: OrderedDict[str, dict[str, _Desk]] = OrderedDict()
        """The one that was quiet longest first."""
        self._running: dict[_Key, int] = {}
        """What is under way, with its weight in bytes."""
        self._queue: list[tuple[int, int, _Key]] = []
        """Heap of when, turn and desk; entries whose turn is no longer the desk's are void."""
        self._turns = 0
        self._lag = 0

    # ---- what is known

    @property
    def tables(self) -> Collection[str]:
        return self._tables.keys()

    @property
    def running(self) -> Collection[_Key]:
        """Table and role of all work under way."""
        return self._running.keys()

    @property
    def running_bytes(self) -> int:
        return sum(self._running.values())

    @property
    def is_yielding(self) -> bool:
        """Whether work waits because ingest goes first for now."""
        return self._lag > self._limits.lag_proposals

    def ready_at_ms(self) -> int | None:
        """The time at which the next desk could begin if there were room; None if none is due."""
        self._drop_void()
        return self._queue[0][0] if self._queue else None

    # ---- facts

    def saw_commit(
        self, table: str, operation: str, now_ms: int, *, added_files: int = 0, removed_files: int = 0
    ) -> None:
        """The table has a new version with this operation, which added and removed so many files."""
        for role, desk in self._desks(table).items():
            desk.tally.count(operation, added_files, removed_files)
            # No look has seen the effect of new settings on the table yet.
            if operation == SETTINGS_OPERATION or desk.tally.crosses(desk.trigger):
                self._hurry(table, role, now_ms)
            named = may_be_among(operation, desk.terms.at_once_after, removed_files)
            enough = named or desk.tally.commits >= desk.terms.after_commits
            if desk.is_due or not enough:
                continue
            desk.is_due = True
            desk.not_before_ms = max(desk.not_before_ms, now_ms + desk.terms.delay_ms)
            self._line_up(table, role, now_ms)
        if table in self._tables:
            self._tables.move_to_end(table)

    def sweep(self, tables: Iterable[str], now_ms: int) -> None:
        """These tables, and all known ones, get a look without an event."""
        for table in tables:
            self._desks(table)
        for table, desks in self._tables.items():
            for role, desk in desks.items():
                desk.is_due = True
                self._line_up(table, role, now_ms)

    def forget(self, tables: Iterable[str]) -> None:
        """Begin nothing more at these tables. Work under way continues, and must still be answered."""
        for table in tables:
            self._tables.pop(table, None)

    def saw_lag(self, proposals: int) -> None:
        """The committer's lag, in the partition where it is furthest behind."""
        self._lag = proposals

    def planned(
        self, table: str, role: str, tasks: Sequence[Task], now_ms: int, trigger: Trigger | None = None
    ) -> None:
        """A look has ended. `trigger` says which commits since its begin make the next look urgent."""
        desk = self._ended(table, role)
        if desk is None:
            return
        desk.tasks.extend(tasks[: self._limits.planned_tasks])
        if len(tasks) > self._limits.planned_tasks:
            desk.is_due = True
        if not tasks:
            desk.failures = desk.losses = 0
        desk.trigger = trigger
        self._rest(desk, now_ms)
        if desk.tally.crosses(trigger):
            self._hurry(table, role, now_ms)
        self._line_up(table, role, now_ms)

    def finished(self, table: str, role: str, now_ms: int, *, more: bool = False) -> None:
        """A task is done. With `more`, its role already knows of further work."""
        desk = self._ended(table, role)
        if desk is None:
            return
        desk.failures = 0
        if not desk.tasks and not desk.has_lost:
            desk.losses = 0
        self._rest(desk, now_ms)
        if more:
            desk.is_due, desk.not_before_ms = True, now_ms
        self._line_up(table, role, now_ms)

    def lost(self, table: str, role: str, now_ms: int) -> None:
        """A task lost against another writer, so its table is planned again.

        The first time this happens at once; after repeated losses it waits for a growing pause. Other tasks of the same
        look continue.
        """
        desk = self._ended(table, role)
        if desk is None:
            return
        if not desk.has_lost:
            desk.has_lost = True
            desk.losses += 1
        desk.is_due = True
        desk.not_before_ms = now_ms + (self._backoff_ms(desk.losses - 2) if desk.losses > 1 else 0)
        self._line_up(table, role, now_ms)

    def failed(self, table: str, role: str, now_ms: int) -> None:
        """A look or a task failed. Its table is planned again after a pause that grows with each failure."""
        desk = self._ended(table, role)
        if desk is None:
            return
        pause_ms = self._backoff_ms(desk.failures)
        desk.failures += 1
        desk.tasks.clear()
        desk.is_due = True
        desk.not_before_ms = now_ms + pause_ms
        self._line_up(table, role, now_ms)

    # ---- decisions

    def decide(self, now_ms: int) -> list[Decision]:
        """The work to begin now, within the limits."""
        decisions: list[Decision] = []
        while not self.is_yielding and len(self._running) < self._limits.parallel_tasks:
            self._drop_void()
            if not self._queue or self._queue[0][0] > now_ms:
                break
            table, role = self._queue[0][2]
            desk = self._tables[table][role]
            weight = desk.tasks[0].weight_bytes if desk.tasks else 0
            if weight and self.running_bytes and self.running_bytes + weight > self._limits.task_bytes:
                break  # Desks behind it wait, too; otherwise small tasks could keep a large one from ever beginning.
            heapq.heappop(self._queue)
            desk.turn = 0
            self._running[table, role] = weight
            if desk.tasks:
                decisions.append(RunTask(table, role, desk.tasks.popleft()))
            else:
                desk.is_due, desk.is_urgent, desk.tally = False, False, CommitCounts()
                desk.has_lost = False
                decisions.append(PlanTable(table, role))
        return decisions

    # ---- helpers

    def _desks(self, table: str) -> dict[str, _Desk]:
        """The table's desks. If there is no room for them, the table that was quiet longest is forgotten."""
        known = self._tables.get(table)
        if known is None:
            while len(self._tables) >= self._limits.tables:
                self._tables.popitem(last=False)
            known = self._tables[table] = {role: _Desk(terms) for role, terms in self._roles.items()}
        return known

    def _ended(self, table: str, role: str) -> _Desk | None:
        """The desk of work that has ended; None if its table was forgotten meanwhile."""
        del self._running[table, role]
        return self._tables.get(table, {}).get(role)

    def _backoff_ms(self, before: int) -> int:
        """The pause after this many losses or failures in a row."""
        return min(self._limits.longest_backoff_ms, self._limits.first_backoff_ms << min(before, 40))

    def _rest(self, desk: _Desk, now_ms: int) -> None:
        pause_ms = desk.terms.eager_cooldown_ms if desk.is_urgent else desk.terms.cooldown_ms
        desk.rested_from_ms = now_ms
        ready_ms = now_ms + min(pause_ms, desk.terms.cooldown_ms)
        desk.not_before_ms = max(ready_ms, desk.not_before_ms) if desk.has_lost else ready_ms

    def _hurry(self, table: str, role: str, now_ms: int) -> None:
        """Look again before the cooldown has passed. A pause after failures or losses still counts."""
        desk = self._tables[table][role]
        desk.is_due = desk.is_urgent = True
        if not desk.failures and desk.losses < 2:
            desk.not_before_ms = min(desk.not_before_ms, desk.rested_from_ms + desk.terms.eager_cooldown_ms)
        if desk.turn and desk.ready_ms > max(now_ms, desk.not_before_ms):
            desk.turn = 0  # a desk that waits for a later time moves forward; another keeps its place in the queue
        self._line_up(table, role, now_ms)

    def _line_up(self, table: str, role: str, now_ms: int) -> None:
        desk = self._tables[table][role]
        if desk.turn or (table, role) in self._running or not (desk.tasks or desk.is_due):
            return
        self._turns += 1
        desk.turn = self._turns
        # The cooldown is between looks: planned tasks continue, but after the desks that wait by now.
        ready_ms = now_ms if desk.tasks else max(now_ms, desk.not_before_ms)
        desk.ready_ms = ready_ms
        heapq.heappush(self._queue, (ready_ms, desk.turn, (table, role)))
        if len(self._queue) > 2 * len(self._roles) * len(self._tables) + _SPARE_ENTRIES:
            self._queue = [entry for entry in self._queue if self._counts(entry[1], entry[2])]
            heapq.heapify(self._queue)

    def _counts(self, turn: int, key: _Key) -> bool:
        desk = self._tables.get(key[0], {}).get(key[1])
        return desk is not None and desk.turn == turn

    def _drop_void(self) -> None:
        while self._queue and not self._counts(self._queue[0][1], self._queue[0][2]):
            heapq.heappop(self._queue)
