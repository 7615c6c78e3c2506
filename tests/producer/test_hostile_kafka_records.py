"""Topics that hold what no honest client sends, read by a batch job: nothing is lost without being told, and nothing wedges."""

import gzip
from collections.abc import Sequence

import pyarrow as pa
import pytest

from headgate_bus.errors import BatchUnread, BusError
from headgate_bus.kafka.cluster import AnyTopic
from headgate_producer.batch.job import BatchJob, BatchReport
from headgate_producer.batch.kafka_source import KafkaRecords
from headgate_producer.errors import JobStopped
from headgate_schemas.errors import InvalidInput
from support.kafka.fetched import FetchedConsumer
from support.kafka.raw_batches import (
    GZIP,
    LZ4,
    SNAPPY,
    RawRecord,
    batch_of,
    bomb_batch,
    laid_out,
    old_batch,
    zstd_batch,
)
from support.memory import rss_growth_of
from support.processes.fuse import Fuse
from support.producer.batch_world import LIMITS, BatchWorld, to_table

ADDRESS = "kafka://localhost:9092"
SMALL = 1 << 20
CLICKS = AnyTopic("cluster", "topic", (0,))
OF_A_BROKER = 0x20
"""A mark of a transaction, which takes an offset and is no record."""
BOMB = bomb_batch(2 * SMALL, before=[RawRecord(None, b"e-before")], behind=[RawRecord(None, b"e-beside")])
"""Three records: one that is read, then the bomb, and one behind it."""


