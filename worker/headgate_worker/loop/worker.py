"""The worker: it follows events, lets the schedule decide, and runs looks and tasks on executors. It starts no threads.

`step` is one round. `run` repeats it until it is asked to stop, then waits a little for work under way and leaves. A
task may be given up at any point: its writes count only after the committer has accepted them, and cleaning removes the
rest.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import assert_never

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Bus, Topic
from headgate_schemas.logs import describe_error, get_logger
from headgate_schemas.metrics import ROLE, WORK_BYTES, WORK_SECONDS
from headgate_table.errors import TableNotFound
from headgate_worker.context import WorkerContext
from headgate_worker.loop.commit_feed import Backlog, CommitFeed
from headgate_worker.loop.schedule import Decision, PlanTable, RunTask, Schedule
from headgate_worker.loop.status import WorkerStanding
from headgate_worker.roles.interface import Abandoned, Outlook, Report, Role
from headgate_worker.tables import WorkerTables

DEFAULT_GROUP = "headgate-worker"
COMMITTER_GROUP = "headgate-committer"
"""Whose progress tells how far behind the committer is, unless it was given another group."""
_IDLE_S = 0.5
_WORKING_S = 0.05
"""While work is under way the events are looked at this often, since the work can't interrupt the look."""

_log = get_logger("headgate.worker")


