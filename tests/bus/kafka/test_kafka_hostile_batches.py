"""Batches that no honest client sends, on a real broker: what it refuses, and how readers, seats and followers get past the rest."""

from collections.abc import Callable, Sequence

import pytest
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Message, Record, Topic
from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.bus import KafkaBus
from headgate_bus.kafka.fetched.fetching import POLL_BYTES, check_client
from support.kafka.raw_batches import (
    NONE,
    ZSTD,
    RawRecord,
    batch_of,
    bomb_batch,
    laid_out,
    old_batch,
    send_batch,
    zstd_batch,
)
from support.processes.waiting import wait_until

NewBus = Callable[..., KafkaBus]
GOOD = RawRecord(b"table", b"good")
BAD_KEY = RawRecord(b"table", b"bad key", [(b"\xff\xfe", b"1")])
LAST = b"behind all of it"
BOMBS = 12


def sent(bus: KafkaBus, topic: Topic, batch: bytes) -> int:
    """The broker's answer."""
    address = parse_kafka_address(bus.address)
    return send_batch(address.servers[0], address.topic(topic), batch)


@pytest.fixture
def bus(new_kafka_bus: NewBus) -> KafkaBus:
    bus = new_kafka_bus(partitions=1, event_partitions=1)
    bus.prepare()
    return bus


def with_hostile_batches(bus: KafkaBus, topic: Topic) -> None:
    """Five records of which two arrive as others than they were, then a sound one."""
    assert sent(bus, topic, zstd_batch([GOOD, BAD_KEY, RawRecord()])) == 0
    assert sent(bus, topic, bomb_batch(POLL_BYTES, before=[GOOD])) == 0
    bus.append(topic, [Message("table", {}, LAST)])


def collected(read: Callable[[], Sequence[Record]]) -> list[Record]:
    """Up to the last."""
    found: list[Record] = []

    def is_there() -> bool:
        found.extend(read())
        return any(record.body == LAST for record in found)

    wait_until(is_there, "the record behind all of it is read")
    return found


def judge(found: Sequence[Record]) -> None:
    assert [record.offset for record in found] == list(range(6))
    assert [record.body for record in found if record.unread is None] == [b"good", b"bad key", b"", b"good", LAST]
    assert dict(found[1].headers) == {"\N{REPLACEMENT CHARACTER}" * 2: "1"}
    assert found[4].unread is not None
    assert found[4].unread.is_over_bound


@pytest.mark.parametrize("topic", Topic)
def test_a_reader_gets_past_them(bus: KafkaBus, topic: Topic) -> None:
    with_hostile_batches(bus, topic)
    reader = bus.reader(topic, {0: 0})
    judge(collected(lambda: reader.read(0.5)))


def test_a_committers_seat_gets_past_them(bus: KafkaBus) -> None:
    with_hostile_batches(bus, Topic.PROPOSALS)
    seat = bus.seat("committers")
    wait_until(lambda: not seat.poll(0.1) and seat.held() == {0}, "the partition is held")
    seat.seek(0, 0)
    judge(collected(lambda: seat.poll(0.5)))


def test_a_workers_follower_gets_past_them(bus: KafkaBus) -> None:
    with_hostile_batches(bus, Topic.EVENTS)
    follower = bus.follow("workers")
    judge(collected(lambda: follower.poll(0.5)))


def test_who_begins_within_a_batch_that_can_not_be_read_whole_gets_what_comes_behind_it(bus: KafkaBus) -> None:
    with_hostile_batches(bus, Topic.PROPOSALS)
    reader = bus.reader(Topic.PROPOSALS, {0: 5})
    assert [record.offset for record in collected(lambda: reader.read(0.5))] == [5]


def test_a_poll_unpacks_no_more_than_its_bound_whatever_is_asked_for(bus: KafkaBus) -> None:
    for _ in range(BOMBS):
        assert sent(bus, Topic.PROPOSALS, bomb_batch(POLL_BYTES)) == 0
    bus.append(Topic.PROPOSALS, [Message("table", {}, LAST)])
    reader = bus.reader(Topic.PROPOSALS, {0: 0})
    polls: list[int] = []

    def read() -> Sequence[Record]:
        records = reader.read(0.5, 1_000)
        polls.append(len(records))
        return records

    assert [record.offset for record in collected(read)] == list(range(BOMBS + 1))
    assert max(polls) == 2


@pytest.mark.parametrize(
    "batch",
    [
        batch_of(laid_out([RawRecord(b"\x00\x00\x00\x01", b"\x00" * 6)]), 1, 0x20),
        batch_of(laid_out([GOOD]), 1, 6),
        batch_of(laid_out([GOOD]), 1)[:-1] + b"\xff",
        batch_of(b"rubbish", 1, ZSTD),
        batch_of(laid_out([GOOD])[:-1], 1, NONE),
        batch_of(laid_out([GOOD]), 2, NONE),
        batch_of(laid_out([GOOD]), 1, time_ms=-5),
        old_batch(b"good"),
    ],
    ids=[
        "control",
        "unknown codec",
        "checksum",
        "not packed by its codec",
        "cut record",
        "count",
        "time before 1970",
        "old format",
    ],
)
def test_the_broker_itself_refuses_what_is_broken(bus: KafkaBus, batch: bytes) -> None:
    assert sent(bus, Topic.PROPOSALS, batch) != 0
    assert bus.extent(Topic.PROPOSALS, 0).next_offset == 0


def test_the_time_that_a_batch_claims_is_not_the_time_of_its_records(bus: KafkaBus) -> None:
    bus.append(Topic.PROPOSALS, [Message("table", {}, b"first")])
    for time_ms in (0, 1 << 62):
        assert sent(bus, Topic.PROPOSALS, batch_of(laid_out([GOOD]), 1, time_ms=time_ms)) == 0
    bus.append(Topic.PROPOSALS, [Message("table", {}, LAST)])
    reader = bus.reader(Topic.PROPOSALS, {0: 0})
    times = [record.time_ms for record in collected(lambda: reader.read(0.5))]
    assert times == sorted(times)
    assert len(times) == 4


def test_a_batch_that_is_not_what_its_checksum_says_is_read_again(
    bus: KafkaBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged on its way, or on the broker's disk. The client's next poll would never end."""
    bus.append(Topic.PROPOSALS, [Message("table", {}, LAST)])
    reader = bus.reader(Topic.PROPOSALS, {0: 0})
    with monkeypatch.context() as damage:
        damage.setattr("kafka.record.default_records.DefaultRecordBatch.validate_crc", lambda batch: False)
        for _ in range(2):
            with pytest.raises(BusUnavailable, match="contradicts its checksum") as raised:
                collected(lambda: reader.read(0.5))
            assert isinstance(raised.value.__cause__, CorruptRecordError)
    assert [record.body for record in collected(lambda: reader.read(0.5))] == [LAST]


def test_the_client_is_made_as_is_relied_on() -> None:
    check_client()


def test_a_client_that_is_made_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fetcher, "_append", lambda self, part: 0)
    with pytest.raises(BusError, match=r"another structure than Headgate relies on \(Fetcher\._append\); install"):
        check_client()


def test_other_consumers_of_the_process_are_left_alone(bus: KafkaBus) -> None:
    before = (Fetcher.PartitionRecords, Fetcher._append)
    reader = bus.reader(Topic.PROPOSALS, {0: 0})
    assert (Fetcher.PartitionRecords, Fetcher._append) == before
    assert reader._consumer._fetcher.PartitionRecords is not before[0]
