"""A consumer of batches that no broker holds: the client's own class takes them apart, as it would take what was fetched."""

import struct
from collections import defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from kafka import TopicPartition
from kafka.consumer.fetcher import Fetcher
from kafka.record import MemoryRecords

_FORMAT_AT = 16
_LAST_OFFSET_AT = 23


class FetchedConsumer:
    """Of partition 0. As much of the client's consumer as is asked of it; `batches` may grow."""

    def __init__(self, topic: str, batches: Sequence[bytes]) -> None:
        self.batches = list(batches)
        self.fetches: list[int] = []
        """The offsets that were fetched from, in turn."""
        self._place = TopicPartition(topic, 0)
        self._position = 0
        self._part: Any = None
        self._fetcher = SimpleNamespace(PartitionRecords=Fetcher.PartitionRecords, _append=self._append)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0}

    def beginning_offsets(self, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 0)

    def end_offsets(self, places: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, sum(_count(batch) for batch in self.batches))

    def assign(self, places: Sequence[TopicPartition]) -> None:
        assert places == [self._place]

    def seek(self, place: TopicPartition, offset: int) -> None:
        self._position, self._part = offset, None

    def position(self, place: TopicPartition) -> int:
        return self._position

    def poll(self, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[Any]]:
        if not self._part:
            self._part = self._fetched()
        drained: dict[TopicPartition, list[Any]] = defaultdict(list)
        if self._part:
            self._fetcher._append(drained, self._part, max_records, True)
        return dict(drained)

    def close(self) -> None:
        """Nothing is open."""

    def _fetched(self) -> Any:
        """From the batch on that holds the position, as brokers answer."""
        base, data = 0, b""
        for batch in self.batches:
            if base + _count(batch) > self._position:
                data += struct.pack(">q", base) + batch[8:]
            base += _count(batch)
        if not data:
            return None
        self.fetches.append(self._position)
        return self._fetcher.PartitionRecords(self._position, self._place, MemoryRecords(data))

    def _append(self, drained: Any, part: Any, max_records: int, update_offsets: bool) -> int:
        records = part.take(max_records)
        if records:
            drained[self._place].extend(records)
        self._position = part.next_fetch_offset
        return len(records)


def _count(batch: bytes) -> int:
    if batch[_FORMAT_AT] < 2:
        return 1
    return int(struct.unpack_from(">i", batch, _LAST_OFFSET_AT)[0]) + 1
