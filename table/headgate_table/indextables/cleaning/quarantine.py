"""The quarantine: cleaning can move data files and manifests there for a second period; this module also brings them
back.

They lie under `_headgate/quarantine/`, the day of the move, and their own key; no reader lists that folder as data.
Versions, states and checkpoints are never moved: an old version that came back would count as a version of the log.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.cleaning.plan import Category, Deletion
from headgate_table.store.copying import copy_object
from headgate_table.store.interface import Store
from headgate_table.store.paths import check_key, is_key

QUARANTINE = "_headgate/quarantine/"
QUARANTINED = frozenset({Category.DATA_FILE, Category.MANIFEST})
MAX_EXPIRED = 200_000
"""Objects that one run deletes from quarantine; what is left over waits for the next."""
_DAY_LENGTH = 8


@dataclass(frozen=True, slots=True)
class BroughtBack:
    """`restored` are in their places again; `in_the_way` stayed in quarantine, because another object has their name."""

    restored: tuple[str, ...]
    in_the_way: tuple[str, ...]


def quarantine_key(key: str, now_ms: int) -> str:
    """The key in quarantine. Raises `InvalidInput` if the object's name is too long for it."""
    day = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%d")
    return check_key(f"{QUARANTINE}{day}/{key}")


def fits_into_quarantine(key: str) -> bool:
    return is_key(f"{QUARANTINE}{'0' * _DAY_LENGTH}/{key}")


def expired_in_quarantine(store: Store, older_than_ms: int, now_ms: int) -> list[Deletion]:
    """Objects that were moved there before that time, by the store's clock: their period begins with the move."""
    found: list[Deletion] = []
    for info in store.list(QUARANTINE):
        if info.modified_ms < older_than_ms and len(found) < MAX_EXPIRED:
            hours = (now_ms - info.modified_ms) // 3_600_000
            found.append(
                Deletion(info.key, info.size, Category.QUARANTINED, f"it has been in quarantine for {hours} hours")
            )
    return found


def bring_back(store: Store, prefix: str = "") -> BroughtBack:
    """Move objects in quarantine whose own key begins with `prefix` back to their places.

    Of an object that was moved more than once, the last one comes back. Safe to repeat after a crash.
    """
    if prefix.startswith(QUARANTINE):
        raise InvalidInput(
            f"{prefix!r} is a place in quarantine; name what the objects were called before, such as 'date='"
        )
    found: dict[str, list[str]] = {}
    for info in store.list(QUARANTINE):
        day, _, key = info.key.removeprefix(QUARANTINE).partition("/")
        if len(day) == _DAY_LENGTH and key and key.startswith(prefix):
            found.setdefault(key, []).append(info.key)
    restored: list[str] = []
    in_the_way: list[str] = []
    for key, places in sorted(found.items()):
        if store.head(key) is not None:
            in_the_way.append(key)
        elif copy_object(store, max(places), key):
            store.delete(places)
            restored.append(key)
    return BroughtBack(tuple(restored), tuple(in_the_way))
