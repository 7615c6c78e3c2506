"""The commit time of a version, and the clock by which objects age. A wrong clock must affect neither.

The store's own clock counts if it has one, else the writer's. No decision depends on these times alone: they order
versions for time travel and measure how long purged paths and ids of direct commits have been remembered.
"""

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_table.store.interface import Store

MARGIN_MS = 15 * 60_000
"""By how much a writer's clock may differ from the store's. Clocks that are looked after differ by less than a second."""

UNTOLD_MARGIN_MS = 24 * 3_600_000
"""The same between two writers where the store has no clock of its own: nobody can tell which of them is right, and a time that
goes back is the lesser evil only where the other is far off."""

_log = get_logger("headgate.commit")


def commit_time_ms(store: Store, ambient: Ambient, told_ms: int = 0) -> int:
    """The time for a version that is about to be written; `told_ms` is the newest version's time."""
    own_ms, server_ms = ambient.now_ms(), store.clock_ms()
    if server_ms is not None and abs(own_ms - server_ms) > MARGIN_MS:
        _log.warning(
            "clock_is_wrong",
            table=store.uri,
            ahead_s=(own_ms - server_ms) // 1000,
            advice="the version is dated by the store's clock; set this machine's",
        )
    return bounded_time_ms(own_ms, server_ms, told_ms)


def time_for_ages_ms(store: Store, ambient: Ambient, looked_ms: int | None = None) -> int:
    """The present time for the ages of a store's objects, or the time when this machine's clock showed `looked_ms`.

    The store dates its objects, so its clock counts if it has one. A machine whose clock is ahead would take young
    objects for old ones; one whose clock is behind keeps more than necessary.
    """
    own_ms, server_ms = ambient.now_ms(), store.clock_ms()
    now_ms = own_ms if server_ms is None else min(own_ms, server_ms)
    return now_ms if looked_ms is None else now_ms - max(0, own_ms - looked_ms)


def bounded_time_ms(own_ms: int, server_ms: int | None, told_ms: int) -> int:
    """Times never go back, because time travel relies on that; except after a time in the future, which isn't passed
    on.
    """
    now_ms, believed_ms = own_ms, UNTOLD_MARGIN_MS
    if server_ms is not None:
        now_ms, believed_ms = min(max(own_ms, server_ms - MARGIN_MS), server_ms + MARGIN_MS), 2 * MARGIN_MS
    return told_ms if now_ms < told_ms <= now_ms + believed_ms else now_ms
