"""One connection to a bus file: opening it, waiting for its locks, and checking that the file is still the same.

A commit survives `kill -9` at once, and a power cut after `sync` has returned. SQLite can wait for the disk itself
(synchronous = FULL), but it then blocks all other writers meanwhile. So it runs with NORMAL: a power cut removes whole
transactions from the end and damages nothing. `sync` writes the log to the disk outside of the lock, before the caller
gets its answer. Several processes thus wait for the disk at the same time instead of one after the other.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote

import tenacity

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.sqlite import schema as sqlite_schema
from headgate_bus.sqlite.errors import is_busy, is_uncertain, told
from headgate_bus.sqlite.room import most_pages
from headgate_schemas.ambient import Ambient

T = TypeVar("T")

MAX_FILE_BYTES = 64 << 30
"""A bus that nobody reads must not fill the disk; at this size it takes no more proposals."""
CHECKPOINT_PAGES = 4_000
"""16 MiB of log are moved into the file at a time: seldom enough that few commits wait for it."""
KEPT_LOG_BYTES = 64 << 20
"""A log that grew larger, because a reader was slow, is cut back to this."""

WRITE_ANEW_S = 5.0
"""For moving a doubtful log into the file: readers in the way are done by then."""

FIRST_PAUSE_S = 0.000_3
LONGEST_PAUSE_S = 0.002
"""Between looks whether a lock is free. SQLite's own waiting grows to 100 ms, which is many commits long."""


