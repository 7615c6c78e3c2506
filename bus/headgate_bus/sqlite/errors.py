"""Translates SQLite's errors into errors of the bus, which say what to do. No I/O."""

import sqlite3

from headgate_bus.errors import BusError, BusUnavailable

_PRIMARY = 0xFF
"""Extended result codes hold the primary one in their lowest byte."""

_WAITING_HELPS = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code, or -1 if Python's module raised the error itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return -1 if code is None else code & _PRIMARY


def is_busy(error: BaseException) -> bool:
    """Whether another process holds the file at this moment. The call then had no effect."""
    return isinstance(error, sqlite3.Error) and primary_code(error) in _WAITING_HELPS


def is_uncertain(error: sqlite3.Error) -> bool:
    """Whether the connection can't be trusted after this error."""
    return primary_code(error) in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def told(error: sqlite3.Error, path: str) -> BusError:
    """The error of the bus for an error of SQLite."""
    code = primary_code(error)
    if code in _WAITING_HELPS:
        return BusUnavailable(
            f"the bus {path} was locked by another process until the deadline; nothing was appended. Try again;"
            " if it stays so, look for a process that is stopped or holds the file open in a SQLite shell"
        )
    if code == sqlite3.SQLITE_FULL:
        return BusUnavailable(
            f"the bus {path} can't grow: the disk is full, or the file is a quarter beyond its bound (max_file_bytes). Nothing"
            " was appended. Make room on the disk; a file beyond its bound may grow again once its processes are restarted"
        )
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM):
        return BusUnavailable(
            f"the bus {path} can't be read or written just now ({error}); it is not known whether it was appended."
            " Look at the disk and the system's log"
        )
    if code == sqlite3.SQLITE_NOTADB:
        return BusError(f"{path} is no SQLite file, so it is no bus: give another path, or move that file away")
    if code == sqlite3.SQLITE_CORRUPT:
        return BusError(
            f"the bus {path} is damaged ({error}). Stop its processes, move the file and its -wal and -shm away, prepare"
            " a new bus, and rebind its tables: what they committed is in their logs"
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return BusError(
            f"the bus {path} can't be written ({error}): its file or folder is read-only for this user. Every process of"
            " a bus must be able to write both"
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return BusError(
            f"the bus {path} can't be opened ({error}): the folder must exist, and this user must be able to write it"
        )
    return BusError(f"the bus {path} failed: {error}")
