"""Locks of the operating system on files beside a bus. A lock is released at once when its holder dies."""

import fcntl
import os
import re

from headgate_bus.errors import BusError
from headgate_schemas.errors import InvalidInput

_GROUP = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


def checked_group(group: str) -> str:
    """The group's name, if it can be part of a file's name."""
    if not _GROUP.fullmatch(group):
        raise InvalidInput(f"group {group[:200]!r} can't be used: take letters, digits, '.', '_' and '-', up to 100")
    return group


def locked(path: str) -> int | None:
    """A descriptor that holds the file's lock until it is closed, or None if another process holds the lock. Doesn't
    wait.
    """
    return _locked(path, fcntl.LOCK_EX)


def is_locked(path: str) -> bool:
    """Whether somebody holds the file's lock. During this check nobody else can take it."""
    descriptor = _locked(path, fcntl.LOCK_SH)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _locked(path: str, kind: int) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise BusError(f"the lock file {path} can't be opened ({error}); its folder must be writable") from error
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        mine, there = os.fstat(descriptor), os.stat(path)
    except (BlockingIOError, FileNotFoundError):
        os.close(descriptor)
        return None
    except OSError as error:
        os.close(descriptor)
        raise BusError(f"the file system of {path} can't lock files ({error}); use a local disk") from error
    if (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino):
        # The file was removed between opening and locking: a lock on an unlinked file keeps nobody out.
        os.close(descriptor)
        return None
    return descriptor
