"""What moves under a consumer: partitions that its group gives and takes while nobody polls, and logs that are cut.

Nothing of it is overlooked, no position is believed that may be of before, and nobody dies of it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.errors import LogTruncationError

from headgate_bus.errors import BusUnavailable, Fenced, OffsetGone
from headgate_bus.interface import Message, Record, Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.bus import KafkaBus
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.group import seat as kafka_seat
from headgate_bus.kafka.group.follower import KafkaFollower
from headgate_bus.kafka.group.seat import KafkaSeat
from headgate_bus.kafka.records.publisher import start_opening
from support.processes.waiting import wait_until

NewBus = Callable[..., KafkaBus]
PATIENCE_S = 60.0


def moved(member: KafkaFollower | KafkaSeat, partition: int) -> None:
    """The group took the partition away and gave it again, as the thread that joins is told."""
    comings = (member._member if isinstance(member, KafkaSeat) else member._membership).comings
    place = TopicPartition(member._name, partition)
    comings.on_partitions_lost([place])
    comings.on_partitions_assigned([place])


def with_events(new_kafka_bus: NewBus, *bodies: bytes) -> KafkaBus:
    """In partition 0."""
    bus = new_kafka_bus()
    bus.prepare()
    key = next(key for key in map(str, range(100)) if bus.partition_of(key, Topic.EVENTS) == 0)
    bus.append(Topic.EVENTS, [Message(key, {}, body) for body in bodies])
    return bus


@pytest.fixture
def follower(new_kafka_bus: NewBus) -> KafkaFollower:
    """Holds everything, and has read the one event there is."""
    bus = with_events(new_kafka_bus, b"a")
    follower = bus.follow("workers")
    wait_until(lambda: bool(follower.poll(0.1)), "the event is read")
    return follower


def test_of_a_partition_that_was_given_anew_nothing_is_settled_before_the_next_poll(follower: KafkaFollower) -> None:
    """Break: it is settled by a position that is only where the consumer waits, which ends the worker with an error."""
    moved(follower, 0)
    with pytest.raises(BusUnavailable, match=r"must wait until group workers\.events has rebalanced; poll first"):
        follower.settle(0, 1)
    wait_until(lambda: bool(follower.poll(0.1)), "the event comes again")
    follower.settle(0, 1)


def test_of_a_partition_that_came_back_a_worker_sees_that_it_was_gone(follower: KafkaFollower) -> None:
    """Break: begin it in the poll that lets go of it. Its holder goes on to settle what it has not read since."""
    moved(follower, 0)
    assert follower.poll(PATIENCE_S) == []
    assert 0 not in follower.held()
    wait_until(lambda: bool(follower.poll(0.1)), "the event comes again")
    assert 0 in follower.held()


def test_a_worker_that_has_to_join_anew_sees_that_it_holds_nothing(follower: KafkaFollower) -> None:
    follower._rejoin = True
    assert follower.poll(PATIENCE_S) == []
    assert follower.held() == frozenset()
    wait_until(lambda: bool(follower.poll(0.1)), "the event comes again")


def test_nobody_knows_where_one_stands_in_a_partition_that_was_given_anew(follower: KafkaFollower) -> None:
    assert follower.position(0) == 1
    moved(follower, 0)
    assert follower.position(0) is None


def seated(new_kafka_bus: NewBus, partitions: int) -> tuple[KafkaBus, KafkaSeat]:
    """In a place that holds everything."""
    bus = new_kafka_bus(partitions=partitions)
    bus.prepare()
    seat = bus.seat("committers")
    wait_until(lambda: bool(seat.poll(0.1)) or len(seat.held()) == partitions, "the seat holds its partitions")
    return bus, seat


def test_what_a_seat_lets_go_of_to_join_anew_is_missing_before_it_comes_back(new_kafka_bus: NewBus) -> None:
    """Break: join, and hold it again, within one poll. Its committer goes on with what it has, and nothing is delivered any more."""
    bus, seat = seated(new_kafka_bus, partitions=2)
    calls = KafkaCalls()
    opening = start_opening(parse_kafka_address(bus.address), calls, "committers", 0)
    other = calls.result(opening, PATIENCE_S, "opening a second publisher")
    with pytest.raises(Fenced):
        seat.publish(0, [Message("table", {}, b"a")], [], None)
    assert seat.held() == {1}
    assert seat.poll(PATIENCE_S) == []
    assert seat.held() == frozenset()
    wait_until(lambda: bool(seat.poll(0.1)) or seat.held() == {0, 1}, "the seat holds its partitions again")
    other.close()


def test_a_partition_that_was_given_anew_is_missing_however_fast_its_publisher_opens(
    new_kafka_bus: NewBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: look for publishers that are open in the same poll that lets go of the partition."""
    _, seat = seated(new_kafka_bus, partitions=1)

    def open_at_once(*asked: Any) -> Any:
        opening = start_opening(*asked)
        opening.result(PATIENCE_S)
        return opening

    monkeypatch.setattr(kafka_seat, "start_opening", open_at_once)
    moved(seat, 0)
    seat.poll(PATIENCE_S)
    assert seat.held() == frozenset()
    seat.poll(PATIENCE_S)
    assert seat.held() == {0}


