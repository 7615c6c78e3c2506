"""The positions of a subscribed consumer in the partitions of its topic.

The group may revoke a partition at any moment, on the thread that joins, and the client's own calls then fail in three
ways. Here the failure is a return value, and the next poll reports the revocation.
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
    """The positions of one consumer. Any thread may use it."""

    def __init__(self, consumer: Any, topic: str) -> None:
        """`topic` is a name on the cluster."""
        self._consumer = consumer
        self._topic = topic
        self._lock = threading.Lock()
        self._cut: set[int] = set()

    def has(self, partition: int) -> bool:
        """Whether the partition is assigned to the consumer at this moment."""
        return self.of(partition) in self._consumer.assignment()

    def position(self, partition: int) -> int | None:
        """The next offset that is read.

        None if there is none yet, if the client must validate it first (the next poll does), or if the partition isn't
        the consumer's.
        """
        try:
            position = self._consumer.position(self.of(partition), timeout_ms=0)
        except LogTruncationError as error:
            # The client reports this once, and then continues to read as if nothing had happened.
            with self._lock:
                self._cut |= cut_partitions(error)
            return None
        except (KafkaError, KeyError):
            return None
        return None if position is None else int(position)

    def take_cut(self) -> frozenset[int]:
        """The partitions whose logs turned out to be cut when their positions were read, since the last call."""
        with self._lock:
            cut, self._cut = frozenset(self._cut), set()
        return cut

    def cut_again(self, partitions: Collection[int]) -> None:
        """Include these in the next `take_cut`."""
        with self._lock:
            self._cut |= set(partitions)

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> bool:
        """Continue at this offset. False if the partition isn't the consumer's; then it delivers nothing anyway.

        With the epoch of the record before, the client validates the log before it reads.
        """
        assert offset >= 0, "the client says the same of this as of a partition that was taken away"
        with self._lock:
            self._cut.discard(partition)  # an earlier report was about the earlier position
        try:
            self._consumer.seek(self.of(partition), offset)
            if leader_epoch is not None:
                # The public call takes no epoch.
                self._consumer._subscription.seek(self.of(partition), OffsetAndMetadata(offset, "", leader_epoch))
        except _TAKEN_AWAY:
            return False
        return True

    def pause(self, partition: int) -> bool:
        """Pause the partition; False as for `seek`."""
        try:
            self._consumer.pause(self.of(partition))
        except _TAKEN_AWAY:
            return False
        return True

    def resume(self, partition: int) -> bool:
        """Resume the partition; False as for `seek`."""
        try:
            self._consumer.resume(self.of(partition))
        except _TAKEN_AWAY:
            return False
        return True

    def of(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)
