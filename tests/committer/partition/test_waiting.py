"""What a committer does while it has to wait: for a store, for the bus, for an operator, or for the end."""

from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Mark, Message, Record, Topic
from headgate_committer.limits import CommitterLimits
from headgate_committer.partition.table_queue import TableQueue
from headgate_committer.proposals.intake import QueuedProposal
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Committed, Create
from support.committing.rig import NO_LINGER, TABLE, AtOnce, Rig
from support.stores.faulty import Fault, FaultyStore
from support.tables import COLUMNS, add_file

OTHER = "memory://other"


def test_a_store_that_fails_hides_no_loss_that_an_operator_has_to_look_at() -> None:
    rig = Rig(TABLE, OTHER, create=False)
    create = Create(schema_string_of(COLUMNS))
    rig.propose(create)
    rig.create_first()
    rig.append("lost")
    first_left = rig.bus.extent(Topic.PROPOSALS, 0).next_offset
    rig.propose(create, table=OTHER)
    rig.append("kept")
    rig.bus.cluster.truncate(Topic.PROPOSALS, 0, first_left)
    store = FaultyStore(rig.stores[TABLE])
    first = rig.committer("first", stores={TABLE: store})
    for _ in range(2):  # the first takes the partition
        first.step(0.0)
    store.plan = lambda step: Fault.REFUSED
    for _ in range(4):
        rig.ambient.advance(seconds=20)
        first.step(0.0)
    first.close()
    second = rig.committer("second")
    for _ in range(4):
        second.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.table(OTHER).version == 0
    assert rig.table().version == 0


def test_while_the_bus_takes_no_events_nobody_looks_at_it_without_a_pause() -> None:
    rig = Rig()
    rig.create_first()
    for number in range(8):
        rig.append(f"f{number}")
    committer = rig.committer("second", limits=replace(NO_LINGER, group_proposals=2, unpublished_events=2))

    def refused(*_: Any) -> None:
        raise BusUnavailable("no events are taken")

    committer._seat.publish = refused  # type: ignore[method-assign, assignment]  # as the seat of a bus in trouble
    for _ in range(3):
        committer.step(0.0)
    before_s = rig.ambient.monotonic_s()
    for _ in range(10):
        committer.step(0.5)
    assert rig.ambient.monotonic_s() - before_s > 1.0
    assert rig.table().version == 1


class _Never(Executor):
    """Has begun all that it was given, and ends nothing of it."""

    def __init__(self) -> None:
        self.is_waited_for = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        never = self

        class Begun(Future):  # type: ignore[type-arg]  # of whatever it was to return
            def result(self, timeout: float | None = None) -> Any:
                never.is_waited_for = True
                raise AssertionError("waited for what doesn't end")

        return Begun()


class _Changing(AtOnce):
    """Runs everything at once until it is told to leave it lying."""

    def __init__(self) -> None:
        self.later: Executor | None = None

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        return super().submit(fn, *args, **kwargs) if self.later is None else self.later.submit(fn, *args, **kwargs)


def test_a_committer_that_ends_leaves_alone_what_a_thread_still_works_on() -> None:
    rig = Rig(interval=1)
    work, states = _Changing(), _Never()
    committer = rig.committer(executor=work, background=states)
    rig.append("a")
    rig.settle(committer)
    work.later = _Never()
    rig.append("b")
    committer.step(0.0)
    committer.run(lambda: True)
    assert not states.is_waited_for


def test_while_the_bus_takes_no_events_no_more_rubbish_is_taken_in_than_there_is_room_for() -> None:
    rig = Rig()
    rig.create_first()
    for number in range(50):
        rig.bus.append(Topic.PROPOSALS, [Message("rubbish", {"ce_subject": f"bad-{number}"}, b"{")])
    good = rig.append("good")
    committer = rig.committer("second", limits=replace(NO_LINGER, poll_records=5, unpublished_events=10))
    publish = committer._seat.publish

    def refused(*_: Any) -> None:
        raise BusUnavailable("no events are taken")

    committer._seat.publish = refused  # type: ignore[method-assign, assignment]  # as the seat of a bus in trouble
    for _ in range(30):
        committer.step(0.0)
    (lane,) = committer._lanes.values()
    held = len(lane._announcements._events) + len(lane._announcements._letters)
    committer._seat.publish = publish  # type: ignore[method-assign]  # as it was
    for _ in range(40):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    assert held <= 30
    assert rig.receipts()[good] == Committed(1, good)
    assert len(rig.dead_letters()) == 50