class Topic:
    """Its batches, and consumers of it that need no broker."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.batches: list[bytes] = []
        self.consumer = FetchedConsumer("clicks", [])
        patch.setattr("headgate_producer.batch.kafka_source.KafkaConsumer", self._consumer)
        patch.setattr("headgate_bus.kafka.cluster.KafkaCluster.any_topic", lambda cluster, name: CLICKS)

    def records(self, max_batch_bytes: int = SMALL, leave_out: Sequence[tuple[int, int]] = ()) -> KafkaRecords:
        return KafkaRecords(ADDRESS, "clicks", max_batch_bytes=max_batch_bytes, leave_out=leave_out)

    def _consumer(self, **settings: object) -> FetchedConsumer:
        self.consumer = FetchedConsumer("clicks", self.batches)
        return self.consumer


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    return Topic(monkeypatch)


def holding(*values: bytes) -> bytes:
    return zstd_batch([RawRecord(None, value) for value in values])


def read(source: KafkaRecords, offset: int = 0, max_records: int = 2) -> list[tuple[int, bytes | None]]:
    """Up to where nothing comes."""
    found: list[tuple[int, bytes | None]] = []
    while True:
        chunk = source.read(0, offset, 0.0, max_records)
        found += [(record.offset, record.value) for record in chunk.records]
        if chunk.next_offset == offset:
            return found
        offset = chunk.next_offset


def test_keys_and_values_are_as_they_were_sent_whatever_the_headers_are(topic: Topic) -> None:
    many = [(b"h%d" % number, b"") for number in range(2_000)]
    topic.batches = [
        zstd_batch(
            [
                RawRecord(b"\xff\xfe", b"\x00\xff", [(b"\xff\xfe", b"\xfd"), (b"", None)]),
                RawRecord(None, None, [(b"same", b"1"), (b"same", b"2")]),
                RawRecord(b"", b"", many),
            ]
        ),
        holding(b"last"),
    ]
    chunk = topic.records().read(0, 0, 0.0, 10)
    found = [(record.offset, record.time_ms, record.key, record.value) for record in chunk.records]
    assert found == [(0, 1, b"\xff\xfe", b"\x00\xff"), (1, 1, None, None), (2, 1, b"", b""), (3, 1, None, b"last")]
    assert chunk.next_offset == 4


def test_every_codec_of_kafka_is_read(topic: Topic) -> None:
    record = RawRecord(None, b"good")
    plain = laid_out([record])
    topic.batches = [
        batch_of(plain, 1),
        batch_of(gzip.compress(plain), 1, GZIP),
        batch_of(pa.Codec("snappy").compress(plain, asbytes=True), 1, SNAPPY),
        batch_of(pa.Codec("lz4").compress(plain, asbytes=True), 1, LZ4),
        zstd_batch([record]),
    ]
    assert read(topic.records()) == [(offset, b"good") for offset in range(5)]


def test_what_comes_before_a_bomb_is_read_and_the_error_says_what_to_do(topic: Topic) -> None:
    topic.batches = [holding(b"first", b"second"), BOMB, holding(b"last")]
    source = topic.records()
    chunk = source.read(0, 0, 0.0, 100)
    assert [record.value for record in chunk.records] == [b"first", b"second", b"e-before"]
    for _ in range(3):
        with pytest.raises(BatchUnread) as raised:
            source.read(0, chunk.next_offset, 0.0, 100)
        assert str(raised.value) == (
            "what lies at the offsets 3 to 4 of partition 0 of topic clicks is in a batch that can't be read whole: it unpacks to more"
            " than the 1048576 bytes that are read (max_batch_bytes): allow more, if there is memory for three times as much."
            " To skip these records, give KafkaRecords leave_out=[(0, 3)]"
        )
    assert read(source, 5) == [(5, b"last")]


def test_a_batch_within_a_larger_bound_is_read_whole(topic: Topic) -> None:
    topic.batches = [BOMB, holding(b"last")]
    values = [value for _, value in read(topic.records(3 * SMALL))]
    assert values == [b"e-before", bytes(2 * SMALL), b"e-beside", b"last"]


def test_who_begins_within_what_can_not_be_read_is_told_what_is_left_of_it(topic: Topic) -> None:
    """As after a run that was allowed more. The client would pass it over."""
    topic.batches = [BOMB, holding(b"last")]
    with pytest.raises(BatchUnread, match="the offsets 2 to 2 of partition 0") as raised:
        topic.records().read(0, 2, 0.0, 100)
    assert (raised.value.partition, raised.value.first, raised.value.last) == (0, 2, 2)


@pytest.mark.parametrize("named", [1, 2])
def test_what_is_to_be_left_out_is_passed_by_any_of_its_offsets(topic: Topic, named: int) -> None:
    topic.batches = [BOMB, holding(b"last")]
    assert read(topic.records(leave_out=[(0, named)])) == [(0, b"e-before"), (3, b"last")]


@pytest.mark.parametrize("named", [(0, 0), (0, 3), (1, 1)])
def test_nothing_is_left_out_that_was_not_named(topic: Topic, named: tuple[int, int]) -> None:
    topic.batches = [BOMB, holding(b"last")]
    with pytest.raises(BatchUnread, match="the offsets 1 to 2"):
        read(topic.records(leave_out=[named]))


def test_sound_records_are_read_though_they_are_named_to_be_left_out(topic: Topic) -> None:
    topic.batches = [holding(b"first", b"second")]
    assert read(topic.records(leave_out=[(0, 0)])) == [(0, b"first"), (1, b"second")]


def test_one_read_passes_all_that_is_left_out_and_none_unpacks_it_again(topic: Topic) -> None:
    """A job that waits at an offset reads from there, until a record comes."""
    marker = batch_of(laid_out([RawRecord(b"\x00\x00\x00\x01", b"\x00" * 6)]), 1, OF_A_BROKER)
    topic.batches = [marker, bomb_batch(2 * SMALL), bomb_batch(2 * SMALL)]
    source = topic.records(leave_out=[(0, 1), (0, 2)])
    assert source.read(0, 0, 0.0, 10).next_offset == 3
    fetched = len(topic.consumer.fetches)
    assert source.read(0, 0, 0.0, 10).next_offset == 3
    topic.consumer.batches.append(holding(b"last"))
    assert [record.value for record in source.read(0, 0, 0.0, 10).records] == [b"last"]
    assert topic.consumer.fetches[fetched:] == [3]


@pytest.mark.parametrize(
    ("batch", "reason"),
    [
        (batch_of(b"rubbish", 1, LZ4), r"it can't be unpacked \(LZ4"),
        (batch_of(b"rubbish", 1, 5), "number 5.*; read are zstd, gzip, lz4 and snappy"),
        (batch_of(laid_out([RawRecord()]), 2), "it isn't laid out as records are"),
        (old_batch(b"old"), "its format is from before Kafka 0.11"),
    ],
)
def test_what_is_no_record_is_told_and_not_passed_over(topic: Topic, batch: bytes, reason: str) -> None:
    topic.batches = [batch, holding(b"last")]
    with pytest.raises(BatchUnread, match=reason):
        read(topic.records())


def test_many_bombs_take_the_memory_of_a_few_bounds() -> None:
    program = """
