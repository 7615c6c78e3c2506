"""The worker over a bus in memory: who looks after which table, when, and what a failing task may not do."""

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from typing import Any

import pytest

from headgate_bus.errors import Fenced
from headgate_bus.interface import Message, Record, Topic
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import StoreError, TableNotFound
from headgate_worker.limits import RoleTerms, ScheduleLimits, WorkerLimits
from headgate_worker.loop.worker import COMMITTER_GROUP
from headgate_worker.roles.interface import Abandoned, Report, Task
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.bus.memory_follower import MemoryFollower
from support.working import NotingRole, OpenedTables, a_worker, announce, quick_terms, rounds

TABLES = [f"memory://t{number}" for number in range(8)]
MANY = {Topic.EVENTS: 4}
QUICK = WorkerLimits(terms=quick_terms("note"))


class Later(Executor):
    """Begins nothing before the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Any, tuple[Any, ...]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.waiting.append((future, fn, args))
        return future

    def run_one(self) -> None:
        future, work, args = self.waiting.pop(0)
        future.set_result(work(*args))


@pytest.fixture
def ambient() -> FakeAmbient:
    return FakeAmbient()


@pytest.fixture
def bus(ambient: FakeAmbient) -> MemoryBus:
    made = MemoryBus(ambient, MANY)
    made.prepare()
    return made


def test_a_commit_leads_to_a_look_and_to_what_it_planned(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole()
    announce(bus, TABLES[0])
    rounds(a_worker(bus, ambient, role, limits=QUICK))
    assert (role.looked, role.ran) == ([TABLES[0]], [TABLES[0]])


def test_a_look_that_plans_nothing_runs_nothing(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole(plans=False)
    announce(bus, TABLES[0])
    rounds(a_worker(bus, ambient, role, limits=QUICK))
    assert (role.looked, role.ran) == ([TABLES[0]], [])


def test_a_table_outside_of_the_roots_is_left_alone(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role, tables = NotingRole(), OpenedTables(ambient=ambient)
    tables.unserved.add(TABLES[0])
    announce(bus, TABLES[0])
    announce(bus, TABLES[1])
    rounds(a_worker(bus, ambient, role, tables=tables, limits=QUICK))
    assert role.looked == [TABLES[1]]


@pytest.mark.parametrize("body", [b"", b"{", b'{"type":"of_later"}', b'{"type":"commit","format":99}'])
def test_an_event_that_nobody_understands_is_passed_over(bus: MemoryBus, ambient: FakeAmbient, body: bytes) -> None:
    role = NotingRole()
    bus.append(Topic.EVENTS, [Message(TABLES[0], {"ce_type": "headgate.commit.v1"}, body)])
    announce(bus, TABLES[0])
    rounds(a_worker(bus, ambient, role, limits=QUICK))
    assert role.looked == [TABLES[0]]


def an_event_of(table: str) -> Record:
    elsewhere = MemoryBus(FakeAmbient())
    elsewhere.prepare()
    announce(elsewhere, table)
    return elsewhere.cluster.partition(Topic.EVENTS, 0).records[0]


def test_an_event_under_another_tables_key_counts_for_nobody(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """It would be the maintenance of a table whose events are another worker's."""
    role = NotingRole()
    event = an_event_of(TABLES[0])
    bus.append(Topic.EVENTS, [Message(TABLES[1], event.headers, event.body)])
    rounds(a_worker(bus, ambient, role, limits=QUICK))
    assert role.looked == []


