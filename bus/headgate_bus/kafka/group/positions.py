"""Where a subscribed consumer stands in the partitions of its topic. The group may take any of them away at any moment, by the
thread that joins, and the client's own calls then fail in three ways; here that is an answer, and the next poll tells the rest.
"""

import threading
from collections.abc import Collection
from typing import Any

from kafka import OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError, LogTruncationError

from headgate_bus.kafka.errors import cut_partitions

_TAKEN_AWAY = (KeyError, ValueError)
"""What the client raises where somebody seeks, pauses or resumes in a partition that isn't the consumer's."""


class KafkaPlaces:
    """Any thread may use it."""

    def __init__(self, consumer: Any, topic: str) -> None:
        """`topic` is a name on the cluster."""
        self._consumer = consumer
        self._topic = topic
        self._lock = threading.Lock()
        self._cut: set[int] = set()

    def has(self, partition: int) -> bool:
        """Whether the partition is the consumer's at this moment."""
        return self.of(partition) in self._consumer.assignment()

    def position(self, partition: int) -> int | None:
        """The next offset that is read. None where there is none yet, where the client doubts it, which the next poll clears up,
        and for a partition that is not the consumer's."""
        try:
            position = self._consumer.position(self.of(partition), timeout_ms=0)
        except LogTruncationError as error:
            # The client says so once, and then reads on as if nothing were.
            with self._lock:
                self._cut |= cut_partitions(error)
            return None
        except (KafkaError, KeyError):
            return None
        return None if position is None else int(position)

    def take_cut(self) -> frozenset[int]:
        """The partitions of which a look at the position brought out that their logs were cut, since this was last asked."""
        with self._lock:
            cut, self._cut = frozenset(self._cut), set()
        return cut

    def cut_again(self, partitions: Collection[int]) -> None:
        """Have the next `take_cut` name these."""
        with self._lock:
            self._cut |= set(partitions)

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> bool:
        """Read on from there; False where the partition is not the consumer's, of which then nothing comes anyway.

        With the epoch of the record before, the client compares the log with it before it reads.
        """
        assert offset >= 0, "the client says the same of this as of a partition that was taken away"
        with self._lock:
            self._cut.discard(partition)  # said of where it stood before
        try:
            self._consumer.seek(self.of(partition), offset)
            if leader_epoch is not None:
                # The public call takes no epoch.
                self._consumer._subscription.seek(self.of(partition), OffsetAndMetadata(offset, "", leader_epoch))
        except _TAKEN_AWAY:
            return False
        return True

    def pause(self, partition: int) -> bool:
        """As `seek`."""
        try:
            self._consumer.pause(self.of(partition))
        except _TAKEN_AWAY:
            return False
        return True

    def resume(self, partition: int) -> bool:
        """As `seek`."""
        try:
            self._consumer.resume(self.of(partition))
        except _TAKEN_AWAY:
            return False
        return True

    def of(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)
