"""Followers of the events of a bus in memory: shares are dealt round among the members that the group believes alive."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headgate_bus.errors import BusError, Fenced, OffsetGone
from headgate_bus.interface import Record, Topic

if TYPE_CHECKING:
    from support.bus.memory import MemoryBus


@dataclass(slots=True)
class FollowingGroup:
    """`owner` is the cluster's view of who holds what; a member learns of it in `poll`, or when it settles."""

    members: list["MemoryFollower"] = field(default_factory=list)
    owner: dict[int, "MemoryFollower"] = field(default_factory=dict)
    settled: dict[int, int] = field(default_factory=dict)

    def meant_for(self, member: "MemoryFollower", partitions: int) -> set[int]:
        return set(range(self.members.index(member), partitions, len(self.members)))

    def leave(self, leaving: "MemoryFollower") -> None:
        self.members = [member for member in self.members if member is not leaving]
        self.owner = {number: owner for number, owner in self.owner.items() if owner is not leaving}


class MemoryFollower:
    def __init__(self, bus: "MemoryBus", group: str) -> None:
        self._bus = bus
        self._name = group
        self._group = bus.cluster.following(group)
        self._group.members.append(self)
        self._positions: dict[int, int] = {}
        self._missed: set[int] = set()
        self._closed = False

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        self._check_open()
        return self._bus.until_found(timeout_s, lambda: self._look(max_records))

    def held(self) -> frozenset[int]:
        return frozenset(self._positions)

    def position(self, partition: int) -> int | None:
        return self._positions.get(partition)

    def missed(self) -> frozenset[int]:
        missed, self._missed = self._missed, set()
        return frozenset(missed & self._positions.keys())

    def settle(self, partition: int, next_offset: int) -> None:
        self._check_open()
        with self._bus.cluster.lock:
            self._bus.cluster.check_available()
            if self._group.owner.get(partition) is not self or partition not in self._positions:
                self._positions.pop(partition, None)
                raise Fenced(f"partition {partition} of events is another member's of group {self._name} by now")
            if next_offset > self._positions[partition]:
                raise BusError(
                    f"group {self._name} can't settle offset {next_offset} of events, partition {partition}: only what lies"
                    f" below {self._positions[partition]} was read here"
                )
            self._group.settled[partition] = max(self._group.settled.get(partition, 0), next_offset)

    def close(self) -> None:
        with self._bus.cluster.lock:
            self._closed = True
            self._positions.clear()
            self._group.leave(self)

    def expire(self) -> None:
        """The group takes this member for dead. It may join again by its next poll."""
        with self._bus.cluster.lock:
            self._group.leave(self)

    def _look(self, max_records: int) -> list[Record] | None:
        before = self.held()
        self._share_out()
        while True:
            # On a copy, so that an offset that is gone leaves the other positions as they were.
            positions = dict(self._positions)
            try:
                found = self._bus.cluster.take(Topic.EVENTS, positions, sorted(positions), max_records)
            except OffsetGone as gone:
                self._missed.add(gone.partition)
                self._positions[gone.partition] = gone.first
            else:
                self._positions = positions
                return found if found or self.held() != before else None

    def _share_out(self) -> None:
        group, cluster = self._group, self._bus.cluster
        if self not in group.members:
            group.members.append(self)
        meant = group.meant_for(self, self._bus.partitions(Topic.EVENTS))
        lost = {number for number in self._positions if group.owner.get(number) is not self or number not in meant}
        for number in lost:
            del self._positions[number]
            if group.owner.get(number) is self:
                del group.owner[number]
        # What was lost comes back in a later poll at the earliest: the holder has to see that it was gone.
        for number in meant - self._positions.keys() - lost:
            if number not in group.owner:
                group.owner[number] = self
                self._positions[number] = group.settled.get(number, cluster.partition(Topic.EVENTS, number).first)

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this follower was closed; take another")
