"""A bus in memory for simulations and tests. Deterministic; threads may share it.

It is as strict as the strictest real one: publishing leaves gaps in the offsets, as Kafka's transaction markers do,
partitions come and go only in `poll`, and what is not held can't be published.
"""

import bisect
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headgate_bus.errors import BusError, BusUnavailable, Fenced, OffsetGone
from headgate_bus.interface import DEFAULT_TIMEOUT_S, Deployment, Extent, Mark, Message, MessagePlace, Record, Topic
from headgate_bus.message_bounds import check_messages
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.sources import Source
from support.bus.memory_follower import FollowingGroup, MemoryFollower

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.05

Wait = Callable[[float], None]


@dataclass(slots=True)
class _Partition:
    first: int = 0
    next_offset: int = 0
    last_time_ms: int = 0
    records: list[Record] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """Where each leader has led from, as (epoch, offset); empty on a bus without leaders."""

    def append(self, number: int, message: Message, now_ms: int) -> MessagePlace:
        self.last_time_ms = max(self.last_time_ms, now_ms)
        record = Record(
            number,
            self.next_offset,
            self.last_time_ms,
            message.key,
            bytes(message.body),
            dict(message.headers),
            leader_epoch=self.epoch,
        )
        self.records.append(record)
        self.next_offset += 1
        return MessagePlace(number, record.offset)

    def index(self, offset: int) -> int:
        return bisect.bisect_left(self.records, offset, key=lambda record: record.offset)

    def trim(self, before: int) -> None:
        self.first = max(self.first, min(before, self.next_offset))
        del self.records[: self.index(self.first)]

    def lose_tail(self, end: int) -> None:
        self.next_offset = max(self.first, min(end, self.next_offset))
        del self.records[self.index(self.next_offset) :]
        epoch = self.epoch
        if epoch is not None:  # whoever lost it is another leader
            self.epochs = [(each, start) for each, start in self.epochs if start < self.next_offset]
            self.epochs.append((epoch + 1, self.next_offset))

    @property
    def epoch(self) -> int | None:
        """Of who leads now."""
        return self.epochs[-1][0] if self.epochs else None

    def end_of(self, epoch: int | None) -> int:
        """Where the records of that leader and of those before end."""
        later = [start for each, start in self.epochs if epoch is not None and each > epoch]
        return min(later, default=self.next_offset)


@dataclass(slots=True)
class _Group:
    """`owner` is the cluster's view of who holds what; a seat learns of it in `poll`, or by being fenced."""

    members: list["MemorySeat"] = field(default_factory=list)
    owner: dict[int, "MemorySeat"] = field(default_factory=dict)
    committed: dict[int, int] = field(default_factory=dict)
    marks: dict[int, tuple[int, "Mark | None"]] = field(default_factory=dict)
    """With the offsets that they were said with: another offset has another mark, or none."""

    def meant_for(self, seat: "MemorySeat", partitions: int) -> set[int]:
        place = self.members.index(seat)
        return {number for number in range(partitions) if number % len(self.members) == place}

    def leave(self, seat: "MemorySeat") -> None:
        self.members = [member for member in self.members if member is not seat]
        self.owner = {number: owner for number, owner in self.owner.items() if owner is not seat}


