"""The contents of a local folder beside the objects that its store lists: files of killed writers, links, and empty
folders.

It looks at the file system directly, for cleaning. It enters no link, and no other table inside.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from headgate_schemas.logs import get_logger
from headgate_table.errors import StoreError
from headgate_table.store.interface import ObjectInfo, Store
from headgate_table.store.local import files as local_files
from headgate_table.store.paths import is_key

MAX_TEMPORARIES = 100_000
"""Names held in memory. What is left over is found by the next look."""
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{32}\.tmp", re.DOTALL)
"""As `files.write_temporary` names them."""
STAGING = "_headgate/spark/"
"""Where other writers' files lie until they are moved to their places; those of one that was killed stay."""
_LOG_FOLDERS = ("_transaction_log", "_delta_log")

_log = get_logger("headgate.store")


@dataclass(frozen=True, slots=True)
class LocalLeftovers:
    """Both sorted. Empty for a store that isn't a local folder."""

    temporaries: tuple[ObjectInfo, ...] = ()
    """Files that a writer wrote beside the object it was about to place, or staged; whoever that was and whether it still
    lives."""
    linked: tuple[str, ...] = ()
    """Keys of links, and of the files and folders inside of the table that they lead to; "" for all of it."""

    def is_linked(self, key: str) -> bool:
        """Whether the object has another name, or may have: then its own name alone doesn't show whether a log names
        it.
        """
        return any(not place or key == place or key.startswith(f"{place}/") for place in self.linked)


def local_leftovers(store: Store) -> LocalLeftovers:
    """Look through the whole folder. Raises `StoreError`."""
    beside = store.local_path("x")
    if beside is None:
        return LocalLeftovers()
    root = os.path.dirname(beside)
    temporaries: list[ObjectInfo] = []
    linked: set[str] = set()
    try:
        for key, entry in _walk(root, ""):
            if entry.is_symlink():
                linked.add(key)
                linked |= _target(root, entry.path)
            elif _is_temporary(key, entry.name) and is_key(key) and len(temporaries) < MAX_TEMPORARIES:
                status = _status(entry)
                if status is not None and stat.S_ISREG(status.st_mode):
                    temporaries.append(ObjectInfo(key, status.st_size, status.st_mtime_ns // 1_000_000, ""))
    except OSError as error:
        raise StoreError(f"could not look through the folder of {store.uri}: {error}") from error
    return LocalLeftovers(tuple(sorted(temporaries, key=lambda info: info.key)), tuple(sorted(linked)))


def remove_emptied_staging(store: Store, folder: str) -> None:
    """Remove an empty folder below `STAGING`, and the empty folders around it, up to there."""
    while folder.startswith(STAGING):
        remove_if_empty(store, folder)
        folder = folder.rpartition("/")[0]


def remove_if_empty(store: Store, folder: str) -> None:
    """Remove a folder if it is empty; other stores have no folders. Links in its path are not followed.

    Writers create it again if they were about to write there. A folder that can't be removed stays: it only costs time.
    """
    beside = store.local_path("x")
    if beside is None:
        return
    above, _, name = folder.rpartition("/")
    try:
        with local_files.opened_below(os.path.dirname(beside), above) as opened:
            os.rmdir(name, dir_fd=opened)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            _log.warning("folder_left", table=store.uri, folder=folder, reason=error.strerror)


def _is_temporary(key: str, name: str) -> bool:
    return key.startswith(STAGING) or _TEMPORARY.fullmatch(name) is not None


def _walk(path: str, prefix: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Every name that isn't a folder. Names that vanish meanwhile are left out."""
    try:
        with os.scandir(path) as found:
            entries = list(found)
    except (FileNotFoundError, NotADirectoryError):
        return
    if prefix and any(entry.name in _LOG_FOLDERS for entry in entries):
        return  # another table, which has its own cleaner
    for entry in entries:
        key = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{key}/")
        else:
            yield key, entry


def _target(root: str, link: str) -> set[str]:
    """The target of the link, if it is inside of the table."""
    real = os.path.realpath(link)
    if real == root or root.startswith(f"{real.rstrip('/')}/"):
        return {""}
    inside = f"{root.rstrip('/')}/"
    return {real[len(inside) :]} if real.startswith(inside) else set()


def _status(entry: "os.DirEntry[str]") -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