def test_many_large_dead_letters_are_published_a_few_at_a_time() -> None:
    rig = Rig()
    rig.create_first()
    for _ in range(30):
        rig.bus.append(Topic.PROPOSALS, [Message("rubbish", {}, b"\xff" * 600_000)])
    committer = rig.committer("second")
    published: list[int] = []
    publish = committer._seat.publish

    def counted(partition: int, events: Any, letters: Any, next_offset: int | None, mark: Mark | None = None) -> None:
        published.append(sum(len(letter.body) for letter in letters))
        publish(partition, events, letters, next_offset, mark)

    committer._seat.publish = counted  # type: ignore[method-assign, assignment]  # as the seat of a bus in trouble
    rig.settle(committer)
    assert len(rig.dead_letters()) == 30
    assert max(published) <= 8 << 20


def _queue_of_100_ms(items: list[QueuedProposal], *, later: list[QueuedProposal]) -> TableQueue:
    """These were answered by a version that took 0.1 s; those came meanwhile, and wait."""
    queue = TableQueue("t", CommitterLimits())
    for item in items:
        queue.hold(item, 0.0)
    for item in later:
        queue.hold(item, 0.05)
    queue.began_s = 0.0
    queue.answered(items[-1].offset, 0.1)
    return queue


def _items(count: int) -> list[QueuedProposal]:
    rig = Rig()
    return [QueuedProposal(_record(number), rig.proposal(Append((add_file(f"f{number}"),)))) for number in range(count)]


def test_who_was_answered_together_is_waited_for_a_little() -> None:
    items = _items(4)
    queue = _queue_of_100_ms(items[:2], later=[])
    queue.hold(items[2], 0.11)
    assert not queue.is_ready(0.12, at_once=False)
    assert queue.is_ready(0.14, at_once=False)
    queue.hold(items[3], 0.121)
    assert queue.is_ready(0.121, at_once=False)


def test_two_halves_that_take_turns_come_together() -> None:
    items = _items(6)
    queue = _queue_of_100_ms(items[:2], later=items[2:4])
    assert not queue.is_ready(0.11, at_once=False)
    queue.hold(items[4], 0.115)
    assert not queue.is_ready(0.12, at_once=False)
    queue.hold(items[5], 0.125)
    assert queue.is_ready(0.125, at_once=False)


def test_nobody_is_waited_for_who_stays_away() -> None:
    items = _items(4)
    queue = _queue_of_100_ms(items[:3], later=items[3:])
    assert not queue.is_ready(0.119, at_once=False)
    assert queue.is_ready(0.121, at_once=False)


def test_however_many_come_one_by_one_the_first_waits_for_half_of_a_version_at_most() -> None:
    items = _items(200)
    queue = _queue_of_100_ms(items[:100], later=[])
    for number, item in enumerate(items[100:160]):
        queue.hold(item, 0.1 + 0.001 * number)
    assert not queue.is_ready(0.149, at_once=False)
    assert queue.is_ready(0.151, at_once=False)


def test_the_wait_begins_when_the_answers_are_out() -> None:
    items = _items(3)
    queue = _queue_of_100_ms(items[:2], later=items[2:])
    queue.told(0.15)
    assert not queue.is_ready(0.169, at_once=False)
    assert queue.is_ready(0.171, at_once=False)


def test_a_single_writer_waits_for_nobody() -> None:
    queue = TableQueue("t", CommitterLimits(linger_ms=25))
    item = QueuedProposal(_record(0), Rig().proposal(Append((add_file("a"),))))
    queue.hold(item, 5.0)
    assert queue.is_ready(5.0, at_once=False)


def _record(offset: int) -> Record:
    return Record(0, offset, 1, "t", b"")


def test_a_partition_that_can_not_be_taken_over_anew_delivers_nothing_to_nobody() -> None:
    rig = Rig()
    bus = rig.bus.again()
    committer = rig.committer(bus=bus)
    rig.settle(committer)
    delivered: list[Record] = []
    poll, extent = committer._seat.poll, bus.extent

    def counted(timeout_s: float, max_records: int = 1_000) -> Any:
        records = poll(timeout_s, max_records)
        delivered.extend(records)
        return records

    def refused(*_: Any) -> Any:
        raise BusUnavailable("nobody knows")

    committer._seat.poll = counted  # type: ignore[method-assign]  # a function in its place
    bus.extent = refused  # type: ignore[method-assign, assignment]  # as a bus in trouble
    rig.bus.cluster.recreate(Topic.PROPOSALS)
    for name in ("a", "b"):
        rig.append(name)
    rig.ambient.advance(seconds=20)
    committer.step(0.0)
    assert committer._lanes == {}
    delivered.clear()
    rig.append("c")
    for _ in range(3):
        committer.step(0.0)
    assert delivered == []
    bus.extent = extent  # type: ignore[method-assign]  # as it was
    rig.settle(committer)
    assert len(delivered) == 3
