"""Records the partitions that a group assigns and revokes. Any thread that drives the consumer's join may call it."""

import threading
from collections.abc import Collection
from dataclasses import dataclass

from kafka import ConsumerRebalanceListener, TopicPartition

from headgate_bus.kafka.group.positions import KafkaPlaces


@dataclass(frozen=True, slots=True)
class AssignmentChange:
    """The partitions assigned and revoked since the last look."""

    given: frozenset[int]
    """All partitions that are the member's now."""
    lost: frozenset[int]
    """Whatever was taken since then, given again or not."""
    is_new: bool
    """Whether anything came or went, or somebody asked to look again."""


class Comings(ConsumerRebalanceListener):  # type: ignore[misc]  # the client has no types
    """Called while the consumer joins, which must not wait for anything here."""

    def __init__(self, places: KafkaPlaces) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._given: set[int] = set()
        self._lost: set[int] = set()
        self._is_new = False

    @property
    def has_news(self) -> bool:
        """Whether `take` has news."""
        return self._is_new

    def take(self) -> AssignmentChange:
        """Return the changes in one step. Later changes, made while the caller handles these, come with the next call."""
        with self._lock:
            change = AssignmentChange(frozenset(self._given), frozenset(self._lost), self._is_new)
            self._lost.clear()
            self._is_new = False
        return change

    def look_again(self) -> None:
        """Report the assigned partitions again at the next look, even without a change."""
        with self._lock:
            self._is_new = True

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        numbers = {place.partition for place in assigned}
        for number in numbers:
            # Without a position the consumer would ask for the committed offset, and fail if there is none.
            self._places.seek(number, 0)
            self._places.pause(number)
        with self._lock:
            self._given |= numbers
            self._is_new |= bool(numbers)

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        numbers = {place.partition for place in revoked}
        with self._lock:
            self._given -= numbers
            self._lost |= numbers
            self._is_new |= bool(numbers)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        self.on_partitions_revoked(lost)
