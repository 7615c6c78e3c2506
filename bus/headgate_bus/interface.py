"""The interface of a bus: topics of ordered records, and membership in the group of committers.

A bus handles bytes and offsets and doesn't interpret messages. Every call ends by its deadline or raises
`BusUnavailable`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable

from headgate_schemas.messages import message_shape
from headgate_schemas.messages.sources import Source

MAX_MESSAGE_BYTES = message_shape.MAX_MESSAGE_BYTES
"""What a topic takes. Larger proposals travel as claim checks."""
DEFAULT_TIMEOUT_S = 30.0
EVENT_PARTITIONS = 8
"""Of a new bus: among so many members at most a group of followers can share the tables. Fixed when the topic is made."""


class Topic(Enum):
    PROPOSALS = "proposals"
    EVENTS = "events"
    DEAD_LETTERS = "dead-letters"


@dataclass(frozen=True, slots=True)
class Message:
    """A message to append. Messages with the same key go to the same partition, in order."""

    key: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Unread:
    """The reason why the bus can't deliver a record as it was sent."""

    reason: str
    is_over_bound: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """An appended message, as the bus returns it. Replacement characters stand for text that isn't UTF-8; the body is
    unchanged.
    """

    partition: int
    offset: int
    time_ms: int
    """When the bus took it, by the bus's clock."""
    key: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    unread: Unread | None = None
    """Set where this stands for one message or more that can't be read, and the body is what was found in their place."""
    leader_epoch: int | None = None
    """In whose term of leading the partition it was appended; None on a bus without leaders."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The newest settled record below a committed offset. It identifies the log (see `marks`)."""

    topic: str
    """The topic's id."""
    offset: int
    identity: str
    """The proposal's id, or what else tells the record from others."""
    leader_epoch: int | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """A group of committers, as one of its living members announces it."""

    group: str
    roots: tuple[str, ...] | None
    """The addresses below which it serves tables; empty: all. None where it doesn't say, as older releases don't."""


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """The place of a message in a topic."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Extent:
    """The offsets that a partition holds: from `first` up to, but not including, `next_offset`."""

    first: int
    next_offset: int


class Reader(Protocol):
    """Reads partitions in order from given offsets, without being a member of a group."""

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        """The next records. Waits up to `timeout_s` for the first one, and returns an empty list if none comes.

        Returns only committed records, and each once. Raises `OffsetGone` if the next record was trimmed.
        """
        ...

    def offsets(self) -> Mapping[int, int]:
        """For each partition, the offset that is read next."""
        ...

    def close(self) -> None: ...


class Seat(Protocol):
    """Membership in the group of committers: this process alone holds these partitions, as far as the bus knows.

    For use by one thread. A newly held partition delivers nothing before `seek`.
    """

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        """Proposals of held partitions, in order within each partition. Only this call changes which partitions are
        held.

        A partition that was lost and regained is missing from `held` after at least one poll, so that the caller
        notices the loss. Raises `OffsetGone` for a partition whose next record was trimmed or cut off, and `Fenced`
        when the membership is lost for good.
        """
        ...

    def held(self) -> frozenset[int]: ...

    def others(self) -> Sequence[Deployment]:
        """The announcements of other living members, of this group and of all other groups of committers.

        Other members see this seat's announcement before the seat holds a partition. Raises `BusUnavailable`, also
        while a group rebalances.
        """
        ...

    def committed(self, partition: int) -> int | None:
        """The offset at which a new holder would start; None if nobody ever committed one."""
        ...

    def mark(self, partition: int) -> Mark | None:
        """The text that was committed together with that offset; None if there is none."""
        ...

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> None:
        """Deliver from this offset on.

        `epoch` is the epoch of the record before it, if the caller has seen that record. A log that ends earlier in
        this epoch is another log, even if it holds the offset; a poll then raises `OffsetGone`.
        """
        ...

    def pause(self, partition: int) -> None:
        """Deliver nothing of the partition until `resume`; the position stays."""
        ...

    def resume(self, partition: int) -> None: ...

    def publish(
        self,
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
    ) -> None:
        """Append all messages and advance the committed offset in one transaction: everything becomes visible, or
        nothing.

        `mark` is stored with the offset. None as the offset leaves it unchanged. The committed offset goes back only if
        the log ends before it. Raises `Fenced` when another process holds the partition by now, and `BusUnavailable`
        when the outcome is unknown: then publish again; readers drop repeated ids.
        """
        ...

    def set_back(self, partition: int, offset: int, mark: Mark | None) -> None:
        """Commit an offset that may lie below the committed one, because the latter belongs to another log. Raises as
        `publish`.
        """
        ...

    def close(self) -> None:
        """Give up all partitions at once, so that other members can take them."""
        ...


class Follower(Protocol):
    """A member of a group that follows the events. Each partition, and so each table in it, belongs to one member at a
    time.

    For use by one thread. Members hold equal numbers of partitions, give or take one; other members take over the
    partitions of a dead one. Every event is delivered at least once: unsettled events are delivered again to the next
    holder of the partition.
    """

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        """Events of held partitions, in order within each, from the group's settled offset on; at first from the
        oldest.

        Only this call changes which partitions are held, and it returns early when they change. A partition that was
        taken away and given again is missing from `held` after at least one poll. Raises `BusUnavailable`.
        """
        ...

    def held(self) -> frozenset[int]: ...

    def position(self, partition: int) -> int | None:
        """The offset that is read next in a held partition; None for other partitions. At the end of the extent all is
        read.
        """
        ...

    def missed(self) -> frozenset[int]:
        """Held partitions that lost events before this member read them, since the last call.

        Reading continues with the oldest event that is left.
        """
        ...

    def settle(self, partition: int, next_offset: int) -> None:
        """Mark all events below this offset as done, so that they aren't delivered again.

        Settles only events that this member has read, and never goes back. Raises `Fenced` when another member holds
        the partition by now, and `BusUnavailable` when the outcome is unknown. Both are harmless, because a later call
        settles more.
        """
        ...

    def close(self) -> None:
        """Give up all partitions at once, so that other members can take them."""
        ...


class Bus(Protocol):
    """One bus. Threads may share it; each reader and seat is for one thread at a time."""

    @property
    def address(self) -> str:
        """The address as the user would write it, without secrets."""
        ...

    def prepare(self) -> None:
        """Create the topics, or check that existing ones are configured correctly. Raises `BusError`."""
        ...

    def partitions(self, topic: Topic) -> int: ...

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        """The partition of the topic for messages with this key."""
        ...

    def source(self, partition: int) -> Source:
        """The identity of a partition of the proposals topic, looked up at every call."""
        ...

    def extent(self, topic: Topic, partition: int) -> Extent: ...

    def committed(self, group: str, partition: int) -> int | None:
        """The offset of proposals up to which this group of committers has settled everything."""
        ...

    def mark(self, group: str, partition: int) -> Mark | None:
        """The text that this group committed with its offset; None if there is none."""
        ...

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        """Append in order, durably. After `BusUnavailable`, any part of them may have been appended or may still be."""
        ...

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> Reader:
        """A reader of these partitions from these offsets. Raises `OffsetGone` if an offset is outside of the extent."""
        ...

    def seat(self, group: str, roots: Sequence[str] = ()) -> Seat:
        """Join the group of committers, and announce the roots below which it serves tables. No roots: all tables."""
        ...

    def follow(self, group: str) -> Follower:
        """Join a group of followers of the events. Groups of committers are separate, even under the same name."""
        ...

    def trim(self, partition: int, before: int) -> None:
        """Delete proposals below an offset that every group has settled."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class SetUpByOthers(Protocol):
    """A bus whose topics other people may create or change. This isn't possible for a file."""

    def faults(self) -> Sequence[str]:
        """The necessary changes to its topics, each with instructions; changes nothing. Raises `BusError` if a topic is
        missing.
        """
        ...
