"""What every bus must do: topics of ordered records, and a place in the group of those that decide proposals.

Bytes and offsets only; what messages mean is not known here. Every call ends by its deadline or raises `BusUnavailable`.
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
    """What is appended. Messages with the same key land in the same partition, in order."""

    key: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Unread:
    """Why the bus can't hand something over as it was sent."""

    reason: str
    is_over_bound: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """What was appended, as the bus holds it. Text that is no UTF-8 has replacement characters; the body is as it came."""

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
    """The newest settled record below a committed offset, by which the log is known again (`marks`)."""

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
    """Where a message lies."""

    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Extent:
    """What a partition holds: offsets from `first` up to, not including, `next_offset`."""

    first: int
    next_offset: int


class Reader(Protocol):
    """Reads partitions in order from given offsets; takes part in no group."""

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        """What comes next; waits up to `timeout_s` for the first record, and returns nothing if none came.

        Only what was committed is seen, and nothing twice. Raises `OffsetGone` where the next record was trimmed.
        """
        ...

    def offsets(self) -> Mapping[int, int]:
        """By partition, the offset that is read next."""
        ...

    def close(self) -> None: ...


class Seat(Protocol):
    """A place in the group of committers: partitions of proposals that are this process's alone, as far as the bus knows.

    One thread uses it. A partition that is newly held delivers nothing before `seek`.
    """

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        """Proposals of held partitions, each partition's in order. Only here do partitions come and go.

        One that was lost and came back is missing from `held` after at least one poll, so that its loss is noticed.
        Raises `OffsetGone` for a partition whose next record was trimmed or cut off, and `Fenced` when the place was lost for good.
        """
        ...

    def held(self) -> frozenset[int]: ...

    def others(self) -> Sequence[Deployment]:
        """What other living members of groups of committers announce, of this group and of all others. What this seat announces is
        seen by them before it holds a partition. Raises `BusUnavailable`, also while a group is sharing out anew.
        """
        ...

    def committed(self, partition: int) -> int | None:
        """The offset from which a new holder would go on; None where nobody ever committed one."""
        ...

    def mark(self, partition: int) -> Mark | None:
        """What was said with that offset; None where nothing was."""
        ...

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> None:
        """Deliver from this offset on. The epoch is that of the record before it, where the caller has seen that one: a log that
        ends earlier in that epoch is then another log, whatever it holds at the offset, and a poll raises `OffsetGone`.
        """
        ...

    def pause(self, partition: int) -> None:
        """Deliver nothing of it until `resume`; the place is kept."""
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
        """Append all of these and advance the committed offset, as one step: all of it becomes visible, or nothing.

        `mark` is kept with the offset. None leaves the offset as it is. It goes back only where the log ends before it. Raises `Fenced` when another process
        holds the partition by now, and `BusUnavailable` when it isn't known whether it happened: then publish again, the
        ids make repeats harmless.
        """
        ...

    def set_back(self, partition: int, offset: int, mark: Mark | None) -> None:
        """Commit an offset that may lie below the committed one, because that one was said of another log. Raises as `publish`."""
        ...

    def close(self) -> None:
        """Give the partitions to others at once."""
        ...


class Follower(Protocol):
    """A member of a group that follows the events: a partition, and so every table in it, is one member's at a time.

    One thread uses it. Each member holds as many partitions as the next, or one more; a dead member's go to the others.
    Everything comes at least once: what is not settled comes again to whoever holds the partition next.
    """

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        """Events of held partitions, each partition's in order, from where the group has settled; at first from the oldest.

        Only here do partitions come and go; it returns early when one does. One that was taken away and given again is missing
        from `held` after at least one poll. Raises `BusUnavailable`.
        """
        ...

    def held(self) -> frozenset[int]: ...

    def position(self, partition: int) -> int | None:
        """The offset that is read next in a held partition; None of another. At the end of the extent all has been read."""
        ...

    def missed(self) -> frozenset[int]:
        """Held partitions of which events were let go of before they were read here, since this was last asked.

        Reading went on with the oldest that is left.
        """
        ...

    def settle(self, partition: int, next_offset: int) -> None:
        """What lies below this offset needn't come again. Nothing is settled that wasn't read here; never goes back.

        Raises `Fenced` where the partition is another member's by now, and `BusUnavailable` when it isn't known whether it
        happened; both are harmless, for a later call settles more.
        """
        ...

    def close(self) -> None:
        """Give the partitions to others at once."""
        ...


class Bus(Protocol):
    """One bus. Threads may share it; readers and seats are each used by one thread at a time."""

    @property
    def address(self) -> str:
        """As the user would write it, without secrets."""
        ...

    def prepare(self) -> None:
        """Make the topics, or check that those which are there are as they must be. Raises `BusError`."""
        ...

    def partitions(self, topic: Topic) -> int: ...

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        """The partition of the topic that messages with this key go to."""
        ...

    def source(self, partition: int) -> Source:
        """The identity of a partition of the proposals topic, asked anew."""
        ...

    def extent(self, topic: Topic, partition: int) -> Extent: ...

    def committed(self, group: str, partition: int) -> int | None:
        """The offset of proposals up to which that group of committers has settled everything."""
        ...

    def mark(self, group: str, partition: int) -> Mark | None:
        """What that group said with its committed offset; None where nothing was."""
        ...

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        """Append in order, durably. `BusUnavailable`: any part of them may have been appended, or may be yet."""
        ...

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> Reader:
        """Reads these partitions from these offsets. Raises `OffsetGone` where one is outside of the extent."""
        ...

    def seat(self, group: str, roots: Sequence[str] = ()) -> Seat:
        """Join the group of committers, and announce below which addresses tables are served: everywhere, without any."""
        ...

    def follow(self, group: str) -> Follower:
        """Join a group of followers of the events. Groups of committers of the same name are others."""
        ...

    def trim(self, partition: int, before: int) -> None:
        """Let go of proposals below an offset that every group has settled."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class SetUpByOthers(Protocol):
    """A bus whose topics somebody else may have made or changed. A file's can't be."""

    def faults(self) -> Sequence[str]:
        """What must be changed about its topics, each with how; nothing is changed. Raises `BusError` where one is missing."""
        ...
