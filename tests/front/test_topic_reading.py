"""Reading a topic for people: where it begins, and that it ends although the last offsets hold no records."""

import pytest

from headgate.topic_reading import read_topic, starting_offsets
from headgate_bus.interface import Message, Topic
from headgate_schemas.errors import InvalidInput
from support.ambient import FakeAmbient
from support.bus import MemoryBus


def a_bus(partitions: int = 1) -> MemoryBus:
    bus = MemoryBus(FakeAmbient(), partitions)
    bus.prepare()
    return bus


def publish(bus: MemoryBus, *bodies: bytes) -> None:
    """As a committer does, which leaves an offset without a record behind."""
    seat = bus.seat("a group")
    seat.poll(0.0)
    seat.publish(0, [Message("t", {}, body) for body in bodies], [], None)
    seat.close()


def test_everything_that_is_there_is_read_and_no_more() -> None:
    bus = a_bus()
    publish(bus, b"1", b"2")
    publish(bus, b"3")
    records = read_topic(bus, Topic.EVENTS, starting_offsets(bus, Topic.EVENTS, "first"))
    first = next(records)
    publish(bus, b"4")
    assert [first.body, *(record.body for record in records)] == [b"1", b"2", b"3"]


def test_several_partitions_are_read_in_the_order_of_their_times() -> None:
    bus = a_bus(3)
    for number in range(12):
        bus.append(Topic.EVENTS, [Message(f"table {number}", {}, str(number).encode())])
        bus.cluster.ambient.sleep(1)
    records = list(read_topic(bus, Topic.EVENTS, starting_offsets(bus, Topic.EVENTS, "first")))
    assert len({record.partition for record in records}) == 3
    assert [int(record.body) for record in records] == list(range(12))


def test_following_begins_with_what_is_there_in_the_order_of_its_times() -> None:
    bus = a_bus(3)
    for number in range(6):
        bus.append(Topic.EVENTS, [Message(f"table {number}", {}, str(number).encode())])
        bus.cluster.ambient.sleep(1)
    records = read_topic(bus, Topic.EVENTS, starting_offsets(bus, Topic.EVENTS, "first"), follow=True)
    assert [int(next(records).body) for _ in range(6)] == list(range(6))
    bus.append(Topic.EVENTS, [Message("table 0", {}, b"new")])
    assert next(records).body == b"new"


def test_following_goes_on_with_what_comes() -> None:
    bus = a_bus()
    publish(bus, b"1")
    records = read_topic(bus, Topic.EVENTS, starting_offsets(bus, Topic.EVENTS, "next"), follow=True)
    publish(bus, b"2")
    assert next(records).body == b"2"
    publish(bus, b"3")
    assert next(records).body == b"3"


def test_an_empty_topic_ends_at_once() -> None:
    bus = a_bus(3)
    assert list(read_topic(bus, Topic.EVENTS, starting_offsets(bus, Topic.EVENTS, "first"))) == []


def test_an_offset_needs_one_partition() -> None:
    bus = a_bus(3)
    assert starting_offsets(bus, Topic.EVENTS, "0", 2) == {2: 0}
    with pytest.raises(InvalidInput, match="3 partitions"):
        starting_offsets(bus, Topic.EVENTS, "0")


def test_a_partition_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="it has 3"):
        starting_offsets(a_bus(3), Topic.EVENTS, "first", 3)
