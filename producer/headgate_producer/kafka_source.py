"""The records of a Kafka topic, for batch jobs: committed ones only, from explicit offsets, in no consumer group."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headgate_bus.errors import BusError, OffsetGone
from headgate_bus.interface import Extent
from headgate_bus.kafka_address import parse_kafka_address
from headgate_producer.record_source import Chunk, SourceRecord

try:
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import KafkaError, OffsetOutOfRangeError

    from headgate_bus.kafka_errors import translated
except ModuleNotFoundError as error:
    raise BusError(
        "reading a Kafka topic needs a library that is not installed: pip install 'headgate[kafka]'"
    ) from error

_REQUEST_TIMEOUT_MS = 30_000

T = TypeVar("T")


class KafkaRecords:
    """`address` is that of a Kafka bus, `kafka://host:port?security_protocol=…`; its prefix is not looked at.

    `options` are those of kafka-python's consumer.
    """

    def __init__(self, address: str, topic: str, **options: Any) -> None:
        self._address = parse_kafka_address(address)
        self._topic = topic
        self._assigned: TopicPartition | None = None
        self._consumer: KafkaConsumer = self._asked(
            "connecting for the records",
            lambda: KafkaConsumer(
                **{
                    # Anything but "none" would silently jump where an offset is gone.
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

    @property
    def topic(self) -> str:
        return self._topic

    def partitions(self) -> Sequence[int]:
        found = self._asked("listing the partitions", lambda: self._consumer.partitions_for_topic(self._topic))
        if not found:
            raise BusError(f"there is no topic {self._topic}: create it, or look at its spelling")
        return sorted(found)

    def extent(self, partition: int) -> Extent:
        place = TopicPartition(self._topic, partition)
        first = self._asked("asking for the first offset", lambda: self._consumer.beginning_offsets([place]))
        end = self._asked("asking for the end", lambda: self._consumer.end_offsets([place]))
        return Extent(first[place], end[place])

    def read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        return self._asked("reading", lambda: self._read(partition, offset, timeout_s, max_records))

    def close(self) -> None:
        self._consumer.close()

    def _read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        place = TopicPartition(self._topic, partition)
        if self._assigned != place:
            self._consumer.assign([place])
            self._assigned = place
            self._consumer.seek(place, offset)
        elif self._consumer.position(place) != offset:
            self._consumer.seek(place, offset)
        try:
            polled = self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=max_records)
        except OffsetOutOfRangeError as error:
            extent = self.extent(partition)
            raise OffsetGone(
                f"offset {offset} of topic {self._topic}, partition {partition}, is gone: the topic holds {extent.first} to "
                f"{extent.next_offset}",
                partition,
                offset,
                extent.first,
                extent.next_offset,
            ) from error
        records = [
            SourceRecord(partition, record.offset, record.timestamp, record.key, record.value)
            for record in polled.get(place, ())
        ]
        return Chunk(records, max(offset, self._consumer.position(place)))

    def _asked(self, what: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except KafkaError as error:
            raise translated(error, f"{what} of topic {self._topic}", self._address) from error
