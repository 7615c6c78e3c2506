"""Waits for the writes of other connections to a bus file, without a busy loop."""

from collections.abc import Callable
from typing import TypeVar

from headgate_bus.sqlite.file import SqliteFile
from headgate_schemas.ambient import Ambient

T = TypeVar("T")

FIRST_PAUSE_S = 0.000_5
LONGEST_PAUSE_S = 0.005
"""Between looks at the file's change counter: an idle reader takes about one percent of a core, nearly all of it for the
sleeping itself, and wakes within 6 ms."""
GROWTH = 1.2

CALL_TIMEOUT_S = 30.0
"""For a look that has to wait for the file itself; reading hardly ever does."""


def until_found(
    file: SqliteFile, ambient: Ambient, timeout_s: float, look: Callable[[], T | None], check: Callable[[], None]
) -> T | None:
    """The result of `look` as soon as there is one, or when the time is over. Looks again whenever the file has
    changed.

    `check` runs before each look, and may end the waiting by raising.
    """
    deadline_s = ambient.monotonic_s() + timeout_s
    pause = FIRST_PAUSE_S
    over = timeout_s <= 0
    while True:
        check()
        # Read before the look: a write in between then shows as another number.
        changes = file.changes(ambient.monotonic_s() + CALL_TIMEOUT_S)
        found = look()
        if found is not None:
            return found
        while not over:
            left = deadline_s - ambient.monotonic_s()
            # With a clock of whole milliseconds, the smallest pauses might never reach the deadline.
            over = left <= pause
            if left > 0:
                ambient.sleep(min(pause, left))
            pause = min(pause * GROWTH, LONGEST_PAUSE_S)
            check()
            if file.changes(ambient.monotonic_s() + CALL_TIMEOUT_S) != changes:
                break
        else:
            file.check_same()
            return None
