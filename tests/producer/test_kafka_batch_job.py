"""Batch jobs on a real broker: the records of a topic, and the example from beginning to end."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from kafka import KafkaAdminClient, KafkaProducer

from headgate_bus.errors import BatchUnread, BusError, OffsetGone
from headgate_bus.interface import Extent
from headgate_bus.kafka.address import parse_kafka_address
from headgate_producer.batch.job import BatchJob, BatchLimits, Start
from headgate_producer.batch.kafka_source import KafkaRecords
from headgate_producer.errors import JobStopped
from headgate_schemas.ambient import SystemAmbient
from support.docs.page_blocks import DOCS, blocks_of
from support.kafka.fixtures import new_bus_address
from support.kafka.raw_batches import LZ4, SNAPPY, RawRecord, batch_of, bomb_batch, laid_out, send_batch, zstd_batch
from support.kafka.topics import new_topic
from support.processes.fuse import Fuse
from support.processes.waiting import wait_until
from support.producer.batch_world import BatchWorld, to_table

EXAMPLES = Path(__file__).parents[2] / "examples"


def produce(address: str, topic: str, bodies: Sequence[bytes], *, partition: int = 0, aborts: bool = False) -> None:
    """In one transaction, which leaves a mark behind the records."""
    producer = KafkaProducer(
        transactional_id=SystemAmbient().new_id(), **parse_kafka_address(address).client_settings()
    )
    producer.init_transactions()
    producer.begin_transaction()
    for body in bodies:
        producer.send(topic, body, partition=partition)
    producer.flush(30)
    if aborts:
        producer.abort_transaction()
    else:
        producer.commit_transaction()
    producer.close(10)


@pytest.fixture
def topic(kafka_address: str) -> str:
    return new_topic(kafka_address, 2)


@pytest.fixture
def source(kafka_address: str, topic: str) -> Iterator[KafkaRecords]:
    found = KafkaRecords(kafka_address, topic)
    yield found
    found.close()


def read_all(source: KafkaRecords, partition: int) -> list[bytes | None]:
    extent = source.extent(partition)
    offset, values = extent.first, []
    while offset < extent.next_offset:
        chunk = source.read(partition, offset, 10.0, 2)
        assert chunk.next_offset > offset, "nothing came in time"
        values += [record.value for record in chunk.records]
        offset = chunk.next_offset
    return values


def test_committed_records_are_read_and_aborted_ones_are_passed(
    kafka_address: str, topic: str, source: KafkaRecords
) -> None:
    produce(kafka_address, topic, [b"1", b"2", b"3"])
    produce(kafka_address, topic, [b"never"], aborts=True)
    produce(kafka_address, topic, [b"4"])
    produce(kafka_address, topic, [b"other"], partition=1)
    assert source.partitions() == [0, 1]
    assert source.extent(0) == Extent(0, 8)  # four records, an aborted one, and a mark for each transaction
    assert (read_all(source, 0), read_all(source, 1)) == ([b"1", b"2", b"3", b"4"], [b"other"])


def test_partitions_can_be_read_in_turns(kafka_address: str, topic: str, source: KafkaRecords) -> None:
    for partition in (0, 1):
        produce(kafka_address, topic, [b"%d-%d" % (partition, number) for number in range(3)], partition=partition)
    found = [source.read(partition, offset, 10.0, 1).records[0].value for offset in range(3) for partition in (0, 1)]
    assert found == [b"0-0", b"1-0", b"0-1", b"1-1", b"0-2", b"1-2"]


def test_an_offset_that_is_gone_is_an_error(kafka_address: str, topic: str, source: KafkaRecords) -> None:
    produce(kafka_address, topic, [b"1"])
    with pytest.raises(OffsetGone, match="offset 99"):
        source.read(0, 99, 30.0, 10)


def test_whatever_a_topic_holds_is_read_or_told_and_passed_when_it_is_named(kafka_address: str, topic: str) -> None:
    plain = laid_out([RawRecord(None, b"packed")])
    batches = [
        zstd_batch([RawRecord(b"\xff", b"odd header", [(b"\xff\xfe", b"\xfd")]), RawRecord()]),
        batch_of(pa.Codec("lz4").compress(plain, asbytes=True), 1, LZ4),
        batch_of(pa.Codec("snappy").compress(plain, asbytes=True), 1, SNAPPY),
        bomb_batch(2 << 20, before=[RawRecord(None, b"before")], behind=[RawRecord(None, b"beside")]),
        zstd_batch([RawRecord(None, b"behind")]),
    ]
    for batch in batches:
        assert send_batch(parse_kafka_address(kafka_address).servers[0], topic, batch) == 0
    read = [b"odd header", None, b"packed", b"packed", b"before"]
    careful = KafkaRecords(kafka_address, topic, max_batch_bytes=1 << 20)
    found: list[bytes | None] = []
    while len(found) < len(read):
        found += [record.value for record in careful.read(0, len(found), 10.0, 100).records]
    assert found == read
    for _ in range(2):
        with pytest.raises(
            BatchUnread, match=rf"the offsets 5 to 6 of partition 0 of topic {topic} .*leave_out=\[\(0, 5\)\]"
        ):
            careful.read(0, 5, 10.0, 100)
    careful.close()
    passing = KafkaRecords(kafka_address, topic, max_batch_bytes=1 << 20, leave_out=[(0, 5)])
    assert read_all(passing, 0) == [*read, b"behind"]
    passing.close()
    generous = KafkaRecords(kafka_address, topic)
    assert read_all(generous, 0) == [*read, bytes(2 << 20), b"beside", b"behind"]
    generous.close()


def test_a_topic_that_is_not_there_is_an_error(kafka_address: str) -> None:
    source = KafkaRecords(kafka_address, "no-such-topic")
    with pytest.raises(BusError, match="no topic no-such-topic"):
        source.partitions()
    source.close()


def run_example(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_example_takes_every_record_once(kafka_address: str, topic: str, tmp_path: Path) -> None:
    bus = new_bus_address(kafka_address)

    def run() -> str:
        done = run_example("kafka_batch_job.py", bus, topic, str(tmp_path / "clicks"))
        assert done.returncode == 0, done.stderr
        return done.stdout

    produce(kafka_address, topic, [json.dumps({"id": 1, "country": "de"}).encode()] * 3)
    assert run().startswith("3 records in 1 batches; next time from {0: 4, 1: 0}\nthe table holds 3 records\n")
    produce(kafka_address, topic, [json.dumps({"id": 2, "country": "fr"}).encode()], partition=1)
    assert run().endswith("the table holds 4 records\n")


def test_the_example_takes_what_the_other_one_fills_in(kafka_address: str, tmp_path: Path) -> None:
    bus, topic = new_bus_address(kafka_address), f"filled-{SystemAmbient().new_id()[:12]}"
    for _ in range(2):
        filled = run_example("kafka_fill_topic.py", bus, topic, "10")
        assert (filled.returncode, filled.stdout) == (0, f"10 records are in {topic}\n"), filled.stderr
    taken = run_example("kafka_batch_job.py", bus, topic, str(tmp_path / "clicks"))
    assert taken.stdout.endswith("the table holds 20 records\n"), taken.stderr


def test_the_guide_goes_as_it_says(kafka_address: str, tmp_path: Path) -> None:
    """From the topic on; what comes before is installing, and a broker."""
    blocks = blocks_of(DOCS / "guide-kafka-batch-job.md")
    steps = [block for block in blocks if block.kind == "sh" and block.heading[:1] in "234"]
    bus, topic = new_bus_address(kafka_address), f"clicks-{SystemAmbient().new_id()[:12]}"
    program = f'set -e\nexport PATH="{Path(sys.executable).parent}:$PATH"\n' + "\n".join(step.body for step in steps)
    program = program.replace("kafka://127.0.0.1:9092", f"'{bus}'").replace(" clicks ", f" {topic} ")
    (tmp_path / "examples").symlink_to(EXAMPLES)
    done = subprocess.run(
        ["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert f"1000 records are in {topic}\n" in done.stdout
    for line in next(block for block in blocks if block.kind == "text").body.splitlines():
        assert re.search(re.escape(line).replace("…", r"\d+"), done.stdout), done.stdout
    assert "country=de" in done.stdout.rpartition("num_records")[2]


def test_the_example_says_in_a_line_what_is_missing(kafka_address: str, tmp_path: Path) -> None:
    done = run_example("kafka_batch_job.py", new_bus_address(kafka_address), "no-such-topic", str(tmp_path / "clicks"))
    assert done.returncode == 1
    assert "no topic no-such-topic" in done.stderr
    assert "Traceback" not in done.stderr


def run_job(source: KafkaRecords, world: BatchWorld, start: Start = "earliest") -> int:
    job = BatchJob("job", source, world._producer(Fuse()), to_table, limits=BatchLimits(linger_s=0.0), start=start)
    return job.run().records


def test_a_topic_that_was_made_anew_stops_the_job(kafka_address: str, topic: str) -> None:
    world = BatchWorld({})
    produce(kafka_address, topic, [b"e-1", b"e-2"])
    first = KafkaRecords(kafka_address, topic)
    assert run_job(first, world) == 2
    first.close()
    admin = KafkaAdminClient(**parse_kafka_address(kafka_address).client_settings())
    admin.delete_topics([topic])
    wait_until(lambda: admin.describe_topics([topic])[0]["error_code"] != 0, "the topic is gone")
    admin.create_topics({topic: {"num_partitions": 2, "replication_factor": 1}})
    admin.wait_for_topics([topic])
    admin.close()
    produce(kafka_address, topic, [b"u-%d" % number for number in range(9)])
    second = KafkaRecords(kafka_address, topic)
    with pytest.raises(JobStopped, match="made anew"):
        run_job(second, world)
    second.close()
    assert world.rows() == ["e-1", "e-2"]


def test_what_comes_after_a_first_run_at_the_end_is_taken_from_every_partition(kafka_address: str, topic: str) -> None:
    world = BatchWorld({})
    produce(kafka_address, topic, [b"e-before"])
    source = KafkaRecords(kafka_address, topic)
    assert run_job(source, world, "latest") == 0
    produce(kafka_address, topic, [b"e-1"])
    produce(kafka_address, topic, [b"e-2"], partition=1)
    admin = KafkaAdminClient(**parse_kafka_address(kafka_address).client_settings())
    admin.create_partitions({topic: 3})
    wait_until(lambda: len(admin.describe_topics([topic])[0]["partitions"]) == 3, "the partition is there")
    admin.close()
    produce(kafka_address, topic, [b"u-3"], partition=2)
    assert run_job(source, world, "latest") == 3
    source.close()
    assert world.rows() == ["e-1", "e-2", "u-3"]