def test_a_partition_that_went_since_the_last_poll_can_be_sought_and_paused_without_harm(new_kafka_bus: NewBus) -> None:
    """Break: a committer that is told to stop at this moment ends with the client's error, and settles nothing."""
    _, seat = seated(new_kafka_bus, partitions=1)
    seat._consumer._subscription.assign_from_subscribed([])
    seat.pause(0)
    seat.resume(0)
    seat.seek(0, 0)
    assert seat.held() == {0}


def test_who_follows_a_log_that_was_cut_begins_it_again_and_says_so(follower: KafkaFollower) -> None:
    """Break: the offset is one that the log has, so nothing seems to be gone, and every poll fails alike."""
    place = TopicPartition(follower._name, 0)
    follower._consumer._fetcher._cached_log_truncation = LogTruncationError({place: None})
    wait_until(lambda: bool(follower.poll(0.1)), "the event comes again")
    assert follower.missed() == {0}


def _told_of_a_cut(seat: KafkaSeat) -> None:
    """As the client is when a broker with a shorter log leads: it says so once, and then reads on as if nothing were."""
    place = TopicPartition(seat._name, 0)
    seat._consumer._fetcher._cached_log_truncation = LogTruncationError({place: None})


def _read_up_to(seat: KafkaSeat, bus: KafkaBus, *bodies: bytes) -> None:
    bus.append(Topic.PROPOSALS, [Message("table", {}, body) for body in bodies])
    seat.seek(0, 0)
    assert [record.body for record in _polled(seat, len(bodies))] == [*bodies]


def _polled(seat: KafkaSeat, wanted: int) -> list[Record]:
    records: list[Record] = []

    def all_came() -> bool:
        records.extend(seat.poll(0.1))
        return len(records) >= wanted

    wait_until(all_came, "the proposals are read")
    return records


def test_a_seat_whose_log_was_cut_says_so_though_the_log_is_as_long_as_before(new_kafka_bus: NewBus) -> None:
    """Break: take it for a bus that doesn't answer. The next poll reads on behind what has taken the place of the records."""
    bus, seat = seated(new_kafka_bus, partitions=1)
    _read_up_to(seat, bus, b"a", b"b")
    _told_of_a_cut(seat)
    with pytest.raises(OffsetGone, match="lost its end or was made anew after it was read up to offset 2") as gone:
        seat.poll(PATIENCE_S)
    assert (gone.value.partition, gone.value.offset, gone.value.next_offset) == (0, 2, 2)


def test_a_seat_that_hears_of_a_cut_while_it_settles_says_so_at_its_next_poll(new_kafka_bus: NewBus) -> None:
    """Break: asked for its position, the client tells of the cut, and nobody else hears of it."""
    bus, seat = seated(new_kafka_bus, partitions=1)
    _read_up_to(seat, bus, b"a", b"b")
    _told_of_a_cut(seat)
    assert seat._places.position(0) is None
    with pytest.raises(OffsetGone, match="lost its end"):
        seat.poll(PATIENCE_S)


def test_what_a_seat_was_told_of_a_log_is_void_once_it_is_put_elsewhere(new_kafka_bus: NewBus) -> None:
    bus, seat = seated(new_kafka_bus, partitions=1)
    _read_up_to(seat, bus, b"a", b"b")
    _told_of_a_cut(seat)
    assert seat._places.position(0) is None
    seat.seek(0, 1)
    assert [record.body for record in _polled(seat, 1)] == [b"b"]


def test_a_worker_that_hears_of_a_cut_while_it_settles_begins_the_log_again(follower: KafkaFollower) -> None:
    place = TopicPartition(follower._name, 0)
    follower._consumer._fetcher._cached_log_truncation = LogTruncationError({place: None})
    assert follower.position(0) is None
    wait_until(lambda: bool(follower.poll(0.1)), "the event comes again")
    assert follower.missed() == {0}


def test_records_tell_in_whose_term_they_were_appended(new_kafka_bus: NewBus) -> None:
    bus, seat = seated(new_kafka_bus, partitions=1)
    bus.append(Topic.PROPOSALS, [Message("table", {}, b"a")])
    seat.seek(0, 0)
    [found] = _polled(seat, 1)
    assert found.leader_epoch is not None
    assert found.leader_epoch >= 0


def test_a_reader_that_doubts_where_it_stands_says_so_and_loses_nothing(
    new_kafka_bus: NewBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: only what `poll` raises is caught; a producer's thread dies of it, and no receipt is read any more."""
    reader = with_events(new_kafka_bus, b"a", b"b").reader(Topic.EVENTS, {0: 0})
    consumer: Any = reader._consumer
    poll, position = consumer.poll, consumer.position
    found: list[object] = []
    doubts = [LogTruncationError({TopicPartition("events", 0): None})]

    def noted(**asked: Any) -> Any:
        given = poll(**asked)
        found.extend(given)
        return given

    def doubted(place: TopicPartition, **asked: Any) -> Any:
        if found and doubts:
            raise doubts.pop()
        return position(place, **asked)

    monkeypatch.setattr(consumer, "poll", noted)
    monkeypatch.setattr(consumer, "position", doubted)
    with pytest.raises(OffsetGone, match="lost its end or was made anew"):
        wait_until(lambda: bool(reader.read(0.1)), "the events are read")
    assert reader.offsets() == {0: 0}
    records: list[Record] = []

    def both() -> bool:
        records.extend(reader.read(0.1))
        return len(records) >= 2

    wait_until(both, "the events are read")
    assert [record.body for record in records] == [b"a", b"b"]
