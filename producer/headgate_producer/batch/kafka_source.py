"""The records of a Kafka topic for batch jobs: committed records only, from explicit offsets, without a consumer group."""

from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from headgate_bus.errors import BatchUnread, BusError, OffsetGone
from headgate_bus.interface import Extent
from headgate_bus.kafka.address import parse_kafka_address
from headgate_producer.batch.record_source import Chunk, SourceRecord, TopicIdentity
from headgate_producer.errors import JobStopped
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger

try:
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import KafkaError, LogTruncationError, OffsetOutOfRangeError

    from headgate_bus.kafka.cluster import KafkaCluster
    from headgate_bus.kafka.deadline_calls import KafkaCalls
    from headgate_bus.kafka.errors import translated
    from headgate_bus.kafka.fetched.fetching import check_client, take_apart_within_bounds
    from headgate_bus.kafka.fetched.unpacking import CODECS, Unpacking
except ModuleNotFoundError as error:
    # Told by the constructor: `from headgate import *` imports every public name.
    _MISSING: ModuleNotFoundError | None = error
else:
    _MISSING = None

MAX_BATCH_BYTES = 64 << 20
"""Of a batch that was unpacked. As much as a batch of the job may hold; of the producers nothing is known."""
MAX_WINDOW_BYTES = 128 << 20
"""What a decompressor may need to look back: zstd at any level."""
_REQUEST_TIMEOUT_MS = 30_000

_log = get_logger("headgate.batch_job")

T = TypeVar("T")


class KafkaRecords:
    """The records of a Kafka topic. `address` is that of a Kafka bus, `kafka://host:port?security_protocol=…`; its prefix is
    ignored.

    A batch that cannot be read, or that unpacks to more than `max_batch_bytes`, is an error (`BatchUnread`) after the
    records before it. `leave_out` names the batches to skip: for each such error, the partition and an offset that it
    names. `options` are those of kafka-python's consumer.
    """

    def __init__(
        self,
        address: str,
        topic: str,
        *,
        max_batch_bytes: int = MAX_BATCH_BYTES,
        leave_out: Collection[tuple[int, int]] = (),
        ambient: Ambient | None = None,
        **options: Any,
    ) -> None:
        if _MISSING is not None:
            raise BusError(
                "reading a Kafka topic needs a library that is not installed: pip install 'headgate[kafka]'"
            ) from _MISSING
        if max_batch_bytes < 1:
            raise InvalidInput(f"max_batch_bytes={max_batch_bytes} leaves nothing to read; give a number above 0")
        self._address = parse_kafka_address(address)
        self._topic = topic
        self._leave_out = frozenset(leave_out)
        self._left_out: set[tuple[int, int, int]] = set()
        """Partition, first and last offset of what was passed. It isn't unpacked again while the job waits behind it."""
        self._cluster = KafkaCluster(self._address, KafkaCalls(), ambient or SystemAmbient())
        check_client()
        self._assigned: TopicPartition | None = None
        self._consumer: KafkaConsumer = self._asked(
            "connecting for the records",
            lambda: KafkaConsumer(
                **{
                    # Any value but "none" would silently jump if an offset is gone.
                    "auto_offset_reset": "none",
                    **self._address.client_settings(),
                    "enable_auto_commit": False,
                    "isolation_level": "read_committed",
                    "request_timeout_ms": _REQUEST_TIMEOUT_MS,
                    "reconnect_backoff_max_ms": 1_000,
                    "max_partition_fetch_bytes": 8 << 20,
                    **options,
                },
            ),
        )
        beyond = "(max_batch_bytes): allow more, if there is memory for three times as much"
        allowed = Unpacking(max_batch_bytes, MAX_WINDOW_BYTES, tuple(CODECS), beyond)
        take_apart_within_bounds(self._consumer, allowed, needs_all=True)

    @property
    def topic(self) -> str:
        """The name of the topic."""
        return self._topic

    def identity(self) -> TopicIdentity:
        """The ids of the cluster and of the topic with this name now."""
        found = self._cluster.any_topic(self._topic)
        return TopicIdentity(found.cluster, found.topic_id)

    def partitions(self) -> Sequence[int]:
        """The partitions of the topic. Asks the cluster each time, because the consumer's own list may be minutes old."""
        return list(self._cluster.any_topic(self._topic).partitions)

    def extent(self, partition: int) -> Extent:
        """The first offset of a partition, and the offset after its last committed record."""
        place = TopicPartition(self._topic, partition)
        first = self._asked("asking for the first offset", lambda: self._consumer.beginning_offsets([place]))
        end = self._asked("asking for the end", lambda: self._consumer.end_offsets([place]))
        return Extent(first[place], end[place])

    def read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        """Records from `offset` on. Waits for the first one up to `timeout_s`."""
        return self._asked("reading", lambda: self._read(partition, offset, timeout_s, max_records))

    def close(self) -> None:
        """Close the connections to the cluster."""
        self._cluster.close()
        self._consumer.close()

    def _read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        """Reads through skipped batches, because a job that waits at an offset expects the records from there."""
        place, start, polled = TopicPartition(self._topic, partition), offset, None
        while polled is None:
            start = self._behind_left_out(partition, start)
            try:
                polled = self._polled(place, start, timeout_s, max_records)
            except BatchUnread as unread:
                self._pass(unread, start)
        records = [
            SourceRecord(partition, record.offset, record.timestamp, record.key, record.value)
            for record in polled.get(place, ())
        ]
        return Chunk(records, max(offset, self._consumer.position(place)))

    def _polled(self, place: "TopicPartition", offset: int, timeout_s: float, max_records: int) -> Any:
        if self._assigned != place:
            self._consumer.assign([place])
            self._assigned = place
            self._consumer.seek(place, offset)
        elif self._consumer.position(place) != offset:
            self._consumer.seek(place, offset)
        try:
            return self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=max_records)
        except OffsetOutOfRangeError as error:
            extent = self.extent(place.partition)
            raise OffsetGone(
                f"offset {offset} of topic {self._topic}, partition {place.partition}, is gone: the topic holds {extent.first} to "
                f"{extent.next_offset}",
                place.partition,
                offset,
                extent.first,
                extent.next_offset,
            ) from error

    def _behind_left_out(self, partition: int, offset: int) -> int:
        for place, first, last in sorted(self._left_out):
            if place == partition and first <= offset <= last:
                offset = last + 1
        return offset

    def _pass(self, unread: BatchUnread, start: int) -> None:
        """Raise the error again with its remedy, unless the batch is to be skipped. There was no record between `start`
        and it.
        """
        partition, first, last = unread.partition, unread.first, unread.last
        if not any(place == partition and first <= named <= last for place, named in self._leave_out):
            raise BatchUnread(
                f"{unread}. To skip these records, give KafkaRecords leave_out=[({partition}, {first})]",
                partition,
                first,
                last,
            ) from unread
        self._left_out.add((partition, start, last))
        _log.warning("records_left_out", topic=self._topic, partition=partition, first=first, last=last)

    def _asked(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except LogTruncationError as error:
            raise JobStopped(
                f"topic {self._topic} lost records that were read from it ({error}), as after the election of a leader that did "
                f"not have them: other records may lie at their offsets by now. To take the topic from its beginning, run the job "
                f"under another name"
            ) from error
        except KafkaError as error:
            raise translated(error, f"{what} of topic {self._topic}", self._address) from error