class MemoryCluster:
    """What the handles of one bus share: the records, and the groups. Tests that play the administrator use it."""

    def __init__(
        self,
        ambient: Ambient,
        partitions: int | Mapping[Topic, int] = 1,
        *,
        gaps: bool = True,
        leaders: bool = False,
    ) -> None:
        """`leaders`: records tell in whose term they were appended, and whoever lost some is followed by another leader."""
        self.ambient = ambient
        self.leaders = leaders
        self.lock = threading.RLock()
        self.gaps = gaps
        self.cluster_id = f"memory-{ambient.new_id()}"
        self.available = True
        self.announces = True
        """Whether committers see each other; else they are as blind as older releases were."""
        self._counts = {
            topic: partitions if isinstance(partitions, int) else partitions.get(topic, 1) for topic in Topic
        }
        self.topic_ids: dict[Topic, str] = {}
        self.logs: dict[Topic, list[_Partition]] = {}
        self._groups: dict[str, _Group] = {}
        self._following: dict[str, FollowingGroup] = {}

    def prepare(self) -> None:
        with self.lock:
            self.check_available()
            for topic in Topic:
                if topic not in self.logs:
                    self.recreate(topic)

    def recreate(self, topic: Topic, *, forgets: bool = True) -> None:
        """Make the topic anew: empty, from offset 0, with another id. Groups forget what they had settled, unless that
        `forgets` nothing.
        """
        with self.lock:
            self.topic_ids[topic] = self.ambient.new_id()
            self.logs[topic] = [self._new_partition() for _ in range(self._counts[topic])]
            if topic is Topic.PROPOSALS and forgets:
                for group in self._groups.values():
                    group.committed.clear()
                    group.marks.clear()

    def add_partitions(self, topic: Topic, count: int) -> None:
        """As an administrator may: keys go to other partitions from now on, and what is there stays where it is."""
        with self.lock:
            self._counts[topic] = count
            self.logs[topic] += [self._new_partition() for _ in range(count - len(self.logs[topic]))]

    def _new_partition(self) -> _Partition:
        return _Partition(epochs=[(0, 0)] if self.leaders else [])

    @staticmethod
    def home_among(key: str, count: int) -> int:
        """Where the key would go in a topic of so many partitions."""
        return zlib.crc32(key.encode()) % count

    def truncate(self, topic: Topic, partition: int, before: int) -> None:
        """Lose what is below an offset, settled or not, as a broker with a wrong retention does."""
        with self.lock:
            self.partition(topic, partition).trim(before)

    def lose_tail(self, topic: Topic, partition: int, end: int) -> None:
        """Lose what was appended from an offset on, as a broker does that was elected without it. What groups have settled, no
        broker forgets.
        """
        with self.lock:
            self.partition(topic, partition).lose_tail(end)

    def check_available(self) -> None:
        if not self.available:
            raise BusUnavailable("the bus in memory was told not to answer; try again later")

    def partition(self, topic: Topic, number: int) -> _Partition:
        logs = self.topic(topic)
        if not 0 <= number < len(logs):
            raise BusError(f"topic {topic.value} has no partition {number}; it has {len(logs)}")
        return logs[number]

    def topic(self, topic: Topic) -> list[_Partition]:
        self.check_available()
        if topic not in self.logs:
            raise BusError(f"the bus in memory has no topic {topic.value}: prepare it first")
        return self.logs[topic]

    def group(self, name: str) -> _Group:
        return self._groups.setdefault(name, _Group())

    def following(self, name: str) -> FollowingGroup:
        return self._following.setdefault(name, FollowingGroup())

    def committed(self, group: str, partition: int) -> int | None:
        known = self._groups.get(group)
        return None if known is None else known.committed.get(partition)

    def deployments(self, aside: "MemorySeat") -> list[Deployment]:
        """What members announce, but for one of them."""
        if not self.announces:
            return []
        return [
            Deployment(name, member.roots)
            for name, group in self._groups.items()
            for member in group.members
            if member is not aside
        ]

    def mark_of(self, group: str, partition: int) -> Mark | None:
        known = self._groups.get(group)
        offset, mark = (None, None) if known is None else known.marks.get(partition, (None, None))
        return mark if offset is not None and offset == self.committed(group, partition) else None

    def append(self, topic: Topic, messages: Sequence[Message]) -> list[MessagePlace]:
        logs = self.topic(topic)
        now_ms = self.ambient.now_ms()
        places = []
        for message in messages:
            number = self.home_among(message.key, len(logs))
            places.append(logs[number].append(number, message, now_ms))
        return places

    def mark(self, topic: Topic, places: Sequence[MessagePlace]) -> None:
        """The end of a transaction takes an offset of its own in each partition."""
        if self.gaps:
            for number in {place.partition for place in places}:
                self.partition(topic, number).next_offset += 1

    def settled(self, partition: int) -> int:
        """Up to where every group has settled; 0 while no group ever did."""
        offsets = [group.committed.get(partition, 0) for group in self._groups.values()]
        return min(offsets, default=0)

    def take(self, topic: Topic, positions: dict[int, int], numbers: Sequence[int], max_records: int) -> list[Record]:
        """Records of these partitions from these positions, which move on."""
        taken: list[Record] = []
        for number in numbers:
            log = self.partition(topic, number)
            position = positions[number]
            check_offset(topic, number, position, log)
            start = log.index(position)
            found = log.records[start : start + max_records - len(taken)]
            taken.extend(found)
            # At the end, the position passes what is no record.
            end = start + len(found) >= len(log.records)
            positions[number] = log.next_offset if end else log.records[start + len(found)].offset
        return taken