class SqliteFile:
    """A connection, opened at first use. Threads may share it; calls run one at a time."""

    def __init__(self, path: str, ambient: Ambient, *, max_file_bytes: int = MAX_FILE_BYTES) -> None:
        self.path = path
        self._ambient = ambient
        self._max_file_bytes = max_file_bytes
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._seen: tuple[int, int] | None = None
        self._log: int | None = None
        self._is_doubtful = False
        """The disk refused to keep the log, and what the system shows of it since may be on no disk."""
        self._closed = False

    def prepare(self, deadline_s: float, partitions: int | None) -> sqlite_schema.Identity:
        """Create the file if it is missing, and return its identity."""
        with self._lock:
            connection = self._opened(deadline_s, create=True)
            if not self._patiently(deadline_s, lambda: sqlite_schema.is_ours(connection, self.path)):
                # Checked again inside of the transaction, because another process may have been faster.
                self.write(
                    deadline_s,
                    lambda inside: (
                        None
                        if sqlite_schema.is_ours(inside, self.path)
                        else sqlite_schema.create(inside, self._ambient, partitions or 1)
                    ),
                )
            identity = self._patiently(deadline_s, lambda: sqlite_schema.identity(connection))
            self.sync()
            self._sync_names()
            return identity

    def identity(self, deadline_s: float) -> sqlite_schema.Identity:
        """The file's identity, read anew. Raises `BusError` if the file was never prepared."""
        return self.read(deadline_s, sqlite_schema.identity)

    def read(self, deadline_s: float, look: Callable[[sqlite3.Connection], T]) -> T:
        """The result of `look`; all its reads see the same moment."""
        with self._lock:
            connection = self._opened(deadline_s)

            def whole() -> T:
                connection.execute("BEGIN")
                try:
                    return look(connection)
                finally:
                    connection.rollback()

            return self._patiently(deadline_s, whole)

    def write(self, deadline_s: float, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` and commit it; an error means that nothing was done, except for `BusUnavailable`. `sync` makes the
        commit durable.
        """
        with self._lock:
            connection = self._opened(deadline_s)
            self._patiently(deadline_s, lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                self.check_same()
                result = work(connection)
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._give_up(error)
                raise told(error, self.path) from error
            except BaseException:
                connection.rollback()
                raise
            return result

    def changes(self, deadline_s: float) -> int:
        """A number that changes when other connections have written."""
        with self._lock:
            connection = self._opened(deadline_s)
            return int(self._patiently(deadline_s, lambda: connection.execute("PRAGMA data_version").fetchone()[0]))

    def sync(self) -> None:
        """Make everything that is readable by now survive a power cut. Other processes can write meanwhile."""
        # The log holds the frames of a commit, and all frames before them, before anybody can see the commit. If the
        # log has been restarted since, SQLite has moved its frames into the file and has waited for the disk.
        with self._lock:
            if self._connection is None:
                raise BusError(f"the bus {self.path} was closed here while it was written")
            if self._is_doubtful:
                self._write_anew(self._connection)
            if self._log is None:
                self._log = self._opened_log()
            log = os.dup(self._log)
        try:
            _to_disk(log)
            grown = os.fstat(log).st_size > KEPT_LOG_BYTES
        except OSError as error:
            with self._lock:
                self._is_doubtful = True
                self._drop()
            raise BusUnavailable(
                f"the bus {self.path} can't be brought to the disk ({error}); it is not known whether it was appended. Look"
                " at the disk and the system's log"
            ) from error
        finally:
            os.close(log)
        if grown:
            self._begin_log_anew()

    def check_same(self) -> None:
        """Raise `BusError` if the file was moved, removed or replaced, because nobody would ever see new writes."""
        try:
            info = os.stat(self.path)
        except FileNotFoundError:
            info = None
        if info is None or (info.st_dev, info.st_ino) != self._seen:
            raise BusError(
                f"the bus {self.path} was removed or replaced while this process used it; nothing was appended. Restart"
                " all processes of this bus; tables of a lost bus need a rebind"
            )

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._drop()

    def _opened(self, deadline_s: float, *, create: bool = False) -> sqlite3.Connection:
        if self._closed:
            raise BusError(f"the bus {self.path} was closed here; open it again")
        if self._connection is None:
            self._open(deadline_s, create=create)
            if not create:
                self._check_prepared(deadline_s)
        assert self._connection is not None
        return self._connection

    def _open(self, deadline_s: float, *, create: bool) -> None:
        if not create and not os.path.exists(self.path):
            raise BusError(f"there is no bus at {self.path}: prepare it (a committer does so), or correct the address")
        mode = "rwc" if create else "rw"
        try:
            # Autocommit: only this class begins and ends transactions. It also does the waiting.
            connection = sqlite3.connect(
                f"file:{quote(self.path)}?mode={mode}",
                uri=True,
                timeout=0,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise told(error, self.path) from error
        self._connection = connection
        try:
            self._set_up(connection, deadline_s)
            info = os.stat(self.path)
        except OSError as error:
            self._drop()
            raise BusError(f"the bus {self.path} can't be opened: {error}") from error
        except BaseException:
            self._drop()
            raise
        self._seen = (info.st_dev, info.st_ino)

    def _set_up(self, connection: sqlite3.Connection, deadline_s: float) -> None:
        connection.text_factory = _text
        # Before the journal's mode is set: setting it writes to the file, which may belong to another program.
        self._patiently(deadline_s, lambda: sqlite_schema.is_ours(connection, self.path))
        (mode,) = self._patiently(deadline_s, lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
        if mode != "wal":
            raise BusError(
                f"the bus {self.path} lies on a file system on which processes can't share memory (a network share?):"
                " put it on a local disk"
            )
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        (pages,) = self._patiently(deadline_s, lambda: connection.execute("PRAGMA page_count").fetchone())
        for pragma in (
            "synchronous = NORMAL",
            "checkpoint_fullfsync = ON",  # on macOS, where fsync alone doesn't reach the disk
            "trusted_schema = OFF",
            # Some builds overwrite deleted rows by default: deleting proposals would then need as much disk as they
            # use.
            "secure_delete = FAST",
            f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
            f"journal_size_limit = {KEPT_LOG_BYTES}",
            f"max_page_count = {most_pages(self._max_file_bytes, page_bytes, pages)}",
        ):
            connection.execute(f"PRAGMA {pragma}").fetchall()

    def _check_prepared(self, deadline_s: float) -> None:
        connection = self._connection
        assert connection is not None
        if not self._patiently(deadline_s, lambda: sqlite_schema.is_ours(connection, self.path)):
            self._drop()
            raise BusError(f"{self.path} is empty: prepare the bus first (a committer does so)")

    def _patiently(self, deadline_s: float, act: Callable[[], T]) -> T:
        """The result of `act`, after waiting until no other process blocks it."""
        try:
            try:
                return act()
            except sqlite3.OperationalError as error:
                if not is_busy(error):
                    raise
            return self._waiting(deadline_s)(act)
        except sqlite3.Error as error:
            self._give_up(error)
            raise told(error, self.path) from error

    def _waiting(self, deadline_s: float) -> tenacity.Retrying:
        ambient = self._ambient

        def pause(state: tenacity.RetryCallState) -> float:
            grown = FIRST_PAUSE_S * 1.5 ** min(state.attempt_number - 1, 20)
            return min(grown, LONGEST_PAUSE_S) * (0.5 + ambient.jitter())

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_busy),
            stop=lambda state: ambient.monotonic_s() >= deadline_s,
            wait=pause,
            sleep=ambient.sleep,
            reraise=True,
        )

    def _give_up(self, error: sqlite3.Error) -> None:
        """End the transaction. After an error of the disk, the connection is closed."""
        connection = self._connection
        if connection is None:
            return
        if is_uncertain(error):
            self._drop()
        elif connection.in_transaction:
            connection.rollback()

    def cut_log(self) -> None:
        """Shrink the log to give its disk space back, unless a reader prevents it."""
        self._checkpoint("TRUNCATE")

    def _begin_log_anew(self) -> None:
        """Restart the log. SQLite does so by itself when nobody reads; with many readers it must be requested."""
        self._checkpoint("RESTART")

    def _checkpoint(self, how: str) -> None:
        with self._lock:
            if self._connection is None:
                return
            try:
                self._connection.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
            except sqlite3.Error as error:
                # The writes are on the disk already; a later commit shrinks the log.
                self._give_up(error)

    def _write_anew(self, connection: sqlite3.Connection) -> None:
        """Move everything from the log into the file, and wait for the disk, before anybody hears of writes that are in
        the log.

        After a failed sync, a second sync succeeds without writing anything.
        """
        deadline_s = self._ambient.monotonic_s() + WRITE_ANEW_S
        while self._is_in_the_way(connection):
            if self._ambient.monotonic_s() >= deadline_s:
                raise BusUnavailable(
                    f"the bus {self.path} met a failing disk, and what stands in its log can't be written anew while others"
                    " read it; it is not known whether it was appended. Try again"
                )
            self._ambient.sleep(LONGEST_PAUSE_S)
        self._is_doubtful = False

    def _is_in_the_way(self, connection: sqlite3.Connection) -> bool:
        """Whether somebody reads the log just now, so that it can't be emptied."""
        try:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.Error as error:
            if is_busy(error):
                return True
            self._give_up(error)
            raise told(error, self.path) from error
        return bool(busy)

    def _opened_log(self) -> int:
        # SQLite keeps its locks on the other two files; opening and closing them here would release the locks.
        try:
            return os.open(f"{self.path}-wal", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise BusError(
                f"the log {self.path}-wal of the bus was removed while it was used ({error}); it is not known what was"
                " appended lately. Restart all processes of this bus"
            ) from error

    def _sync_names(self) -> None:
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _drop(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            os.close(log)
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _to_disk(descriptor: int) -> None:
    whole_way = getattr(fcntl, "F_FULLFSYNC", None)
    if whole_way is None:
        os.fdatasync(descriptor)
    else:
        fcntl.fcntl(descriptor, whole_way)