def test_an_event_in_another_partition_than_its_tables_counts_for_nobody(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """Another worker may hold the table's own partition."""
    role, other = NotingRole(), NotingRole()
    workers = [a_worker(bus.again(), ambient, each, limits=QUICK) for each in (role, other)]
    for worker in workers * 2:
        worker.step(0.0)
    event = an_event_of(TABLES[0])
    for number in range(bus.partitions(Topic.EVENTS)):
        if number != bus.partition_of(TABLES[0], Topic.EVENTS):
            log = bus.cluster.partition(Topic.EVENTS, number)
            log.append(number, Message(TABLES[0], event.headers, event.body), 0)
    for worker in workers:
        rounds(worker)
    assert len({id(each) for each in (role, other) if each.looked}) == 1


def test_a_worker_that_its_group_let_go_goes_on_when_it_has_joined_anew(
    bus: MemoryBus, ambient: FakeAmbient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: `Following.poll` lets `Fenced` through, which ends the process."""
    role = NotingRole(plans=False)
    worker = a_worker(bus, ambient, role, limits=QUICK)
    announce(bus, TABLES[0])
    refusals = [Fenced("this member is unknown to its group")]
    poll = MemoryFollower.poll

    def refused_once(follower: MemoryFollower, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        if refusals:
            raise refusals.pop()
        return poll(follower, timeout_s, max_records)

    monkeypatch.setattr(MemoryFollower, "poll", refused_once)
    worker.step(0.0)
    rounds(worker)
    assert (refusals, role.looked) == ([], [TABLES[0]])


# The sweep


def test_a_lost_event_only_delays(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole(plans=False)
    worker = a_worker(bus, ambient, role, limits=QUICK)
    announce(bus, TABLES[0])
    rounds(worker)
    ambient.advance(seconds=601)
    rounds(worker)
    assert role.looked == [TABLES[0]] * 2


def test_a_watched_table_is_looked_at_without_any_event(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole(plans=False)
    rounds(a_worker(bus, ambient, role, limits=QUICK, watched=[TABLES[3]]))
    assert role.looked == [TABLES[3]]


def test_after_missed_events_all_known_tables_are_looked_at(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole(plans=False)
    worker = a_worker(bus, ambient, role, limits=QUICK)
    announce(bus, TABLES[0])
    rounds(worker)
    partition = bus.partition_of(TABLES[0], Topic.EVENTS)
    for _ in range(3):
        bus.append(Topic.EVENTS, [Message(TABLES[0], {}, b"lost")])
    bus.cluster.truncate(Topic.EVENTS, partition, bus.extent(Topic.EVENTS, partition).next_offset)
    rounds(worker)
    assert role.looked == [TABLES[0]] * 2


def test_the_sweep_keeps_to_the_cooldown(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole(plans=False)
    limits = WorkerLimits(terms={"note": RoleTerms(cooldown_ms=3_600_000)})
    worker = a_worker(bus, ambient, role, limits=limits, watched=[TABLES[0]])
    rounds(worker)
    ambient.advance(seconds=601)
    rounds(worker)
    assert len(role.looked) == 1


# Several workers


def test_two_workers_share_the_tables(bus: MemoryBus, ambient: FakeAmbient) -> None:
    roles = [NotingRole(), NotingRole()]
    workers = [a_worker(bus.again(), ambient, role, limits=QUICK) for role in roles]
    for worker in workers * 2:
        worker.step(0.0)
    for table in TABLES:
        announce(bus, table)
    for worker in workers:
        rounds(worker)
    assert sorted(roles[0].ran + roles[1].ran) == TABLES
    assert roles[0].ran
    assert roles[1].ran


def test_watched_tables_are_swept_by_one_worker_each(bus: MemoryBus, ambient: FakeAmbient) -> None:
    roles = [NotingRole(plans=False), NotingRole(plans=False)]
    members = [bus.again(), bus.again()]
    workers = [
        a_worker(member, ambient, role, limits=QUICK, watched=TABLES)
        for member, role in zip(members, roles, strict=True)
    ]
    for worker in workers:
        rounds(worker)
    assert sorted(roles[0].looked + roles[1].looked) == TABLES


def test_a_worker_that_dies_is_replaced(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """It took the events, and died before it looked: its successor reads them again."""
    dead_bus, asleep = bus.again(), Later()
    dying = a_worker(dead_bus, ambient, NotingRole(), limits=QUICK, executor=asleep)
    for table in TABLES:
        announce(bus, table)
    dying.step(0.0)
    assert asleep.waiting
    dead_bus.expire()
    role = NotingRole()
    rounds(a_worker(bus.again(), ambient, role, limits=QUICK, name="two"), 30)
    assert sorted(role.ran) == TABLES


def test_a_successor_learns_of_tables_that_were_busy_lately(bus: MemoryBus, ambient: FakeAmbient) -> None:
    first = a_worker(bus.again(), ambient, NotingRole(), limits=QUICK)
    announce(bus, TABLES[0])
    rounds(first)
    ambient.advance(seconds=601)
    rounds(first)
    first.close()
    role = NotingRole()
    rounds(a_worker(bus.again(), ambient, role, limits=QUICK))
    assert role.looked == [TABLES[0]]


def test_events_that_came_long_ago_do_not_come_to_a_successor(bus: MemoryBus, ambient: FakeAmbient) -> None:
    first = a_worker(bus.again(), ambient, NotingRole(), limits=QUICK)
    announce(bus, TABLES[0])
    rounds(first)
    ambient.advance(seconds=1_300)
    rounds(first)
    first.close()
    role = NotingRole()
    rounds(a_worker(bus.again(), ambient, role, limits=QUICK))
    assert role.looked == []


def test_a_table_whose_events_go_elsewhere_is_no_longer_swept(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role, other = NotingRole(plans=False), NotingRole(plans=False)
    worker = a_worker(bus.again(), ambient, role, limits=QUICK)
    for table in TABLES:
        announce(bus, table)
    rounds(worker)
    newcomer = a_worker(bus.again(), ambient, other, limits=QUICK)
    for _ in range(3):
        newcomer.step(0.0)
        worker.step(0.0)
    before = len(role.looked)
    ambient.advance(seconds=601)
    rounds(worker)
    assert 0 < len(role.looked) - before < len(TABLES)


# Trouble


@pytest.mark.parametrize(
    "trouble", [StoreError("503"), InvalidInput("no"), RuntimeError("a defect"), Abandoned("later")]
)
@pytest.mark.parametrize("at", ["look", "run"])
def test_a_failing_task_never_ends_the_worker(
    bus: MemoryBus, ambient: FakeAmbient, trouble: Exception, at: str
) -> None:
    role = NotingRole()
    worker = a_worker(bus, ambient, role, limits=QUICK)
    announce(bus, TABLES[0])
    if at == "look":
        role.trouble = [trouble]
        rounds(worker)
    else:
        worker.step(0.0)
        role.trouble = [trouble]
        rounds(worker)
    announce(bus, TABLES[1])
    rounds(worker)
    assert role.ran[-1] == TABLES[1]


def test_a_failed_table_is_tried_again_after_its_pause(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole()
    role.trouble = [StoreError("503")]
    worker = a_worker(bus, ambient, role, limits=QUICK)
    announce(bus, TABLES[0])
    rounds(worker)
    assert role.ran == []
    ambient.advance(seconds=31)
    rounds(worker)
    assert role.ran == [TABLES[0]]


class Losing(NotingRole):
    """Others are always faster."""

    def run(self, task: Task) -> Report:
        super().run(task)
        return Report("others were faster", lost=True)


def test_who_always_loses_tries_again_at_once_and_then_after_a_pause(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """Break: the worker takes a loss for work that is left; then it merges without end."""
    role = Losing()
    announce(bus, TABLES[0])
    worker = a_worker(bus, ambient, role, limits=QUICK)
    rounds(worker)
    assert len(role.ran) == 2
    ambient.advance(seconds=31)
    rounds(worker)
    assert len(role.ran) == 3


def test_a_table_that_is_gone_is_forgotten(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole()
    role.trouble = [TableNotFound("gone")]
    worker = a_worker(bus, ambient, role, limits=QUICK)
    announce(bus, TABLES[0])
    rounds(worker)
    ambient.advance(hours=24)
    rounds(worker)
    assert role.looked == [TABLES[0]]


def test_what_is_no_error_but_an_end_ends_the_worker(bus: MemoryBus, ambient: FakeAmbient) -> None:
    class Ends(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
            future: Future[Any] = Future()
            future.set_exception(KeyboardInterrupt())
            return future

    announce(bus, TABLES[0])
    with pytest.raises(KeyboardInterrupt):
        rounds(a_worker(bus, ambient, NotingRole(), limits=QUICK, executor=Ends()))


def test_a_bus_that_does_not_answer_is_waited_for(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole()
    worker = a_worker(bus, ambient, role, limits=QUICK)
    bus.cluster.available = False
    worker.step(0.0)
    bus.cluster.available = True
    announce(bus, TABLES[0])
    rounds(worker)
    assert role.ran == [TABLES[0]]


# Yielding


def behind(bus: MemoryBus, proposals: int) -> None:
    bus.append(Topic.PROPOSALS, [Message(TABLES[0], {}, b"x") for _ in range(proposals)])


def test_nothing_is_begun_while_the_committer_is_behind(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole()
    limits = WorkerLimits(schedule=ScheduleLimits(lag_proposals=10), terms=quick_terms("note"))
    worker = a_worker(bus, ambient, role, limits=limits)
    behind(bus, 11)
    announce(bus, TABLES[0])
    rounds(worker)
    assert role.looked == []


def test_it_goes_on_when_the_committer_has_caught_up(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole()
    limits = WorkerLimits(schedule=ScheduleLimits(lag_proposals=10), terms=quick_terms("note"))
    worker = a_worker(bus, ambient, role, limits=limits)
    behind(bus, 11)
    announce(bus, TABLES[0])
    rounds(worker)
    seat = bus.seat(COMMITTER_GROUP)
    seat.poll(0.0)
    seat.publish(0, [], [], 5)
    ambient.advance(seconds=3)
    rounds(worker)
    assert role.ran == [TABLES[0]]


def test_it_tells_of_the_tasks_under_way_and_not_of_looks(bus: MemoryBus, ambient: FakeAmbient) -> None:
    later = Later()
    worker = a_worker(bus, ambient, NotingRole(), limits=QUICK, executor=later)
    announce(bus, TABLES[0])
    worker.step(0.0)
    assert worker.tasks == []
    later.run_one()
    worker.step(0.0)
    assert [(task.table, task.role) for task in worker.tasks] == [(TABLES[0], NotingRole().name)]
    later.run_one()
    worker.step(0.0)
    assert worker.tasks == []


# Leaving


def test_a_stopping_worker_ends_what_is_under_way(bus: MemoryBus, ambient: FakeAmbient) -> None:
    later = Later()
    role = NotingRole(plans=False)
    worker = a_worker(bus, ambient, role, limits=QUICK, executor=later)
    announce(bus, TABLES[0])
    worker.step(0.0)
    later.waiting[0][0].set_running_or_notify_cancel()
    later.run_one()
    worker.run(lambda: True)
    assert role.looked == [TABLES[0]]


def test_a_stopping_worker_waits_no_longer_than_it_was_told(bus: MemoryBus, ambient: FakeAmbient) -> None:
    later = Later()
    worker = a_worker(bus, ambient, NotingRole(), limits=QUICK, executor=later)
    announce(bus, TABLES[0])
    worker.step(0.0)
    later.waiting[0][0].set_running_or_notify_cancel()
    begun_s = ambient.monotonic_s()
    worker.run(lambda: True)
    assert 20 <= ambient.monotonic_s() - begun_s < 22


def test_a_stopping_worker_begins_nothing_more(bus: MemoryBus, ambient: FakeAmbient) -> None:
    later = Later()
    worker = a_worker(bus, ambient, NotingRole(), limits=QUICK, executor=later)
    announce(bus, TABLES[0])
    worker.step(0.0)
    worker.run(lambda: True)
    assert later.waiting[0][0].cancelled()
    assert worker.is_stopping


def test_a_stopping_worker_gives_its_tables_to_others_before_it_has_ended(bus: MemoryBus, ambient: FakeAmbient) -> None:
    worker = a_worker(bus.again(), ambient, NotingRole(), limits=QUICK)
    rounds(worker)
    worker.run(lambda: True)
    role = NotingRole()
    announce(bus, TABLES[0])
    rounds(a_worker(bus.again(), ambient, role, limits=QUICK))
    assert role.ran == [TABLES[0]]
