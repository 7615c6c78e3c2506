"""What every bus promises, run against the one in memory and every real one."""

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count, pairwise
from pathlib import Path

import pytest

from headgate_bus.errors import BusError, Fenced, OffsetGone
from headgate_bus.interface import MAX_MESSAGE_BYTES, Bus, Extent, Message, Place, Reader, Record, Seat, Topic
from support.bus.rigs import AMBIENT, GROUP, PARTITIONS, PATIENCE_S, KafkaRig, MemoryRig, Rig, SqliteRig, holding

KINDS = ("memory", "sqlite", "kafka")
PROPOSALS, EVENTS, DEAD_LETTERS = Topic.PROPOSALS, Topic.EVENTS, Topic.DEAD_LETTERS
CLOCK_MARGIN_MS = 5_000
"""How far the bus's clock may be from the test's; they run on one machine."""


@pytest.fixture(params=KINDS)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    opened: Rig
    if request.param == "memory":
        opened = MemoryRig()
    elif request.param == "sqlite":
        opened = SqliteRig(tmp_path)
    else:
        opened = KafkaRig(request.getfixturevalue("new_kafka_bus"))
    yield opened
    opened.close()


@pytest.fixture
def bus(rig: Rig) -> Bus:
    rig.bus.prepare()
    return rig.bus


def message(body: bytes | str = b"x", key: str = "t", **headers: str) -> Message:
    return Message(key, headers, body.encode() if isinstance(body, str) else body)


def messages(*bodies: str, key: str = "t") -> list[Message]:
    return [message(body, key) for body in bodies]


def bodies(records: Sequence[Record]) -> list[str]:
    return [record.body.decode() for record in records]


def key_in(bus: Bus, partition: int) -> str:
    """A key whose proposals go to that partition."""
    return next(key for number in count() if bus.partition_of(key := f"s3://lake/table-{number}") == partition)


def read_until(reader: Reader, wanted: int) -> list[Record]:
    """What is read until that many have come."""
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    found: list[Record] = []
    while len(found) < wanted:
        assert AMBIENT.monotonic_s() < deadline, f"{len(found)} of {wanted} records came within {PATIENCE_S} s"
        found.extend(reader.read(0.2))
    return found


def poll_until(seat: Seat, wanted: int) -> list[Record]:
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    found: list[Record] = []
    while len(found) < wanted:
        assert AMBIENT.monotonic_s() < deadline, f"{len(found)} of {wanted} proposals came within {PATIENCE_S} s"
        found.extend(seat.poll(0.2))
    return found


def all_of(bus: Bus, topic: Topic, wanted: int) -> list[Record]:
    """The records of all partitions from the first on, and whatever comes right behind the wanted ones."""
    reader = bus.reader(topic, {number: bus.extent(topic, number).first for number in range(bus.partitions(topic))})
    try:
        return [*read_until(reader, wanted), *reader.read(0.1)]
    finally:
        reader.close()


def seat_at(bus: Bus, offsets: dict[int, int] | None = None) -> Seat:
    """A seat that holds all partitions and delivers from these offsets, 0 where none is given."""
    seat = holding(bus.seat(GROUP))
    for number in range(PARTITIONS):
        seat.seek(number, (offsets or {}).get(number, 0))
    return seat


# What is appended


def test_a_record_is_what_was_appended(bus: Bus) -> None:
    bus.append(PROPOSALS, [Message("s3://lake/t", {"ce_id": "7", "content-type": "application/json"}, b"{}")])
    (record,) = all_of(bus, PROPOSALS, 1)
    assert (record.key, record.headers, record.body) == (
        "s3://lake/t",
        {"ce_id": "7", "content-type": "application/json"},
        b"{}",
    )


def test_the_records_of_a_partition_come_in_the_order_of_their_appending(bus: Bus) -> None:
    for start in range(0, 50, 5):
        bus.append(PROPOSALS, messages(*(str(number) for number in range(start, start + 5))))
    assert bodies(all_of(bus, PROPOSALS, 50)) == [str(number) for number in range(50)]


