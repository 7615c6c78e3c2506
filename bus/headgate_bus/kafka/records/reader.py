"""Reads partitions of a topic from given offsets, as a consumer without a group."""

from collections.abc import Callable, Collection, Mapping, Sequence

from kafka import TopicPartition
from kafka.errors import KafkaError, LogTruncationError, NoOffsetForPartitionError, OffsetOutOfRangeError

from headgate_bus.errors import BusError, OffsetGone
from headgate_bus.interface import Extent, Record, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.clients import CLOSE_TIMEOUT_S, new_consumer
from headgate_bus.kafka.cluster import KafkaCluster
from headgate_bus.kafka.errors import cut_partitions, translated
from headgate_bus.kafka.records.records import as_records

OUT_OF_RANGE = (OffsetOutOfRangeError, NoOffsetForPartitionError, LogTruncationError)


class KafkaReader:
    """A reader on Kafka, for one thread."""

    def __init__(
        self,
        address: KafkaAddress,
        cluster: KafkaCluster,
        topic: Topic,
        offsets: Mapping[int, int],
    ) -> None:
        self._address = address
        self._cluster = cluster
        self._topic = topic
        self._name = address.topic(topic)
        self._offsets = dict(offsets)
        self._closed = False
        self._check_extents()
        self._consumer = new_consumer(address)
        places = [TopicPartition(self._name, partition) for partition in sorted(offsets)]
        try:
            self._consumer.assign(places)
            for place in places:
                self._consumer.seek(place, offsets[place.partition])
        except BaseException:
            self.close()
            raise

    @property
    def closed(self) -> bool:
        return self._closed

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        if self._closed:
            raise BusError("this reader was closed; open another")
        places = {partition: TopicPartition(self._name, partition) for partition in self._offsets}
        try:
            found = self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=max_records)
            # The consumer's position skips the marks of transactions, which have offsets but are no records.
            positions = {number: self._consumer.position(place, timeout_ms=0) for number, place in places.items()}
        except KafkaError as error:
            for number, place in places.items():
                # found but not returned: the next call finds it again
                self._consumer.seek(place, self._offsets[number])
            if isinstance(error, OUT_OF_RANGE):
                check_cut(self._name, self._offsets, cut_partitions(error), self._extent_of)
                self._check_extents()
            elif error.retriable:
                return []
            raise translated(error, f"reading {self._name}", self._address) from error
        self._offsets |= {number: position for number, position in positions.items() if position is not None}
        return as_records(found)

    def offsets(self) -> Mapping[int, int]:
        return dict(self._offsets)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._consumer.close(autocommit=False, timeout_ms=int(CLOSE_TIMEOUT_S * 1000))

    def _check_extents(self) -> None:
        check_offsets(self._name, self._offsets, self._extent_of)

    def _extent_of(self, partition: int) -> Extent:
        return self._cluster.extent(self._topic, partition)


def check_cut(name: str, offsets: Mapping[int, int], cut: Collection[int], extent_of: Callable[[int], Extent]) -> None:
    """Raise `OffsetGone` for the first partition whose log was cut, even if it has grown beyond the offset since.

    The client reports a cut once, and would then read the new records at the same offsets.
    """
    for partition, offset in sorted(offsets.items()):
        if partition in cut:
            extent = extent_of(partition)
            raise OffsetGone(
                f"{name}, partition {partition}, lost its end or was made anew after it was read up to offset {offset}; it holds"
                f" {extent.first} to {extent.next_offset} now",
                partition,
                offset,
                extent.first,
                extent.next_offset,
            )


def check_offsets(name: str, offsets: Mapping[int, int], extent_of: Callable[[int], Extent]) -> None:
    """Raise `OffsetGone` for the first offset outside of its partition's extent."""
    for partition, offset in sorted(offsets.items()):
        extent = extent_of(partition)
        if not extent.first <= offset <= extent.next_offset:
            raise OffsetGone(
                f"offset {offset} of {name}, partition {partition}, is outside of what the bus holds, {extent.first} to"
                f" {extent.next_offset}: it was trimmed, or the topic was made anew",
                partition,
                offset,
                extent.first,
                extent.next_offset,
            )
