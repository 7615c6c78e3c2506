"""The bounds at which a process counts as not alive, or not ready."""

from dataclasses import dataclass

SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class HealthLimits:
    """When a process is no longer healthy."""

    silent_after_ms: int = 3 * SECOND_MS
    """Unready when the bus or the store of a root has not answered for so long."""
    stuck_after_ms: int = 10 * SECOND_MS
    """Unready when the loop has not come round for so long."""
    late_after_ms: int = 60 * SECOND_MS
    """Unready when the oldest proposal without an answer, or for a worker the oldest event it has not read, is older."""
    dead_after_ms: int = 180 * SECOND_MS
    """Not alive when the loop has not come round for so long: longer than all the time that the bus is given for one round."""


WORKER_LIMITS = HealthLimits(late_after_ms=600 * SECOND_MS)
"""A worker that is behind delays nobody."""
