"""Writes a whole new log into an empty folder: the versions that add files first, version 0 last.

Before version 0 exists, nothing at the place looks like a table, and so nothing like one with too few files.
"""

from collections.abc import Iterable

from headgate_schemas.actions.actions import Action, Metadata, Protocol
from headgate_table.errors import OutcomeUnknown, TableExists
from headgate_table.indextables.format.names import LOG, version_key
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

ADDS_PER_VERSION = 100_000
"""A table with more files gets more versions than one, so that none is too large to be read."""

_ATTEMPTS = 5


def check_empty(target: Store) -> None:
    """Raises `TableExists` for a place with any object."""
    occupied = next(iter(target.list()), None)
    if occupied is not None:
        raise TableExists(
            f"{target.uri} is not empty: it holds {occupied.key}. Repair into an empty folder, or move away what is there"
        )


def write_new_log(target: Store, first: bytes, versions: Iterable[bytes]) -> int:
    """Write the versions from 1 on, then `first` as version 0; returns the newest version. `target` is the log folder.

    Raises `TableExists` when another program writes there, too, and `OutcomeUnknown` when the store doesn't answer.
    """
    newest = 0
    # Upwards, so that one of two simultaneous writers stops before it has written anything.
    for newest, data in enumerate(versions, start=1):
        _create(target, newest, data)
    _create(target, 0, first)
    return newest


def first_version(metadata: Metadata, *more: Action, compressed: bool) -> bytes:
    """The content of version 0."""
    return encode_version(0, [Protocol(), metadata, *more], compressed=compressed)


def _is_there(target: Store, key: str, data: bytes) -> bool:
    info = target.head(key)
    return info is not None and info.size == len(data) and target.get(key, max_bytes=len(data)) == data


def _create(target: Store, version: int, data: bytes) -> None:
    key = version_key(version).removeprefix(f"{LOG}/")
    reason = ""
    for _ in range(_ATTEMPTS):
        match target.create(key, data):
            case Created():
                return
            case AlreadyExists():
                if _is_there(target, key, data):
                    return  # ours, from an attempt whose answer was lost
                raise TableExists(f"another program has just written {target.uri}/{key}; repair into an empty folder")
            case Unknown(reason):
                continue
    raise OutcomeUnknown(
        f"the store never said whether {target.uri}/{key} was written ({reason}); empty the folder and try again"
    )
