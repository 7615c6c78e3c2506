"""The client's cooperative assignment of partitions in two rounds, with one correction to each member's claims.

In the first round, a partition that moves is assigned to nobody. The member that claims to own it gives it up and asks
for the second round. The client claims its last assignment even after its membership, and so the assignment, is lost.
It then has nothing to give up, no member asks for a second round, and the partition stays unassigned. So members claim
only the partitions that they really own.
"""

from collections.abc import Callable, Collection
from typing import Any

from kafka import TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor


class TruthfulAssignor(CooperativeStickyAssignor):  # type: ignore[misc]  # the client has no types
    """The assignor of one consumer. `owned` must return the consumer's partitions before it joins."""

    def __init__(self) -> None:
        super().__init__()
        self.owned: Callable[[], Collection[TopicPartition]] = tuple
        self.announced = b""
        """What others are to see of this member, for as long as it is one."""

    def metadata(self, topics: Any) -> Any:
        self.member_assignment = list(self.owned())
        told = super().metadata(topics)
        told.user_data = self.announced
        return told
