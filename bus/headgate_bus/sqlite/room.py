"""The room that is left in a bus file, and who may use it.

Appends are refused at the file's bound and on an almost full disk. The room beyond is reserved for seats: they announce
and settle decisions, which frees room. Topics without trimming get a share of the bound.
"""

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Topic
from headgate_bus.sqlite import retention as sqlite_retention
from headgate_bus.sqlite.log import RECORD_OVERHEAD_BYTES
from headgate_bus.sqlite.retention import Retention

LEAST_HEADROOM_BYTES = 32 << 20
"""More than one publish takes, with its events and dead letters."""
HEADROOM_SHARE = 4
"""Of the bound, one part in so many lies beyond it."""
TOPIC_SHARE = 16
"""Of the bound, one part in so many is for events, and another for dead letters: rows may take twice their bytes."""
DISK_KEPT_BYTES = 64 << 20
"""Of free disk: the log of a file that is busy grows to this."""
DISK_SHARE = 4
"""Of a small disk, one part in so many is kept."""


class NoRoom(BusUnavailable):
    """Nothing was appended, and appends stay refused until there is room again."""


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system, in bytes."""

    free: int
    size: int

    @property
    def kept(self) -> int:
        return min(DISK_KEPT_BYTES, self.size // DISK_SHARE)

    @property
    def is_short(self) -> bool:
        """Whether what is kept for seats is being used."""
        return self.free < self.kept


@dataclass(frozen=True, slots=True)
class Filling:
    """The used bytes of a file, and its free bytes that can be used again."""

    used: int
    free: int


def most_pages(max_file_bytes: int, page_bytes: int, pages: int) -> int:
    """The size up to which a file may grow for seats. A file beyond its bound may still grow."""
    headroom = max(max_file_bytes // HEADROOM_SHARE, LEAST_HEADROOM_BYTES)
    return max(max_file_bytes // page_bytes, pages) + headroom // page_bytes


def retention_within(max_file_bytes: int) -> Mapping[Topic, Retention]:
    """The retention of the topics in a file of this bound."""
    share = max_file_bytes // TOPIC_SHARE
    return {
        topic: replace(kept, max_bytes=min(kept.max_bytes, share)) for topic, kept in sqlite_retention.RETENTION.items()
    }


def filling_of(connection: sqlite3.Connection) -> Filling:
    pages, free, page_bytes = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return Filling((pages - free) * page_bytes, free * page_bytes)


def weight(bodies: int, records: int) -> int:
    return bodies + records * RECORD_OVERHEAD_BYTES


def disk_of(path: str) -> Disk:
    try:
        found = os.statvfs(os.path.dirname(path))
    except OSError as error:
        raise BusUnavailable(
            f"the disk of the bus {path} can't be asked how full it is ({error}); nothing was appended. Look at the disk"
        ) from error
    return Disk(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize)


def check_room(path: str, file: Filling, adding: int, max_file_bytes: int, disk: Disk) -> None:
    """Raises `NoRoom` for a caller that appends."""
    if file.used + adding > max_file_bytes:
        raise NoRoom(
            f"the bus {path} is full: it holds {file.used} bytes, and {adding} more are over its bound of {max_file_bytes}"
            " (max_file_bytes). Nothing was appended. Room is freed once its proposals are settled by the committers"
            " of every group that ever used this bus: check that they run, or give a larger bound"
        )
    growth = max(0, adding - file.free)
    # If the file doesn't grow, only its log does, and SQLite reuses that from time to time.
    kept = disk.kept if growth else disk.kept // 2
    if disk.free - growth < kept:
        raise NoRoom(
            f"the disk is full, where the bus {path} lies: {disk.free} bytes are free, and {kept} are reserved for its committer."
            " Nothing was appended. Make room on that disk, or let the committers settle the waiting proposals"
        )