def check_offset(topic: Topic, number: int, offset: int, log: _Partition) -> None:
    if not log.first <= offset <= log.next_offset:
        raise OffsetGone(
            f"offset {offset} of {topic.value}, partition {number}, is outside of what the bus holds,"
            f" {log.first} to {log.next_offset}",
            number,
            offset,
            log.first,
            log.next_offset,
        )


def check_epoch(number: int, offset: int, epoch: int | None, log: _Partition) -> None:
    """Raise `OffsetGone` where the log is another one than that which was read up to this offset."""
    end = log.end_of(epoch)
    if offset > end:
        raise OffsetGone(
            f"what was read of proposals, partition {number}, up to offset {offset} is another log: that of epoch {epoch} ends"
            f" at {end}",
            number,
            offset,
            log.first,
            log.next_offset,
        )


class MemoryBus:
    """One process's handle on a cluster. `wait` lets time pass; a simulation hands control to others there."""

    def __init__(
        self,
        ambient: Ambient,
        partitions: int | Mapping[Topic, int] = 1,
        *,
        wait: Wait | None = None,
        cluster: MemoryCluster | None = None,
    ) -> None:
        self.cluster = cluster or MemoryCluster(ambient, partitions)
        self._ambient = ambient
        self._wait: Wait = wait or ambient.sleep
        self._seats: list[MemorySeat] = []
        self._followers: list[MemoryFollower] = []
        self._closed = False

    def again(self, ambient: Ambient | None = None, *, wait: Wait | None = None) -> "MemoryBus":
        """Another process's handle on the same cluster."""
        return MemoryBus(ambient or self._ambient, wait=wait or self._wait, cluster=self.cluster)

    @property
    def address(self) -> str:
        return "memory:"

    def prepare(self) -> None:
        self._check_open()
        self.cluster.prepare()

    def partitions(self, topic: Topic) -> int:
        with self._using():
            return len(self.cluster.topic(topic))

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        with self._using():
            return self.cluster.home_among(key, len(self.cluster.topic(topic)))

    def source(self, partition: int) -> Source:
        with self._using():
            self.cluster.partition(Topic.PROPOSALS, partition)
            return Source(self.cluster.cluster_id, self.cluster.topic_ids[Topic.PROPOSALS], partition)

    def extent(self, topic: Topic, partition: int) -> Extent:
        with self._using():
            log = self.cluster.partition(topic, partition)
            return Extent(log.first, log.next_offset)

    def committed(self, group: str, partition: int) -> int | None:
        with self._using():
            self.cluster.partition(Topic.PROPOSALS, partition)
            return self.cluster.committed(group, partition)

    def mark(self, group: str, partition: int) -> Mark | None:
        with self._using():
            self.cluster.partition(Topic.PROPOSALS, partition)
            return self.cluster.mark_of(group, partition)

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        check_messages(topic, messages)
        with self._using():
            return self.cluster.append(topic, messages)

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> "MemoryReader":
        with self._using():
            for number, offset in offsets.items():
                check_offset(topic, number, offset, self.cluster.partition(topic, number))
            return MemoryReader(self, topic, offsets)

    def seat(self, group: str, roots: Sequence[str] = ()) -> "MemorySeat":
        with self._using():
            seat = MemorySeat(self, group, roots)
            self._seats.append(seat)
            return seat

    def follow(self, group: str) -> MemoryFollower:
        with self._using():
            follower = MemoryFollower(self, group)
            self._followers.append(follower)
            return follower

    def trim(self, partition: int, before: int) -> None:
        with self._using():
            log = self.cluster.partition(Topic.PROPOSALS, partition)
            log.trim(min(before, self.cluster.settled(partition)))

    def close(self) -> None:
        with self.cluster.lock:
            for seat in self._seats:
                seat.close()
            for follower in self._followers:
                follower.close()
            self._closed = True

    def expire(self) -> None:
        """The cluster takes this process for dead: others get its partitions, and it is fenced, though it may live."""
        with self.cluster.lock:
            for seat in self._seats:
                seat.expire()
            for follower in self._followers:
                follower.expire()

    def until_found(self, timeout_s: float, look: Callable[[], list[Record] | None]) -> list[Record]:
        """What `look` finds, or nothing when the time is over; it looks at least once, and again while it finds None."""
        deadline = self._ambient.monotonic_s() + timeout_s
        pause = FIRST_PAUSE_S
        over = timeout_s <= 0
        while True:
            with self._using():
                found = look()
            if found is not None or over:
                return found or []
            left = deadline - self._ambient.monotonic_s()
            # A clock of whole milliseconds may never reach the deadline by the smallest of pauses.
            over = left <= pause
            if left > 0:
                self._wait(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _using(self) -> threading.RLock:
        self._check_open()
        return self.cluster.lock

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this bus was closed; open it again")


class MemoryReader:
    def __init__(self, bus: MemoryBus, topic: Topic, offsets: Mapping[int, int]) -> None:
        self._bus = bus
        self._topic = topic
        self._offsets = dict(offsets)
        self._closed = False

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        if self._closed:
            raise BusError("this reader was closed; open another")
        return self._bus.until_found(timeout_s, lambda: self._look(max_records))

    def _look(self, max_records: int) -> list[Record] | None:
        # On a copy, so that an offset that is gone leaves all positions as they were.
        positions = dict(self._offsets)
        found = self._bus.cluster.take(self._topic, positions, sorted(positions), max_records)
        self._offsets = positions
        return found or None

    def offsets(self) -> Mapping[int, int]:
        return dict(self._offsets)

    def close(self) -> None:
        self._closed = True


class MemorySeat:
    """A member of a group. Partitions are dealt round; a dead or closed member's go to the others at their polls."""

    def __init__(self, bus: MemoryBus, group: str, roots: Sequence[str] = ()) -> None:
        self._bus = bus
        self._name = group
        self.roots = tuple(sorted(roots))
        self._group = bus.cluster.group(group)
        self._group.members.append(self)
        self._held: set[int] = set()
        self._positions: dict[int, int] = {}
        self._epochs: dict[int, int | None] = {}
        """Of the records before these positions."""
        self._paused: set[int] = set()
        self._closed = False
        self._lost = False

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        self._check_open()
        return self._bus.until_found(timeout_s, lambda: self._look(max_records))

    def held(self) -> frozenset[int]:
        return frozenset(self._held)

    def others(self) -> Sequence[Deployment]:
        self._check_open()
        with self._bus.cluster.lock:
            self._bus.cluster.check_available()
            return self._bus.cluster.deployments(self)

    def committed(self, partition: int) -> int | None:
        self._check_open()
        return self._bus.committed(self._name, partition)

    def mark(self, partition: int) -> Mark | None:
        self._check_open()
        return self._bus.mark(self._name, partition)

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> None:
        self._check_held(partition)
        self._positions[partition] = offset
        self._epochs[partition] = leader_epoch

    def pause(self, partition: int) -> None:
        self._check_held(partition)
        self._paused.add(partition)

    def resume(self, partition: int) -> None:
        self._check_held(partition)
        self._paused.discard(partition)

    def publish(
        self,
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
        *,
        goes_back: bool = False,
    ) -> None:
        self._check_open()
        check_messages(Topic.EVENTS, events)
        check_messages(Topic.DEAD_LETTERS, dead_letters)
        cluster = self._bus.cluster
        with cluster.lock:
            log = cluster.partition(Topic.PROPOSALS, partition)
            if self._group.owner.get(partition) is not self or partition not in self._held:
                raise Fenced(
                    f"partition {partition} of proposals isn't held: group {self._name} gave it to another process, or"
                    " hasn't given it to this one; nothing was published. Stop the work on it"
                )
            before = self._group.committed.get(partition, 0)
            end = log.next_offset
            is_below = next_offset is not None and next_offset < before <= end and not goes_back
            if next_offset is not None and (next_offset > end or is_below):
                raise BusError(
                    f"group {self._name} can't commit offset {next_offset} of partition {partition}: it lies outside of"
                    f" {before} to {end}; nothing was published"
                )
            for topic, messages in ((Topic.EVENTS, events), (Topic.DEAD_LETTERS, dead_letters)):
                cluster.mark(topic, cluster.append(topic, messages))
            if next_offset is not None:
                self._group.committed[partition] = next_offset
                self._group.marks[partition] = (next_offset, mark)

    def set_back(self, partition: int, offset: int, mark: Mark | None) -> None:
        self.publish(partition, (), (), offset, mark, goes_back=True)

    def close(self) -> None:
        with self._bus.cluster.lock:
            self._closed = True
            self._held.clear()
            self._group.leave(self)

    def expire(self, *, for_good: bool = False) -> None:
        """The group gives this seat's partitions away without asking it. It may join again, unless for good."""
        with self._bus.cluster.lock:
            self._lost = self._lost or for_good
            self._group.leave(self)

    def _look(self, max_records: int) -> list[Record] | None:
        before = self.held()
        self._rebalance()
        delivering = sorted(number for number in self._held - self._paused if number in self._positions)
        positions = dict(self._positions)
        for number in delivering:
            log = self._bus.cluster.partition(Topic.PROPOSALS, number)
            check_epoch(number, positions[number], self._epochs.get(number), log)
        found = self._bus.cluster.take(Topic.PROPOSALS, positions, delivering, max_records)
        self._positions = positions
        self._epochs |= {record.partition: record.leader_epoch for record in found}
        # Whoever holds other partitions than before is told at once, to seek in them.
        return found if found or self.held() != before else None

    def _rebalance(self) -> None:
        if self._lost:
            raise Fenced(f"this process's place in group {self._name} was lost; stop, and join anew")
        group = self._group
        if self not in group.members:
            group.members.append(self)
        meant = group.meant_for(self, self._bus.partitions(Topic.PROPOSALS))
        lost = {number for number in self._held if group.owner.get(number) is not self} | (self._held - meant)
        for number in lost:
            self._held.discard(number)
            self._positions.pop(number, None)
            self._epochs.pop(number, None)
            self._paused.discard(number)
            if group.owner.get(number) is self:
                del group.owner[number]
        # What was lost comes back in a later poll at the earliest: the holder has to see that it was gone.
        for number in meant - self._held - lost:
            if number not in group.owner:
                group.owner[number] = self
                self._held.add(number)

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this seat was closed; take another")

    def _check_held(self, partition: int) -> None:
        self._check_open()
        if partition not in self._held:
            raise BusError(
                f"partition {partition} is not held; only partitions in `held` can be sought, paused or resumed"
            )
