"""What every bus promises of what is appended to it, and of the extents and sources of its partitions."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from headgate_bus.errors import BusError
from headgate_bus.interface import MAX_MESSAGE_BYTES, Bus, Extent, Message, MessagePlace, Topic
from support.bus.records import all_of, bodies, key_in, message, messages
from support.bus.rigs import AMBIENT, PARTITIONS, Rig

PROPOSALS = Topic.PROPOSALS
CLOCK_MARGIN_MS = 5_000
"""How far the bus's clock may be from the test's; they run on one machine."""


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
    found = {MessagePlace(record.partition, record.offset): record.body for record in all_of(bus, PROPOSALS, 5)}
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
