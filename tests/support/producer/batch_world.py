"""A table, a bus, a committer that is another process, and runs of a batch job that may be killed at any step."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from headgate_bus.interface import (
    DEFAULT_TIMEOUT_S,
    Bus,
    Extent,
    Follower,
    Mark,
    Message,
    MessagePlace,
    Reader,
    Record,
    Seat,
    Topic,
)
from headgate_committer.committer import Committer
from headgate_producer.batch.job import BatchJob, BatchLimits, BatchReport
from headgate_producer.batch.record_source import Chunk, SourceRecord, TopicIdentity
from headgate_producer.producer import Producer
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.sources import Source
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.committing.rig import Stores, context_of
from support.processes.fuse import Fuse
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import fresh_resources

TABLE = "memory://lake/clicks"
LIMITS = BatchLimits(max_records=4, linger_s=0.0, receipt_within_s=5.0, asks=3, stalled_after_s=5.0)


class FusedBus:
    def __init__(self, inner: Bus, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    @property
    def address(self) -> str:
        return self._inner.address

    def prepare(self) -> None:
        self._inner.prepare()

    def partitions(self, topic: Topic) -> int:
        return self._fuse.run("bus partitions", lambda: self._inner.partitions(topic))

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        return self._inner.partition_of(key, topic)

    def source(self, partition: int) -> Source:
        return self._inner.source(partition)

    def extent(self, topic: Topic, partition: int) -> Extent:
        return self._fuse.run("bus extent", lambda: self._inner.extent(topic, partition))

    def committed(self, group: str, partition: int) -> int | None:
        return self._inner.committed(group, partition)

    def mark(self, group: str, partition: int) -> Mark | None:
        return self._inner.mark(group, partition)

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        return self._fuse.run("bus append", lambda: self._inner.append(topic, messages, timeout_s))

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> Reader:
        return FusedReader(self._fuse.run("bus reader", lambda: self._inner.reader(topic, offsets)), self._fuse)

    def seat(self, group: str, roots: Sequence[str] = ()) -> Seat:
        return self._inner.seat(group, roots)

    def follow(self, group: str) -> Follower:
        return self._inner.follow(group)

    def trim(self, partition: int, before: int) -> None:
        self._inner.trim(partition, before)

    def close(self) -> None:
        self._inner.close()


class FusedReader:
    def __init__(self, inner: Reader, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        return self._fuse.run("bus read", lambda: self._inner.read(timeout_s, max_records))

    def offsets(self) -> Mapping[int, int]:
        return self._inner.offsets()

    def close(self) -> None:
        self._inner.close()


class ListedRecords:
    """A topic in lists: by partition, values by offset; None is an offset that holds no record."""

    def __init__(
        self, held: Mapping[int, list[str | None]], fuse: Fuse | None = None, ambient: Ambient | None = None
    ) -> None:
        self.held = held
        self._ambient = ambient or FakeAmbient()
        self.first = dict.fromkeys(held, 0)
        self.named = TopicIdentity("cluster", "first")
        self._fuse = fuse or Fuse()

    @property
    def topic(self) -> str:
        return "clicks"

    def identity(self) -> TopicIdentity:
        return self._fuse.run("source identity", lambda: self.named)

    def partitions(self) -> Sequence[int]:
        return self._fuse.run("source partitions", lambda: sorted(self.held))

    def extent(self, partition: int) -> Extent:
        return self._fuse.run("source extent", lambda: Extent(self.first[partition], len(self.held[partition])))

    def read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        return self._fuse.run("source read", lambda: self._read(partition, offset, timeout_s, min(max_records, 3)))

    def close(self) -> None:
        """Nothing is open."""

    def _read(self, partition: int, offset: int, timeout_s: float, count: int) -> Chunk:
        values = self.held[partition][offset : offset + count]
        if not values:
            self._ambient.sleep(timeout_s)
        records = [
            SourceRecord(partition, offset + number, 1, None, value.encode())
            for number, value in enumerate(values)
            if value is not None
        ]
        return Chunk(records, offset + len(values))


def to_table(records: Sequence[SourceRecord]) -> pa.Table:
    texts = [(record.value or b"").decode() for record in records]
    return pa.table({"text": texts, "region": [text[0] for text in texts]})


class BatchWorld:
    """`run` is one process from beginning to end. The committer works while that process waits for the bus."""

    def __init__(self, held: Mapping[int, list[str | None]], *, partition_by: Sequence[str] = ("region",)) -> None:
        self.ambient = FakeAmbient()
        self.bus = MemoryBus(self.ambient)
        self.bus.prepare()
        self.store = MemoryStore(self.ambient, uri=TABLE)
        self.held = held
        self.first: dict[int, int] = {}
        self.named = TopicIdentity("cluster", "first")
        self.is_committing = True
        self.commits_from_s = 0.0
        self.answer_within_s = 600.0
        stores = Stores({TABLE: self.store}, {"checkpoint.interval": "4"})
        self.committer = Committer(self.bus.again(), stores, context_of(self.ambient))
        with self._producer(Fuse()) as producer:
            producer.create(schema_string_of("text STRING, region STRING"), partition_by).wait(10)

    def run(self, fuse: Fuse | None = None, name: str = "job", **options: object) -> BatchReport:
        """Run the job until it has taken what is there, or the fuse ends it. A process that is ended closes nothing."""
        chosen = fuse or Fuse()
        source = ListedRecords(self.held, chosen, self.ambient)
        source.first.update(self.first)
        source.named = self.named
        settings: dict[str, object] = {"limits": LIMITS, **options}
        job = BatchJob(name, source, self._producer(chosen), to_table, **settings)  # type: ignore[arg-type]  # as given
        return job.run()

    def settle(self) -> None:
        """Let the committer decide whatever is on the bus."""
        for _ in range(50):
            self.committer.step(0.0)

    def rows(self) -> list[str]:
        table = Table(self.store, FakeAmbient("reader"), fresh_resources())
        found = table.snapshot().scan(["text"]).read_all().column("text").to_pylist()
        return sorted(found)

    def _producer(self, fuse: Fuse) -> Producer:
        bus = FusedBus(self.bus.again(wait=self._wait), fuse)
        store = FaultyStore(self.store, fuse.plan)
        return Producer(
            bus,
            TABLE,
            answer_within_s=self.answer_within_s,
            ambient=self.ambient,
            threads=False,
            store=store,
            resources=fresh_resources(),
        )

    def _wait(self, seconds: float) -> None:
        if self.is_committing and self.ambient.monotonic_s() >= self.commits_from_s:
            self.committer.step(0.0)
        self.ambient.sleep(seconds)
