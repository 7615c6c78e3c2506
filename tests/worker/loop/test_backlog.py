"""How far a worker says that it is behind on events."""

from dataclasses import replace

import pytest

from headgate_bus.interface import Topic
from headgate_worker.limits import WorkerLimits
from headgate_worker.loop.commit_feed import Backlog, CommitFeed
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.working import NotingRole, a_worker, announce, quick_terms, rounds

TABLES = [f"memory://t{number}" for number in range(8)]
SLOW = WorkerLimits(terms=quick_terms("note"), poll_records=2, backlog_check_ms=1)
"""Reads two events at a time, and looks at the rest after each."""


@pytest.fixture
def ambient() -> FakeAmbient:
    return FakeAmbient()


@pytest.fixture
def bus(ambient: FakeAmbient) -> MemoryBus:
    made = MemoryBus(ambient, {Topic.EVENTS: 2})
    made.prepare()
    return made


def test_a_worker_that_has_read_everything_is_not_behind(bus: MemoryBus, ambient: FakeAmbient) -> None:
    worker = a_worker(bus, ambient, NotingRole(plans=False), limits=SLOW)
    announce(bus, TABLES[0])
    rounds(worker)
    ambient.advance(seconds=1)
    worker.step(0.0)
    assert worker.backlog == Backlog(0, 0, ambient.time_ms)


def test_unread_events_are_counted_and_the_oldest_tells_the_age(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """Break: `_read_until_ms` isn't kept, or the settled offset is taken for the position."""
    worker = a_worker(bus, ambient, NotingRole(plans=False), limits=SLOW)
    rounds(worker)
    for _ in range(7):
        announce(bus, TABLES[0])
        ambient.advance(seconds=10)
    worker.step(0.0)
    # Two of the seven are read; the second, which came 60 seconds ago, is the last of which it is known when it came.
    assert worker.backlog == Backlog(5, 60_000, ambient.time_ms)


def test_an_event_that_comes_after_a_quiet_day_is_not_a_day_old(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """Break: having read everything isn't remembered."""
    worker = a_worker(bus, ambient, NotingRole(plans=False), limits=SLOW)
    announce(bus, TABLES[0])
    rounds(worker)
    ambient.advance(hours=24)
    rounds(worker)
    for _ in range(3):
        announce(bus, TABLES[0])
    ambient.advance(seconds=5)
    worker.step(0.0)
    assert (worker.backlog.events, worker.backlog.age_ms) == (1, 5_000)


def test_events_of_other_workers_partitions_do_not_count(bus: MemoryBus, ambient: FakeAmbient) -> None:
    workers = [a_worker(bus.again(), ambient, NotingRole(plans=False), limits=SLOW) for _ in range(2)]
    for worker in workers * 2:
        worker.step(0.0)
    for table in TABLES:
        announce(bus, table)
    ambient.advance(seconds=1)
    for worker in workers:
        worker.step(0.0)
    assert sum(worker.backlog.events for worker in workers) == len(TABLES) - 2 * SLOW.poll_records


def test_a_partition_that_comes_back_begins_where_it_was_settled(bus: MemoryBus, ambient: FakeAmbient) -> None:
    """Break: remember after `Fenced` what was read until then. It isn't read again by the time it is to be settled."""
    following = CommitFeed(bus, "workers", ambient, WorkerLimits(hold_ms=100_000, poll_records=1))
    table = TABLES[0]
    for _ in range(2):
        announce(bus, table)
        assert read_something(following)
        ambient.advance(seconds=50)
    ambient.advance(seconds=1)
    bus.expire()
    following.settle()
    assert not following.owns(table)
    assert read_something(following)
    assert following.owns(table)
    ambient.advance(seconds=50)
    following.settle()
    ambient.advance(seconds=51)
    following.settle()
    following.close()
    [next_event] = bus.again().follow("workers").poll(0.0)
    assert next_event.offset == 1


def read_something(following: CommitFeed) -> bool:
    return any(following.poll(0.0).commits for _ in range(3))


def test_a_bus_that_does_not_answer_leaves_the_last_look_as_it_was(bus: MemoryBus, ambient: FakeAmbient) -> None:
    worker = a_worker(bus, ambient, NotingRole(plans=False), limits=SLOW)
    rounds(worker)
    before = worker.backlog
    bus.cluster.available = False
    ambient.advance(seconds=60)
    worker.step(0.0)
    assert worker.backlog == before


def test_a_bus_is_not_asked_more_often_than_allowed(bus: MemoryBus, ambient: FakeAmbient) -> None:
    worker = a_worker(bus, ambient, NotingRole(plans=False), limits=replace(SLOW, backlog_check_ms=30_000))
    rounds(worker)
    before = worker.backlog
    ambient.advance(seconds=29)
    worker.step(0.0)
    assert worker.backlog == before
    ambient.advance(seconds=2)
    worker.step(0.0)
    assert worker.backlog.looked_at_ms == ambient.time_ms


def test_every_sweep_says_how_far_behind_it_is(
    bus: MemoryBus, ambient: FakeAmbient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "headgate.worker")
    worker = a_worker(bus, ambient, NotingRole(plans=False), limits=SLOW)
    rounds(worker)
    for _ in range(5):
        announce(bus, TABLES[0])
    ambient.advance(hours=1)
    caplog.clear()
    worker.step(0.0)
    (line,) = [record.getMessage() for record in caplog.records if "tables_swept" in record.getMessage()]
    assert "unread_events=3" in line
    assert "oldest_unread_s=3600" in line
