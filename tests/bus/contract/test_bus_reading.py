"""What every bus promises to its readers."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from headgate_bus.errors import BusError, OffsetGone
from headgate_bus.interface import Bus, Topic
from support.bus.records import bodies, key_in, message, messages, read_until, seat_at, settle
from support.bus.rigs import AMBIENT, PARTITIONS, PATIENCE_S, Rig

PROPOSALS, EVENTS = Topic.PROPOSALS, Topic.EVENTS


def test_a_reader_starts_at_its_offset(bus: Bus) -> None:
    places = bus.append(PROPOSALS, messages(*"abcd"))
    reader = bus.reader(PROPOSALS, {places[2].partition: places[2].offset})
    assert bodies(read_until(reader, 2)) == ["c", "d"]


def test_a_reader_reads_only_its_partitions(bus: Bus) -> None:
    bus.append(PROPOSALS, [message("zero", key_in(bus, 0)), message("one", key_in(bus, 1))])
    reader = bus.reader(PROPOSALS, {1: 0})
    assert bodies([*read_until(reader, 1), *reader.read(0.1)]) == ["one"]


def test_a_reader_reads_nothing_twice(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc"))
    reader = bus.reader(PROPOSALS, dict.fromkeys(range(PARTITIONS), 0))
    read_until(reader, 3)
    bus.append(PROPOSALS, messages("d"))
    assert bodies(read_until(reader, 1)) == ["d"]


def test_a_reader_gives_no_more_records_than_asked_for(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcdef"))
    reader = bus.reader(PROPOSALS, dict.fromkeys(range(PARTITIONS), 0))
    found: list[list[str]] = []
    while sum(map(len, found)) < 6:
        found.append(bodies(reader.read(PATIENCE_S, max_records=4)))
    assert max(map(len, found)) <= 4
    assert [body for read in found for body in read] == list("abcdef")


def test_a_reader_with_nothing_to_read_waits_and_returns_nothing(bus: Bus) -> None:
    reader = bus.reader(PROPOSALS, {0: 0})
    reader.read(0)  # what a bus has to do at first doesn't count
    begun = AMBIENT.monotonic_s()
    assert list(reader.read(0.3)) == []
    assert 0.25 <= AMBIENT.monotonic_s() - begun < PATIENCE_S


def test_a_waiting_reader_gets_what_comes(rig: Rig, bus: Bus) -> None:
    other = rig.again()
    reader = bus.reader(PROPOSALS, dict.fromkeys(range(PARTITIONS), 0))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(read_until, reader, 1)
        other.append(PROPOSALS, messages("came"))
        assert bodies(waiting.result()) == ["came"]


def test_a_reader_goes_on_where_another_stopped(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcd"))
    first = bus.reader(PROPOSALS, dict.fromkeys(range(PARTITIONS), 0))
    begun: list[str] = []
    while not begun:
        begun = bodies(first.read(PATIENCE_S, max_records=1))
    second = bus.reader(PROPOSALS, first.offsets())
    assert begun + bodies(read_until(second, 3)) == ["a", "b", "c", "d"]


def test_a_reader_of_events_goes_on_behind_what_was_published(bus: Bus) -> None:
    seat = seat_at(bus)
    seat.publish(0, messages("one"), [], None)
    starts = {number: bus.extent(EVENTS, number).first for number in range(bus.partitions(EVENTS))}
    first = bus.reader(EVENTS, starts)
    read_until(first, 1)
    seat.publish(0, messages("two"), [], None)
    second = bus.reader(EVENTS, first.offsets())
    assert bodies(read_until(second, 1)) == ["two"]


def test_a_reader_may_start_at_the_end(bus: Bus) -> None:
    (place,) = bus.append(PROPOSALS, messages("before"))
    reader = bus.reader(PROPOSALS, {place.partition: place.offset + 1})
    bus.append(PROPOSALS, messages("after"))
    assert bodies(read_until(reader, 1)) == ["after"]


def test_a_reader_beyond_the_end_is_told_what_there_is(bus: Bus) -> None:
    (place,) = bus.append(PROPOSALS, [message()])
    with pytest.raises(OffsetGone) as caught:
        bus.reader(PROPOSALS, {place.partition: 5})
    assert (caught.value.partition, caught.value.offset) == (place.partition, 5)
    assert (caught.value.first, caught.value.next_offset) == (0, 1)


def test_a_reader_below_what_was_trimmed_is_told_what_there_is(bus: Bus) -> None:
    settle(bus, 3)
    bus.trim(0, 2)
    with pytest.raises(OffsetGone) as caught:
        bus.reader(PROPOSALS, {0: 1})
    assert (caught.value.partition, caught.value.offset) == (0, 1)
    assert (caught.value.first, caught.value.next_offset) == (2, 3)


def test_a_reader_that_is_overtaken_by_trimming_is_told(bus: Bus) -> None:
    settle(bus, 3)
    reader = bus.reader(PROPOSALS, {0: 0})
    bus.trim(0, 2)
    with pytest.raises(OffsetGone) as caught:
        reader.read(PATIENCE_S)
    assert (caught.value.partition, caught.value.first) == (0, 2)


def test_a_reader_of_a_partition_that_is_not_there_is_refused(bus: Bus) -> None:
    with pytest.raises(BusError):
        bus.reader(PROPOSALS, {PARTITIONS: 0})
