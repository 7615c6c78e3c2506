"""The interface of a source of records for batch jobs. `kafka_source` implements it for Kafka."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate_bus.interface import Extent


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """One record of a topic.

    Examples:
        >>> record = headgate.SourceRecord(partition=0, offset=5, time_ms=0, key=b"k", value=b"value")
        >>> record.size
        6
    """

    partition: int
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None

    @property
    def size(self) -> int:
        """The number of bytes of key and value together."""
        return len(self.key or b"") + len(self.value or b"")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive records, and the offset after them, because not every offset holds a record."""

    records: Sequence[SourceRecord]
    next_offset: int


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """The ids of a topic, which stay as long as it exists. None stands for an id that an old broker doesn't report."""

    cluster: str | None
    topic_id: str | None


class RecordSource(Protocol):
    """A topic, for one thread. Failures are `HeadgateError`s."""

    @property
    def topic(self) -> str: ...

    def identity(self) -> TopicIdentity:
        """The ids of the topic that has this name now."""
        ...

    def partitions(self) -> Sequence[int]: ...

    def extent(self, partition: int) -> Extent:
        """The offsets that the partition holds now, up to the last committed record."""
        ...

    def read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        """Records from `offset` on, waiting for the first up to `timeout_s`. Raises if `offset` is gone.

        Raises `BatchUnread` if the next record can never be read; the records before it were returned.
        """
        ...

    def close(self) -> None: ...
