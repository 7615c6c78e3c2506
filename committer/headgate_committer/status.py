"""Where a committer stands, as values that any thread may look at: the loop's thread makes a new one every now and then."""

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class TableCounts:
    """How many tables are in which condition; a table may be in several."""

    open: int = 0
    busy: int = 0
    """With proposals that are undecided."""
    waiting: int = 0
    """Left alone for a while, because something failed."""
    refused: int = 0
    """An operator has to look."""
    spilled: int = 0
    """Their proposals don't fit into memory, and are read from the bus again."""

    def __add__(self, other: "TableCounts") -> "TableCounts":
        return TableCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class OldestProposal:
    """The undecided proposal that the bus took first, of tables that are not refused."""

    table: str
    offset: int
    appended_ms: int
    trouble: str
    """Why its table is left alone, if it is."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """One partition that is held."""

    partition: int
    read_to: int
    """Up to here it was read."""
    settled_to: int
    """Up to here everything is decided and announced."""
    queued: int
    """Undecided proposals in memory."""
    tables: TableCounts
    oldest: OldestProposal | None
    failing_since_s: float | None
    """Since when none of the busy tables, refused ones aside, could be worked on; None while one of them can."""
    trouble: str
    """Of one of them."""
    unannounced_since_s: float | None
    """Since when the bus has not taken what was decided; None while it does."""
    tombstones: int
    tombstone_ratio: float
    """The highest of its tables' newest states."""


@dataclass(frozen=True, slots=True)
class CommitterStatus:
    """All of them, and what the process is about. Seconds are of the monotonic clock."""

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
