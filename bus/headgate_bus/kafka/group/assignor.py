"""How a group shares its partitions out: the client's own way, in two rounds, with what each member says it has put right.

A partition that is to move is given to nobody in the first round; whoever said it has it lets go of it, and asks for the second.
The client says what it was given last, also once its membership, and all of that with it, was lost. Then there is nothing to let
go of, nobody asks for a second round, and the partition stays nobody's.
"""

from collections.abc import Callable, Collection
from typing import Any

from kafka import TopicPartition
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor


class TruthfulAssignor(CooperativeStickyAssignor):  # type: ignore[misc]  # the client has no types
    """Of one consumer, whose partitions `owned` has to tell before it joins."""

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