class Worker:
    """The maintenance of one process. Any number of workers share the tables of a bus."""

    def __init__(
        self,
        bus: Bus,
        tables: WorkerTables,
        roles: Sequence[Role],
        context: WorkerContext,
        *,
        group: str = DEFAULT_GROUP,
        committer_group: str = COMMITTER_GROUP,
        watched: Sequence[str] = (),
    ) -> None:
        """`watched` tables are swept even before an event has named them; this worker ignores those that belong to
        others.
        """
        self._bus = bus
        self._tables = tables
        self._identity, self._executor = context.identity, context.executor
        self._ambient, self._limits, self._measures = context.ambient, context.limits, context.measures
        self._roles = {role.name: role for role in roles}
        self._committer_group = committer_group
        self._watched = tuple(uri for uri in dict.fromkeys(watched) if tables.serves(uri))
        self._schedule = Schedule(self._roles.keys(), self._limits.schedule, self._limits.terms)
        self._following = CommitFeed(bus, group, self._ambient, self._limits)
        self._under_way: list[tuple[Decision, Future[Outlook | Report]]] = []
        self._sweep_at_s = self._ambient.monotonic_s()
        self._lag_at_s = self._ambient.monotonic_s()
        self._backlog = Backlog()
        self._backlog_at_s = self._ambient.monotonic_s()
        self._is_yielding = False
        self._is_stopping = False
        self._round_s = self._ambient.monotonic_s()
        self._standing = WorkerStanding(self._identity, vacant_since_s=self._round_s)

    @property
    def identity(self) -> str:
        return self._identity

    @property
    def is_stopping(self) -> bool:
        """Whether the worker is stopping. Long tasks ask this, and give up by raising `Abandoned`. Any thread may call
        it.
        """
        return self._is_stopping

    @property
    def backlog(self) -> Backlog:
        """The worker's lag on events, as of a little while ago. Any thread may call it."""
        return self._backlog

    @property
    def round_s(self) -> float:
        """The end of the last round, by the monotonic clock. Any thread may call it."""
        return self._round_s

    @property
    def standing(self) -> WorkerStanding:
        """The status at the end of the last round. Any thread may call it."""
        return self._standing

    @property
    def tasks(self) -> list[RunTask]:
        """The tasks under way, without looks, which only read. Any thread may call it."""
        return [decision for decision, _ in tuple(self._under_way) if isinstance(decision, RunTask)]

    def step(self, timeout_s: float = _IDLE_S) -> bool:
        """One round: read events, collect ended work, begin due work. Returns whether anything was done."""
        seen = self._following.poll(self._patience_s(timeout_s))
        now_ms = self._ambient.now_ms()
        if seen.changed:
            self._schedule.forget([table for table in self._schedule.tables if not self._following.owns(table)])
        for event in seen.commits:
            if self._following.owns(event.table) and self._tables.serves(event.table):
                self._schedule.saw_commit(
                    event.table, event.operation, now_ms, added_files=event.added, removed_files=event.removed
                )
        busy = bool(seen.commits) or seen.changed
        # Without held partitions there is nothing to sweep. Missed events may concern any table, so all are swept.
        if seen.changed or seen.missed or self._ambient.monotonic_s() >= self._sweep_at_s:
            self._sweep(now_ms)
        self._look_at_backlog()
        busy |= self._collect()
        self._look_at_lag()
        decisions = self._schedule.decide(self._ambient.now_ms())
        for decision in decisions:
            self._begin(decision)
        busy |= bool(decisions) | self._collect()
        self._following.settle()
        self._note_standing()
        return busy

    def _note_standing(self) -> None:
        self._round_s = self._ambient.monotonic_s()
        held = len(self._following.held)
        vacant_since_s = self._standing.vacant_since_s
        if held:
            vacant_since_s = None
        elif vacant_since_s is None:
            vacant_since_s = self._round_s
        self._standing = WorkerStanding(
            self._identity,
            held,
            vacant_since_s,
            self._backlog,
            len(self._schedule.tables),
            len(self._under_way),
            self._schedule.is_yielding,
            self._following.unread_since_s,
            self._following.trouble,
            self._is_stopping,
        )

    def run(self, stopping: Callable[[], bool]) -> None:
        """Run rounds until `stopping`; then finish what can be finished in time, and leave."""
        _log.info("worker_started", worker=self._identity, bus=self._bus.address, roles=sorted(self._roles))
        while not stopping():
            self.step()
        self._drain()
        self.close()
        _log.info("worker_stopped", worker=self._identity, abandoned=len(self._under_way))

    def close(self) -> None:
        """Give up the tables at once, so that other workers can take them. Work under way ends by itself."""
        self._is_stopping = True
        self._following.close()

    def _drain(self) -> None:
        self._is_stopping = True
        # Others take over at once. If one of them begins work that is still under way here, the committer accepts one
        # result.
        self._following.close()
        until_s = self._ambient.monotonic_s() + self._limits.drain_ms / 1000
        for _, future in self._under_way:
            future.cancel()  # work that still waits for a thread needn't begin
        while self._under_way and self._ambient.monotonic_s() < until_s:
            self._note_standing()
            if not self._collect():
                self._ambient.sleep(_WORKING_S)

    def _patience_s(self, timeout_s: float) -> float:
        if self._under_way:
            return min(timeout_s, _WORKING_S)
        ready_at_ms = self._schedule.ready_at_ms()
        until_sweep_s = max(0.0, self._sweep_at_s - self._ambient.monotonic_s())
        if ready_at_ms is None:
            return min(timeout_s, until_sweep_s)
        if self._schedule.is_yielding:
            return min(timeout_s, max(0.0, self._lag_at_s - self._ambient.monotonic_s()))
        return min(timeout_s, until_sweep_s, max(0.0, (ready_at_ms - self._ambient.now_ms()) / 1000))

    def _sweep(self, now_ms: int) -> None:
        self._sweep_at_s = self._ambient.monotonic_s() + self._limits.sweep_ms / 1000
        try:
            mine = [table for table in self._watched if self._following.owns(table)]
        except BusUnavailable as error:
            _log.warning("bus_unavailable", doing="sweeping", reason=str(error))
            return
        self._schedule.sweep(mine, now_ms)
        self._backlog_at_s = self._ambient.monotonic_s()
        self._look_at_backlog()
        _log.info(
            "tables_swept",
            worker=self._identity,
            tables=len(self._schedule.tables),
            unread_events=self._backlog.events,
            oldest_unread_s=self._backlog.age_ms // 1000,
        )

    def _look_at_backlog(self) -> None:
        if self._ambient.monotonic_s() < self._backlog_at_s:
            return
        self._backlog_at_s = self._ambient.monotonic_s() + self._limits.backlog_check_ms / 1000
        try:
            self._backlog = self._following.backlog()
        except BusUnavailable as error:
            _log.warning("bus_unavailable", doing="asking how many events are unread", reason=str(error))

    # ---- the committer's lag

    def _look_at_lag(self) -> None:
        """Look up the committer's lag if any work could begin. If the bus can't tell it, the committer counts as
        behind.
        """
        ready_at_ms = self._schedule.ready_at_ms()
        now_s = self._ambient.monotonic_s()
        if ready_at_ms is None or ready_at_ms > self._ambient.now_ms() or now_s < self._lag_at_s:
            return
        self._lag_at_s = now_s + self._limits.lag_check_ms / 1000
        try:
            lag = max(self._lag(number) for number in range(self._bus.partitions(Topic.PROPOSALS)))
        except BusUnavailable as error:
            _log.warning("bus_unavailable", doing="asking how far the committer is", reason=str(error))
            lag = self._limits.schedule.lag_proposals + 1
        self._schedule.saw_lag(lag)
        if self._schedule.is_yielding != self._is_yielding:
            self._is_yielding = self._schedule.is_yielding
            _log.info("worker_yields" if self._is_yielding else "worker_goes_on", undecided=lag)

    def _lag(self, partition: int) -> int:
        extent = self._bus.extent(Topic.PROPOSALS, partition)
        settled = self._bus.committed(self._committer_group, partition)
        return extent.next_offset - max(settled or 0, extent.first)

    # ---- work

    def _begin(self, decision: Decision) -> None:
        role = self._roles[decision.role]
        match decision:
            case PlanTable(table):
                work = self._executor.submit(self._measured, decision, lambda: self._look(role, table))
            case RunTask(table, task=task):
                _log.info("task_started", role=decision.role, table=table, bytes=task.weight_bytes)
                work = self._executor.submit(self._measured, decision, lambda: role.run(task))
            case _:
                assert_never(decision)
        self._under_way.append((decision, work))

    def _measured(self, decision: Decision, work: Callable[[], Outlook | Report]) -> Outlook | Report:
        """Measured on the thread that does the work: the work may wait for a thread, and its result may be collected
        late.
        """
        role = ROLE.nearest(decision.role)
        began_s = self._ambient.monotonic_s()
        outcome = "failed"
        try:
            result = work()
            is_in_vain = isinstance(result, Outlook) and not result.tasks
            outcome = "nothing" if is_in_vain else "done"
            if isinstance(decision, RunTask):
                self._measures.count(WORK_BYTES, role, by=decision.task.weight_bytes)
            return result
        except TableNotFound:
            outcome = "not_there"
            raise
        except Abandoned:
            outcome = "abandoned"
            raise
        finally:
            kind = "task" if isinstance(decision, RunTask) else "look"
            self._measures.observe(WORK_SECONDS, self._ambient.monotonic_s() - began_s, role, kind, outcome)

    def _look(self, role: Role, uri: str) -> Outlook | Report:
        return role.look(self._tables.open(uri), self._ambient.now_ms())

    def _collect(self) -> bool:
        """Report ended work to the schedule. Returns whether any has ended."""
        ended = [item for item in self._under_way if item[1].done()]
        self._under_way = [item for item in self._under_way if not item[1].done()]
        for decision, future in ended:
            self._finish(decision, future)
        return bool(ended)

    def _finish(self, decision: Decision, future: "Future[Outlook | Report]") -> None:
        table, role, now_ms = decision.table, decision.role, self._ambient.now_ms()
        if future.cancelled():
            self._schedule.failed(table, role, now_ms)
            return
        error = future.exception()
        if error is None:
            result = future.result()
            if isinstance(result, Report):
                self._tell(decision, result)
                if result.lost:
                    self._schedule.lost(table, role, now_ms)
                else:
                    self._schedule.finished(table, role, now_ms, more=result.more)
            else:
                self._schedule.planned(table, role, result.tasks, now_ms, result.trigger)
            return
        if not isinstance(error, Exception):
            raise error
        self._schedule.failed(table, role, now_ms)
        match error:
            case TableNotFound():
                # The table was dropped or doesn't exist yet: an event or the next sweep of watched tables brings it
                # back.
                self._schedule.forget([table])
                _log.info("table_not_there", role=role, table=table)
            case Abandoned():
                _log.info("task_abandoned", role=role, table=table, reason=str(error))
            case _:
                # Any other error pauses this role at this table for a while, and nothing else.
                reason = describe_error(error)
                _log.warning("task_failed", role=role, table=table, kind=type(error).__name__, reason=reason)

    def _tell(self, decision: Decision, report: Report) -> None:
        _log.info(
            "task_done",
            role=decision.role,
            table=decision.table,
            version=report.version,
            summary=report.summary,
            problems=list(report.problems),
        )
