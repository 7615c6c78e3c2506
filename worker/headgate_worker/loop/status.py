"""The worker's status, as a value that any thread may read; the loop's thread makes a new one in every round."""

from dataclasses import dataclass

from headgate_worker.loop.commit_feed import Backlog

NOTHING_UNREAD = Backlog()


@dataclass(frozen=True, slots=True)
class WorkerStanding:
    """Seconds are from the monotonic clock."""

    identity: str
    held: int = 0
    """Partitions of the events whose tables it looks after."""
    vacant_since_s: float | None = None
    """Since when it has held none."""
    backlog: Backlog = NOTHING_UNREAD
    tables: int = 0
    """That it remembers."""
    under_way: int = 0
    """Looks and tasks."""
    is_yielding: bool = False
    """Whether nothing new is begun because the committer is behind."""
    unread_since_s: float | None = None
    """Since when the bus could not be read; None while it can."""
    bus_trouble: str = ""
    is_stopping: bool = False
