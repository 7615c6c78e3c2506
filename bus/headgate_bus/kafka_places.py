"""Where a subscribed consumer stands in the partitions of its topic. The group may take any of them away at any moment, by the
thread that joins, and the client's own calls then fail in three ways; here that is an answer, and the next poll tells the rest.
"""

from typing import Any

from kafka import TopicPartition
from kafka.errors import KafkaError

_TAKEN_AWAY = (KeyError, ValueError)
"""What the client raises where somebody seeks, pauses or resumes in a partition that isn't the consumer's."""


class KafkaPlaces:
    """Any thread may use it."""

    def __init__(self, consumer: Any, topic: str) -> None:
        """`topic` is a name on the cluster."""
        self._consumer = consumer
        self._topic = topic

    def has(self, partition: int) -> bool:
        """Whether the partition is the consumer's at this moment."""
        return self.of(partition) in self._consumer.assignment()

    def position(self, partition: int) -> int | None:
        """The next offset that is read. None where there is none yet, where the client doubts it, which the next poll clears up,
        and for a partition that is not the consumer's."""
        try:
            position = self._consumer.position(self.of(partition), timeout_ms=0)
        except (KafkaError, KeyError):
            return None
        return None if position is None else int(position)

    def seek(self, partition: int, offset: int) -> bool:
        """Read on from there; False where the partition is not the consumer's, of which then nothing comes anyway."""
        assert offset >= 0, "the client says the same of this as of a partition that was taken away"
        try:
            self._consumer.seek(self.of(partition), offset)
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