def test_offsets_of_a_partition_only_grow(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc"))
    bus.append(PROPOSALS, messages(*"def"))
    assert all(one.offset < other.offset for one, other in pairwise(all_of(bus, PROPOSALS, 6)))


def test_the_places_of_an_append_are_where_the_records_lie(bus: Bus) -> None:
    keys = [key_in(bus, number) for number in (0, 1, 0, 1, 1)]
    places = bus.append(PROPOSALS, [message(str(index), key) for index, key in enumerate(keys)])
    found = {Place(record.partition, record.offset): record.body for record in all_of(bus, PROPOSALS, 5)}
    assert found == {place: str(index).encode() for index, place in enumerate(places)}


@pytest.mark.parametrize("topic", Topic)
def test_messages_with_one_key_land_in_one_partition(bus: Bus, topic: Topic) -> None:
    places = [place for _ in range(5) for place in bus.append(topic, messages("a", "b", key="s3://lake/t"))]
    assert len({place.partition for place in places}) == 1


def test_the_partition_of_a_key_is_told_before_anything_is_appended(bus: Bus) -> None:
    keys = [f"s3://lake/table-{number}" for number in range(20)]
    told = [bus.partition_of(key) for key in keys]
    assert [place.partition for place in bus.append(PROPOSALS, [message(key=key) for key in keys])] == told


def test_keys_use_every_partition(bus: Bus) -> None:
    assert {bus.partition_of(f"s3://lake/table-{number}") for number in range(50)} == set(range(PARTITIONS))


def test_an_empty_body_is_a_body(bus: Bus) -> None:
    bus.append(PROPOSALS, [message(b"")])
    assert [record.body for record in all_of(bus, PROPOSALS, 1)] == [b""]


def test_every_byte_comes_back(bus: Bus) -> None:
    every = bytes(range(256)) * 3
    bus.append(PROPOSALS, [message(every)])
    assert [record.body for record in all_of(bus, PROPOSALS, 1)] == [every]


@pytest.mark.parametrize(
    "key", ["", " ", "\0", "a\nb\tc", "../../etc/passwd", "tåble/ü/表/🪣", "k" * 2_000, "'; DROP--"]
)
def test_any_text_is_a_key(bus: Bus, key: str) -> None:
    bus.append(PROPOSALS, [message(key=key)])
    assert [record.key for record in all_of(bus, PROPOSALS, 1)] == [key]


def test_any_text_is_a_header(bus: Bus) -> None:
    headers = {"empty": "", "ce_subject": "tåble/表/🪣", 'qu"ote': "a\nb\0c\\", "": "no name"}
    bus.append(PROPOSALS, [Message("t", headers, b"x")])
    assert [record.headers for record in all_of(bus, PROPOSALS, 1)] == [headers]


def test_a_message_without_headers_has_none(bus: Bus) -> None:
    bus.append(PROPOSALS, [message()])
    assert [record.headers for record in all_of(bus, PROPOSALS, 1)] == [{}]


def test_the_bus_sets_the_time_of_appending(bus: Bus) -> None:
    before = AMBIENT.now_ms()
    bus.append(PROPOSALS, [message()])
    (record,) = all_of(bus, PROPOSALS, 1)
    assert before - CLOCK_MARGIN_MS <= record.time_ms <= AMBIENT.now_ms() + CLOCK_MARGIN_MS


def test_the_time_of_appending_never_goes_back(bus: Bus) -> None:
    for number in range(10):
        bus.append(PROPOSALS, messages(str(number)))
    assert all(one.time_ms <= other.time_ms for one, other in pairwise(all_of(bus, PROPOSALS, 10)))


def test_a_message_just_within_the_bound_is_taken(bus: Bus) -> None:
    body = bytes(MAX_MESSAGE_BYTES - len("t"))
    bus.append(PROPOSALS, [message(body)])
    assert [len(record.body) for record in all_of(bus, PROPOSALS, 1)] == [len(body)]


def test_a_message_over_the_bound_is_refused_and_the_bound_is_named(bus: Bus) -> None:
    with pytest.raises(BusError, match=str(MAX_MESSAGE_BYTES)):
        bus.append(PROPOSALS, [message(bytes(MAX_MESSAGE_BYTES))])


def test_headers_count_towards_the_bound(bus: Bus) -> None:
    with pytest.raises(BusError, match=str(MAX_MESSAGE_BYTES)):
        bus.append(PROPOSALS, [message(big="h" * MAX_MESSAGE_BYTES)])


def test_of_messages_with_one_over_the_bound_nothing_is_appended(bus: Bus) -> None:
    with pytest.raises(BusError):
        bus.append(PROPOSALS, [message("good"), message(bytes(MAX_MESSAGE_BYTES)), message("good, too")])
    bus.append(PROPOSALS, [message("later")])
    assert bodies(all_of(bus, PROPOSALS, 1)) == ["later"]


def test_text_that_no_wire_can_carry_is_refused(bus: Bus) -> None:
    with pytest.raises(BusError, match="Unicode"):
        bus.append(PROPOSALS, [message("good"), message(key="\ud800")])
    assert all(bus.extent(PROPOSALS, number) == Extent(0, 0) for number in range(PARTITIONS))


def test_appending_nothing_is_nothing(bus: Bus) -> None:
    assert bus.append(PROPOSALS, []) == []


def test_each_topic_has_its_own_records(bus: Bus) -> None:
    for topic in Topic:
        bus.append(topic, messages(topic.value))
    assert {topic: bodies(all_of(bus, topic, 1)) for topic in Topic} == {topic: [topic.value] for topic in Topic}


def test_what_was_appended_is_there_after_reopening(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc"))
    bus.close()
    assert bodies(all_of(rig.again(), PROPOSALS, 3)) == ["a", "b", "c"]


def test_appenders_at_once_lose_and_double_nothing(rig: Rig, bus: Bus) -> None:
    handles = [bus, bus, rig.again(), rig.again()]

    def append_all(number: int) -> None:
        for index in range(20):
            handles[number].append(PROPOSALS, messages(f"{number}:{index}"))

    with ThreadPoolExecutor(len(handles)) as threads:
        list(threads.map(append_all, range(len(handles))))
    found = bodies(all_of(bus, PROPOSALS, 80))
    assert sorted(found) == sorted(f"{number}:{index}" for number in range(4) for index in range(20))


def test_among_appenders_at_once_each_keeps_its_own_order(rig: Rig, bus: Bus) -> None:
    handles = [bus, bus, rig.again(), rig.again()]

    def append_all(number: int) -> None:
        for index in range(20):
            handles[number].append(PROPOSALS, messages(f"{number}:{index}"))

    with ThreadPoolExecutor(len(handles)) as threads:
        list(threads.map(append_all, range(len(handles))))
    found = bodies(all_of(bus, PROPOSALS, 80))
    for number in range(4):
        mine = [body for body in found if body.startswith(f"{number}:")]
        assert mine == [f"{number}:{index}" for index in range(20)]


# Extents and sources


def test_a_new_partition_is_empty(bus: Bus) -> None:
    assert bus.extent(PROPOSALS, 0) == Extent(0, 0)


def test_the_extent_reaches_behind_the_last_record(bus: Bus) -> None:
    (place,) = bus.append(PROPOSALS, [message()])
    assert bus.extent(PROPOSALS, place.partition) == Extent(0, place.offset + 1)


def test_a_bus_has_as_many_partitions_as_it_was_made_with(bus: Bus) -> None:
    assert bus.partitions(PROPOSALS) == PARTITIONS


def test_a_partition_that_is_not_there_is_refused(bus: Bus) -> None:
    with pytest.raises(BusError, match=str(PARTITIONS)):
        bus.extent(PROPOSALS, PARTITIONS)


def test_a_source_stays_the_same_over_reopening(rig: Rig, bus: Bus) -> None:
    before = [bus.source(number) for number in range(PARTITIONS)]
    bus.append(PROPOSALS, [message()])
    bus.close()
    opened = rig.again()
    assert [opened.source(number) for number in range(PARTITIONS)] == before


def test_each_partition_is_a_source_of_its_own(bus: Bus) -> None:
    assert [bus.source(number).partition for number in range(PARTITIONS)] == list(range(PARTITIONS))


def test_a_source_has_ids_and_not_names(bus: Bus) -> None:
    source = bus.source(0)
    assert source.cluster
    assert len(source.topic) >= 16
    assert source.topic != PROPOSALS.value


# Readers


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
    assert 0.25 <= AMBIENT.monotonic_s() - begun < 5


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


# Seats


def test_nobody_has_committed_at_first(bus: Bus) -> None:
    seat = seat_at(bus)
    assert (bus.committed(GROUP, 0), seat.committed(0)) == (None, None)


def test_a_newly_held_partition_delivers_nothing_before_seek(bus: Bus) -> None:
    bus.append(PROPOSALS, [message(key=key_in(bus, number)) for number in range(PARTITIONS)])
    seat = holding(bus.seat(GROUP))
    assert list(seat.poll(0.3)) == []


def test_a_seat_delivers_from_where_it_was_sent(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcd", key=key_in(bus, 0)))
    seat = seat_at(bus, {0: 2})
    assert bodies(poll_until(seat, 2)) == ["c", "d"]


def test_a_seat_delivers_each_partition_in_order(bus: Bus) -> None:
    keys = [key_in(bus, number) for number in range(PARTITIONS)]
    bus.append(PROPOSALS, [message(f"{index}", key) for index in range(10) for key in keys])
    found = poll_until(seat_at(bus), 10 * PARTITIONS)
    for number in range(PARTITIONS):
        assert bodies([record for record in found if record.partition == number]) == [str(index) for index in range(10)]


def test_a_seat_gives_no_more_records_than_asked_for(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcdef"))
    seat = seat_at(bus)
    found: list[list[str]] = []
    while sum(map(len, found)) < 6:
        found.append(bodies(seat.poll(PATIENCE_S, max_records=4)))
    assert max(map(len, found)) <= 4
    assert [body for polled in found for body in polled] == list("abcdef")


def test_a_seat_with_nothing_to_deliver_waits_and_returns_nothing(bus: Bus) -> None:
    seat = seat_at(bus)
    begun = AMBIENT.monotonic_s()
    assert list(seat.poll(0.3)) == []
    assert 0.25 <= AMBIENT.monotonic_s() - begun < 5


def test_a_waiting_seat_gets_what_comes(rig: Rig, bus: Bus) -> None:
    other = rig.again()
    seat = seat_at(bus)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(poll_until, seat, 1)
        other.append(PROPOSALS, messages("came"))
        assert bodies(waiting.result()) == ["came"]


def test_a_paused_partition_delivers_nothing_and_stays_held(bus: Bus) -> None:
    bus.append(PROPOSALS, [message(str(number), key_in(bus, number)) for number in range(PARTITIONS)])
    seat = seat_at(bus)
    seat.pause(0)
    assert bodies([*poll_until(seat, 1), *seat.poll(0.2)]) == ["1"]
    assert seat.held() == frozenset(range(PARTITIONS))


def test_a_resumed_partition_delivers_what_was_held_back(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"ab", key=key_in(bus, 0)))
    seat = seat_at(bus)
    seat.pause(0)
    seat.poll(0.2)
    seat.resume(0)
    assert bodies(poll_until(seat, 2)) == ["a", "b"]


def test_seeking_back_delivers_again(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    poll_until(seat, 3)
    seat.seek(0, 1)
    assert bodies(poll_until(seat, 2)) == ["b", "c"]


def test_seeking_beyond_the_end_is_told_by_poll(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus, {0: 50})
    with pytest.raises(OffsetGone) as caught:
        seat.poll(PATIENCE_S)
    assert (caught.value.partition, caught.value.offset, caught.value.next_offset) == (0, 50, 3)


def test_seeking_below_what_was_trimmed_is_told_by_poll(bus: Bus) -> None:
    seat = settle(bus, 3)
    bus.trim(0, 2)
    seat.seek(0, 1)
    with pytest.raises(OffsetGone) as caught:
        seat.poll(PATIENCE_S)
    assert (caught.value.partition, caught.value.offset, caught.value.first) == (0, 1, 2)


def test_after_an_offset_was_gone_a_seat_can_seek_and_go_on(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus, {0: 50})
    with pytest.raises(OffsetGone):
        seat.poll(PATIENCE_S)
    seat.seek(0, 1)
    assert bodies(poll_until(seat, 2)) == ["b", "c"]


# Publishing


def settle(bus: Bus, records: int) -> Seat:
    """Append that many proposals to partition 0 and commit the offset behind them; the seat that did it."""
    bus.append(PROPOSALS, [message(str(number), key_in(bus, 0)) for number in range(records)])
    seat = seat_at(bus, {0: records})
    seat.publish(0, [], [], records)
    return seat


def test_events_that_were_published_can_be_read(bus: Bus) -> None:
    seat = seat_at(bus)
    seat.publish(0, [Message("s3://lake/t", {"ce_id": "7"}, b"one"), Message("s3://lake/t", {}, b"two")], [], None)
    found = all_of(bus, EVENTS, 2)
    assert [(record.key, record.headers, record.body) for record in found] == [
        ("s3://lake/t", {"ce_id": "7"}, b"one"),
        ("s3://lake/t", {}, b"two"),
    ]


def test_dead_letters_that_were_published_can_be_read(bus: Bus) -> None:
    seat_at(bus).publish(0, [], [Message("s3://lake/t", {"ce_id": "7"}, b"\xff")], None)
    assert [(record.key, record.body) for record in all_of(bus, DEAD_LETTERS, 1)] == [("s3://lake/t", b"\xff")]


def test_events_keep_their_order_over_several_publishes(bus: Bus) -> None:
    seat = seat_at(bus)
    for start in range(0, 9, 3):
        seat.publish(0, messages(*(str(number) for number in range(start, start + 3))), [], None)
    assert bodies(all_of(bus, EVENTS, 9)) == [str(number) for number in range(9)]


def test_publishing_advances_the_committed_offset(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    seat.publish(0, messages("event"), [], 2)
    assert (bus.committed(GROUP, 0), seat.committed(0)) == (2, 2)


def test_an_offset_may_be_committed_with_nothing_to_announce(bus: Bus) -> None:
    settle(bus, 3)
    assert bus.committed(GROUP, 0) == 3


def test_publishing_without_an_offset_leaves_it_as_it_is(bus: Bus) -> None:
    seat = settle(bus, 3)
    seat.publish(0, messages("event"), [], None)
    assert bus.committed(GROUP, 0) == 3


def test_publishing_for_one_partition_leaves_the_others_offsets(bus: Bus) -> None:
    settle(bus, 3)
    assert bus.committed(GROUP, 1) is None


def test_publishing_the_same_again_is_allowed(bus: Bus) -> None:
    seat = settle(bus, 3)
    seat.publish(0, messages("event"), [], 3)
    seat.publish(0, messages("event"), [], 3)
    assert bus.committed(GROUP, 0) == 3
    assert bodies(all_of(bus, EVENTS, 2)) == ["event", "event"]


def test_each_group_has_its_own_offset(bus: Bus) -> None:
    settle(bus, 3)
    assert bus.committed("others", 0) is None


def test_the_next_holder_starts_at_the_committed_offset(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abcd", key=key_in(bus, 0)))
    seat = seat_at(bus)
    poll_until(seat, 4)
    seat.publish(0, messages("event"), [], 2)
    bus.close()
    successor = holding(rig.again().seat(GROUP))
    offset = successor.committed(0)
    assert offset == 2
    successor.seek(0, offset)
    assert bodies(poll_until(successor, 2)) == ["c", "d"]


def test_of_a_publish_that_is_refused_nothing_happens(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    with pytest.raises(BusError):
        seat.publish(0, [message("good")], [message(bytes(MAX_MESSAGE_BYTES))], 2)
    assert bus.committed(GROUP, 0) is None
    seat.publish(0, [message("later")], [], None)
    assert bodies(all_of(bus, EVENTS, 1)) == ["later"]


def test_an_offset_is_never_committed_before_its_events_can_be_read(rig: Rig, bus: Bus) -> None:
    rounds, events_each = 20, 3
    bus.append(PROPOSALS, [message(key=key_in(bus, 0)) for _ in range(rounds)])
    seat = seat_at(bus)
    watching = rig.again()
    watching_events = watching.reader(EVENTS, dict.fromkeys(range(watching.partitions(EVENTS)), 0))
    done = threading.Event()

    def publish_all() -> None:
        try:
            for number in range(rounds):
                seat.publish(0, messages(*(f"{number}.{index}" for index in range(events_each))), [], number + 1)
        finally:
            done.set()

    seen = 0
    with ThreadPoolExecutor(1) as threads:
        publishing = threads.submit(publish_all)
        finished = False
        while not finished:
            finished = done.is_set()
            committed = watching.committed(GROUP, 0) or 0
            seen += len(read_until(watching_events, committed * events_each - seen))
        publishing.result()
    assert seen == rounds * events_each


def test_of_a_publish_a_reader_sees_all_or_nothing(rig: Rig, bus: Bus) -> None:
    rounds, events_each = 20, 5
    seat = seat_at(bus)
    watching = rig.again().reader(EVENTS, dict.fromkeys(range(bus.partitions(EVENTS)), 0))

    def publish_all() -> None:
        for number in range(rounds):
            seat.publish(0, messages(*(f"{number}.{index}" for index in range(events_each))), [], None)

    with ThreadPoolExecutor(1) as threads:
        publishing = threads.submit(publish_all)
        found = read_until(watching, rounds * events_each)
        publishing.result()
    assert bodies(found) == [f"{number}.{index}" for number in range(rounds) for index in range(events_each)]


# Taking a place


def test_a_partition_that_is_not_held_cannot_be_published_for(bus: Bus) -> None:
    seat = bus.seat(GROUP)
    with pytest.raises(Fenced):
        seat.publish(0, messages("event"), [], None)
    assert all(bus.extent(EVENTS, number) == Extent(0, 0) for number in range(bus.partitions(EVENTS)))


def test_two_seats_never_hold_the_same_partition(rig: Rig, bus: Bus) -> None:
    seats = [bus.seat(GROUP), rig.again().seat(GROUP)]
    deadline = AMBIENT.monotonic_s() + PATIENCE_S
    while len(seats[0].held() | seats[1].held()) < PARTITIONS:
        assert AMBIENT.monotonic_s() < deadline, "the partitions were never all held"
        for seat in seats:
            seat.poll(0.05)
    for _ in range(5):
        for seat in seats:
            seat.poll(0.05)
        assert not seats[0].held() & seats[1].held()


def test_a_waiting_seat_takes_over_when_the_holder_closes(rig: Rig, bus: Bus) -> None:
    first = seat_at(bus)
    second = rig.again().seat(GROUP)
    first.close()
    assert holding(second).held() == frozenset(range(PARTITIONS))


def test_a_supplanted_seat_is_fenced_when_it_publishes(rig: Rig, bus: Bus) -> None:
    seat = seat_at(bus)
    rig.supplant(GROUP)
    with pytest.raises(Fenced):
        seat.publish(0, messages("zombie"), [], None)


def test_of_what_a_supplanted_seat_publishes_nothing_is_seen(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    seat = seat_at(bus)
    successor = rig.supplant(GROUP)
    with pytest.raises(Fenced):
        seat.publish(0, messages("zombie"), messages("zombie"), 3)
    successor.publish(0, messages("successor"), messages("successor"), 1)
    assert bus.committed(GROUP, 0) == 1
    assert bodies(all_of(bus, EVENTS, 1)) == ["successor"]
    assert bodies(all_of(bus, DEAD_LETTERS, 1)) == ["successor"]


def test_a_supplanted_seat_stays_fenced(rig: Rig, bus: Bus) -> None:
    seat = seat_at(bus)
    rig.supplant(GROUP).close()
    for _ in range(2):
        with pytest.raises(Fenced):
            seat.publish(0, messages("zombie"), [], None)


def test_groups_do_not_take_each_others_places(rig: Rig, bus: Bus) -> None:
    seat = seat_at(bus)
    holding(rig.again().seat("others"))
    seat.publish(0, messages("event"), [], None)
    assert bodies(all_of(bus, EVENTS, 1)) == ["event"]


# Trimming


def test_trimming_lets_go_of_what_is_settled(bus: Bus) -> None:
    settle(bus, 5)
    bus.trim(0, 3)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 5)


def test_what_was_not_trimmed_is_still_read(bus: Bus) -> None:
    settle(bus, 5)
    bus.trim(0, 3)
    assert bodies(read_until(bus.reader(PROPOSALS, {0: 3}), 2)) == ["3", "4"]


def test_trimming_never_goes_beyond_what_is_settled(bus: Bus) -> None:
    settle(bus, 3)
    bus.append(PROPOSALS, messages("undecided", key=key_in(bus, 0)))
    bus.trim(0, 4)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 4)


def test_with_nothing_settled_trimming_does_nothing(bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc", key=key_in(bus, 0)))
    bus.trim(0, 2)
    assert bus.extent(PROPOSALS, 0) == Extent(0, 3)


def test_trimming_back_does_nothing(bus: Bus) -> None:
    settle(bus, 5)
    bus.trim(0, 3)
    bus.trim(0, 1)
    assert bus.extent(PROPOSALS, 0) == Extent(3, 5)


def test_trimming_everything_keeps_the_next_offset(bus: Bus) -> None:
    settle(bus, 3)
    bus.trim(0, 3)
    assert bus.append(PROPOSALS, messages("next", key=key_in(bus, 0))) == [Place(0, 3)]


# Opening and closing


def test_a_bus_that_was_never_prepared_refuses_and_says_so(rig: Rig) -> None:
    with pytest.raises(BusError, match="prepare"):
        rig.bus.append(PROPOSALS, [message()])


def test_preparing_again_keeps_everything(rig: Rig, bus: Bus) -> None:
    bus.append(PROPOSALS, messages(*"abc"))
    source = bus.source(0)
    rig.again().prepare()
    assert bus.source(0) == source
    assert bodies(all_of(bus, PROPOSALS, 3)) == ["a", "b", "c"]


def test_a_closed_bus_refuses(bus: Bus) -> None:
    bus.close()
    with pytest.raises(BusError):
        bus.append(PROPOSALS, [message()])


def test_closing_twice_is_harmless(bus: Bus) -> None:
    bus.close()
    bus.close()


def test_a_closed_seat_refuses(bus: Bus) -> None:
    seat = seat_at(bus)
    seat.close()
    with pytest.raises(BusError):
        seat.publish(0, messages("event"), [], None)
