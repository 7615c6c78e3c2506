"""The status of a committer, as values that any thread may read. The loop renews them every quarter of a second."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class TableCounts:
    """The number of tables in each condition. A table may be in several."""

    open: int = 0
    busy: int = 0
    """With proposals that are undecided."""
    waiting: int = 0
    """Paused after a failure."""
    refused: int = 0
    """Held until an operator has looked."""
    spilled: int = 0
    """With proposals that didn't fit into memory, and will be read from the bus again."""

    def __add__(self, other: "TableCounts") -> "TableCounts":
        return TableCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class OldestProposal:
    """The undecided proposal that was appended first, held tables aside."""

    table: str
    offset: int
    appended_ms: int
    trouble: str
    """The reason why its table waits, if it does."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """The status of one held partition."""

    partition: int
    read_to: int
    """The offset of the next record to read."""
    settled_to: int
    """The offset below which everything is decided and announced."""
    queued: int
    """Undecided proposals in memory."""
    tables: TableCounts
    oldest: OldestProposal | None
    failing_since_s: float | None
    """When the last of the busy tables failed, held ones aside; None while one of them can be worked on."""
    trouble: str
    """The failure of one of them."""
    unannounced_since_s: float | None
    """Since when the bus has not taken what was decided; None while it does."""
    tombstones: int
    tombstone_ratio: float
    """The highest of its tables' newest states."""


@dataclass(frozen=True, slots=True)
class CommitterStatus:
    """The status of the process and its partitions. Seconds are of the monotonic clock."""

    identity: str
    at_s: float
    lanes: tuple[PartitionStatus, ...] = ()
    vacant_since_s: float | None = None
    """Since when it has held no partition."""
    unread_since_s: float | None = None
    """Since when the bus could not be read; None while it can."""
    bus_trouble: str = ""
    is_draining: bool = False

    @property
    def tables(self) -> TableCounts:
        return sum((lane.tables for lane in self.lanes), TableCounts())

    @property
    def oldest(self) -> OldestProposal | None:
        found = [lane.oldest for lane in self.lanes if lane.oldest is not None]
        return min(found, key=lambda each: each.appended_ms, default=None)
