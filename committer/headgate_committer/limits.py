"""Every bound of a committer, with its default and its reason."""

from dataclasses import dataclass

from headgate_bus.claims import DEFAULT_LIMITS, ClaimLimits

SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class CommitterLimits:
    """What one committer process takes on at a time."""

    group_proposals: int = 2_000
    """Proposals in one version. More would make a version that takes longer to read than to wait for the next."""
    group_bytes: int = 16 << 20
    """Bytes of the proposals in one version."""
    linger_ms: int = 100
    """How long a table's proposals wait for company at most: no longer than half of what its last version took, not when
    nobody has come for a fifth of that, and not at all once all are back whose answers went out."""
    queue_proposals: int = 10_000
    """Undecided proposals of one table that are held in memory; those beyond are read again from the bus."""
    queue_bytes: int = 64 << 20
    """The same in bytes."""
    lane_bytes: int = 256 << 20
    """Bytes of undecided proposals of all tables of one partition together: once so many are held, tables whose store fails
    leave theirs on the bus, and nothing more is taken in until there is room."""
    unpublished_events: int = 20_000
    """Decided, but not announced: beyond it, nothing more is decided until the bus takes them."""
    poll_records: int = 2_000
    """Records taken from the bus at once."""
    open_tables: int = 1_000
    """Tables of one partition that are open at a time: one that is idle is closed for another, else one that waits, and is
    recovered when its turn comes."""
    claims: ClaimLimits = DEFAULT_LIMITS
    """What a claimed operation may weigh, as it lies there and as it is read."""
    clock_skew_ms: int = 30 * SECOND_MS
    """By how much an author's clock may be ahead of the bus's: ids made that close to the horizon are refused."""
    first_pause_ms: int = 50
    """Before a table whose store failed is tried again; doubled each time."""
    longest_pause_ms: int = 10 * SECOND_MS
    lost_numbers: int = 100
    """How often in a row others may take the next version before the table is given a pause."""
    drain_ms: int = 20 * SECOND_MS
    """How long a stopping committer goes on deciding what it has taken."""
    source_check_ms: int = 5 * SECOND_MS
    """How often the bus is asked whether it is still the same."""
    kept_proposals: int = 10_000
    """Settled proposals of a partition that stay on the bus, for whoever looks at what was proposed lately; those before them
    are trimmed."""
    trim_ms: int = 60 * SECOND_MS
    """How often they are trimmed at most."""