from headgate_bus.errors import BatchUnread
from headgate_producer.batch import kafka_source
from headgate_producer.batch.kafka_source import MAX_BATCH_BYTES, KafkaRecords
from support.kafka.fetched import FetchedConsumer
from support.kafka.raw_batches import bomb_batch
bombs = [bomb_batch(512 << 20) for _ in range(4)]
kafka_source.KafkaConsumer = lambda **settings: FetchedConsumer("clicks", bombs)
source = KafkaRecords("kafka://localhost:9092", "clicks", leave_out=[(0, 0), (0, 1), (0, 2)])
settled()
try:
    source.read(0, 0, 0.0, 100)
except BatchUnread as unread:
    assert unread.first == 3
else:
    raise SystemExit("the last bomb was passed over")
"""
    assert rss_growth_of(program) < 200 << 20


def test_a_batch_at_the_bound_takes_less_than_three_times_its_memory() -> None:
    """As the error says."""
    program = """
from headgate_producer.batch import kafka_source
from headgate_producer.batch.kafka_source import KafkaRecords
from support.kafka.fetched import FetchedConsumer
from support.kafka.raw_batches import bomb_batch
bombs = [bomb_batch(64 << 20)]
kafka_source.KafkaConsumer = lambda **settings: FetchedConsumer("clicks", bombs)
source = KafkaRecords("kafka://localhost:9092", "clicks", max_batch_bytes=65 << 20)
settled()
assert len(source.read(0, 0, 0.0, 100).records) == 1
"""
    assert rss_growth_of(program) < 3 * (65 << 20)


def test_a_bound_that_leaves_nothing_is_refused(topic: Topic) -> None:
    with pytest.raises(InvalidInput, match="max_batch_bytes=0"):
        topic.records(0)


def test_a_client_that_is_made_otherwise_is_refused_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka.consumer.fetcher.Fetcher._append", lambda self, part: 0)
    with pytest.raises(BusError, match="another structure than Headgate relies on"):
        KafkaRecords(ADDRESS, "clicks")


def run(world: BatchWorld, source: KafkaRecords) -> BatchReport:
    return BatchJob("job", source, world._producer(Fuse()), to_table, limits=LIMITS).run()


def test_a_job_takes_what_comes_before_a_bomb_and_stops_at_it_however_often_it_runs(topic: Topic) -> None:
    world = BatchWorld({})
    topic.batches = [holding(b"e-1", b"u-2"), BOMB, holding(b"u-3")]
    for _ in range(3):
        with pytest.raises(JobStopped, match=r"^job job can't go on: what lies at the offsets 3 to 4 .*leave_out="):
            run(world, topic.records())
        assert world.rows() == ["e-1", "e-before", "u-2"]


def test_a_job_goes_on_behind_what_it_is_told_to_leave_out_and_takes_the_rest_once(topic: Topic) -> None:
    world = BatchWorld({})
    topic.batches = [holding(b"e-1", b"u-2"), BOMB, holding(b"u-3")]
    with pytest.raises(JobStopped):
        run(world, topic.records())
    report = run(world, topic.records(leave_out=[(0, 3)]))
    assert (report.records, report.positions) == (1, {0: 6})
    assert run(world, topic.records()).records == 0, "what was passed for good is asked for again"
    assert world.rows() == ["e-1", "e-before", "u-2", "u-3"]


def test_a_job_for_ever_gets_behind_what_is_left_out_once_something_comes(topic: Topic) -> None:
    world = BatchWorld({})
    topic.batches = [BOMB]
    source = topic.records(leave_out=[(0, 1)])
    turns: list[int] = []

    def stopping() -> bool:
        turns.append(len(turns))
        if len(turns) == 4:
            topic.consumer.batches.append(holding(b"u-3"))
        return len(turns) > 8

    BatchJob("job", source, world._producer(Fuse()), to_table, limits=LIMITS).run(stopping, for_ever=True)
    assert world.rows() == ["e-before", "u-3"]
