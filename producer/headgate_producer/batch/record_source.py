"""Where a batch job's records come from, as the job sees it. Kafka's implementation is `kafka_source`."""

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
    """Records that follow one another, and the offset behind them: not every offset holds a record."""

    records: Sequence[SourceRecord]
    next_offset: int


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """What a topic keeps as long as it lives. None is what an old broker doesn't tell."""

    cluster: str | None
    topic_id: str | None


class RecordSource(Protocol):
    """A topic. One thread uses it. Failures are `HeadgateError`s."""

    @property
    def topic(self) -> str: ...

    def identity(self) -> TopicIdentity:
        """Of the topic that has this name now."""
        ...

    def partitions(self) -> Sequence[int]: ...

    def extent(self, partition: int) -> Extent:
        """What it holds now, as far as it is committed."""
        ...

    def read(self, partition: int, offset: int, timeout_s: float, max_records: int) -> Chunk:
        """Records from `offset` on, waiting for the first up to `timeout_s`. Raises where `offset` is gone.

        Raises `BatchUnread` where the next record can't be read, nor ever will be: those before it were given.
        """
        ...

    def close(self) -> None: ...
