"""A seat in a group of committers on one machine.

Two things guard it. A lock of the operating system on a file beside the bus makes others wait, and is released the
moment its holder dies. An epoch in the bus, which rises whenever the seat is taken, is checked inside of every publish:
if somebody removes the lock's file, the old holder is fenced.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence

from headgate_bus.errors import BusError, Fenced
from headgate_bus.interface import DEFAULT_TIMEOUT_S, Deployment, Mark, Message, Record, Topic
from headgate_bus.marks import mark_text, read_mark
from headgate_bus.message_bounds import check_messages
from headgate_bus.sqlite import log as sqlite_log
from headgate_bus.sqlite import schema as sqlite_schema
from headgate_bus.sqlite.file import SqliteFile
from headgate_bus.sqlite.locks import checked_group, is_locked, locked
from headgate_bus.sqlite.log import LogTransaction
from headgate_bus.sqlite.retention import RETENTION, SPARE, Retention, let_go
from headgate_bus.sqlite.room import disk_of
from headgate_bus.sqlite.waiting import CALL_TIMEOUT_S, until_found
from headgate_bus.sqlite.writer import GroupWriter
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

_log = get_logger("headgate.bus")

LOCK_PAUSE_S = 0.02
"""Between tries for the lock: how long a dead committer's place stays empty."""


def lock_path(path: str, group: str) -> str:
    """The file whose lock is the group's seat."""
    return f"{path}.{checked_group(group)}.seat"


class SqliteSeat:
    """A seat in a file. It holds all partitions, or none."""

    def __init__(
        self,
        file: SqliteFile,
        writer: GroupWriter,
        ambient: Ambient,
        mine: Deployment,
        partitions: int,
        check_open: Callable[[], None],
        retention: Mapping[Topic, Retention] = RETENTION,
    ) -> None:
        self._retention = retention
        self._group, self._roots = mine.group, sorted(mine.roots or ())
        self._file = file
        self._writer = writer
        self._ambient = ambient
        self._partitions = partitions
        self._check_bus = check_open
        self._lock_path = lock_path(file.path, mine.group)
        self._lock: int | None = None
        self._epoch: int | None = None
        self._offsets: dict[int, int] = {}
        self._paused: set[int] = set()
        self._fenced = False
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        self._check_usable()
        if self._epoch is None:
            self._take(timeout_s)
            # Newly held, or still waiting: there is nothing to deliver before `seek`.
            return []
        found = until_found(
            self._file, self._ambient, timeout_s, lambda: self._look(max_records) or None, self._check_usable
        )
        return found or []

    def held(self) -> frozenset[int]:
        return frozenset() if self._epoch is None else frozenset(range(self._partitions))

    def others(self) -> Sequence[Deployment]:
        self._check_usable()
        found = self._file.read(self._deadline_s(), deployments)
        # The lock shows which seats are alive; this process's own lock doesn't count as another's.
        return [
            each
            for each in found
            if not (each.group == self._group and self._lock is not None)
            and is_locked(lock_path(self._file.path, each.group))
        ]

    def committed(self, partition: int) -> int | None:
        self._check_usable()
        return self._file.read(
            self._deadline_s(), lambda connection: committed(connection, self._group, partition, self._partitions)
        )

    def mark(self, partition: int) -> Mark | None:
        self._check_usable()
        return self._file.read(self._deadline_s(), lambda connection: mark(connection, self._group, partition))

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> None:
        self._check_held(partition)
        self._offsets[partition] = offset

    def pause(self, partition: int) -> None:
        self._check_held(partition)
        self._paused.add(partition)

    def resume(self, partition: int) -> None:
        self._check_held(partition)
        self._paused.discard(partition)

    def publish(
        self,
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
        *,
        goes_back: bool = False,
    ) -> None:
        if self._closed:
            raise BusError("this seat was closed; take another")
        self._check_bus()
        check_messages(Topic.EVENTS, events)
        check_messages(Topic.DEAD_LETTERS, dead_letters)
        if self._fenced:
            raise self._fence()
        if partition not in self.held():
            raise Fenced(
                f"partition {partition} of the bus {self._file.path} isn't held: another process has the place in group"
                f" {self._group}, or this one hasn't taken it yet; nothing was published. Stop the work on it"
            )
        epoch = self._epoch
        now_ms = self._ambient.now_ms()
        is_disk_short = disk_of(self._file.path).is_short
        more = 2 * (len(events) + len(dead_letters)) + SPARE

        def work(transaction: LogTransaction) -> None:
            if taken(transaction.connection, self._group) != epoch:
                raise self._fence()
            if next_offset is not None:
                self._check_next(transaction, partition, next_offset, goes_back=goes_back)
            for topic, messages in ((Topic.EVENTS, events), (Topic.DEAD_LETTERS, dead_letters)):
                if messages:
                    let_go(transaction, topic, self._retention[topic], now_ms, 2 * len(messages) + SPARE)
                    transaction.append(topic, messages)
            if next_offset is not None:
                transaction.connection.execute(
                    "INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", (self._group, partition, next_offset)
                )
                transaction.connection.execute(
                    "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)",
                    (self._group, partition, next_offset, mark_text(mark)),
                )
            if is_disk_short:
                # The file can't grow, so events take the pages of proposals that are settled.
                let_go_of_settled(transaction, partition, more)

        if is_disk_short:
            self._writer.cut_log()
        self._writer.do(work, self._deadline_s())

    def set_back(self, partition: int, offset: int, mark: Mark | None) -> None:
        self.publish(partition, (), (), offset, mark, goes_back=True)

    def close(self) -> None:
        self._closed = True
        self._epoch = None
        self._release()
        self._file.close()

    def _look(self, max_records: int) -> list[Record]:
        delivering = {number: offset for number, offset in self._offsets.items() if number not in self._paused}

        def look(connection: sqlite3.Connection) -> tuple[list[Record], dict[int, int]]:
            if taken(connection, self._group) != self._epoch:
                raise self._fence()
            return sqlite_log.read(connection, Topic.PROPOSALS, delivering, max_records, self._file.path)

        found, behind = self._file.read(self._ambient.monotonic_s() + CALL_TIMEOUT_S, look)
        if found:
            # The proposals must survive every power cut that their decision survives. Otherwise the bus would end
            # before the position that the table remembers.
            self._file.sync()
            self._offsets.update(behind)
            self._offsets = sqlite_log.turned(self._offsets)
        return found

    def _check_next(self, transaction: LogTransaction, partition: int, next_offset: int, *, goes_back: bool) -> None:
        before = committed(transaction.connection, self._group, partition, self._partitions) or 0
        end = transaction.partition(Topic.PROPOSALS, partition).next_offset
        if next_offset > end or (next_offset < before <= end and not goes_back):
            raise BusError(
                f"group {self._group} can't commit offset {next_offset} of partition {partition}: it lies outside of"
                f" {before} to {end}; nothing was published"
            )

    def _take(self, timeout_s: float) -> None:
        """Wait for the seat, and announce the new holder in the bus."""
        deadline_s = self._ambient.monotonic_s() + timeout_s
        over = timeout_s <= 0
        while not self._locked():
            if over:
                return
            left = deadline_s - self._ambient.monotonic_s()
            over = left <= LOCK_PAUSE_S
            self._ambient.sleep(max(0.0, min(LOCK_PAUSE_S, left)))
            self._check_usable()
        try:
            self._epoch = self._writer.do(self._raise_epoch, self._deadline_s())
        except BaseException:
            self._release()
            raise
        _log.info("seat_taken", bus=self._file.path, group=self._group, epoch=self._epoch)

    def _raise_epoch(self, transaction: LogTransaction) -> int:
        sqlite_schema.make_marks(transaction.connection)
        epoch = (taken(transaction.connection, self._group) or 0) + 1
        transaction.connection.execute("INSERT OR REPLACE INTO seats VALUES (?, ?)", (self._group, epoch))
        sqlite_schema.make_deployments(transaction.connection)
        transaction.connection.execute(
            "INSERT OR REPLACE INTO deployments VALUES (?, ?, ?)", (self._group, epoch, json.dumps(self._roots))
        )
        return epoch

    def _locked(self) -> bool:
        """Whether this process has the lock; tries once to take it."""
        self._lock = locked(self._lock_path)
        return self._lock is not None

    def _release(self) -> None:
        descriptor, self._lock = self._lock, None
        if descriptor is not None:
            os.close(descriptor)

    def _fence(self) -> Fenced:
        self._fenced = True
        self._epoch = None
        self._release()
        return Fenced(
            f"another process took the place in group {self._group} of the bus {self._file.path}; nothing was published."
            " Stop the work on it. On one machine this happens when the lock file was removed:"
            f" leave {self._lock_path} alone"
        )

    def _check_usable(self) -> None:
        if self._closed:
            raise BusError("this seat was closed; take another")
        self._check_bus()
        if self._fenced:
            raise self._fence()

    def _check_held(self, partition: int) -> None:
        self._check_usable()
        if partition not in self.held():
            raise BusError(
                f"partition {partition} is not held; only partitions in `held` can be sought, paused or resumed"
            )

    def _deadline_s(self) -> float:
        return self._ambient.monotonic_s() + DEFAULT_TIMEOUT_S


def taken(connection: sqlite3.Connection, group: str) -> int | None:
    """The number of times that the group's seat was taken."""
    row = connection.execute("SELECT epoch FROM seats WHERE name = ?", (group,)).fetchone()
    return None if row is None else int(row[0])


def committed(connection: sqlite3.Connection, group: str, partition: int, partitions: int) -> int | None:
    if not 0 <= partition < partitions:
        raise sqlite_log.no_partition(Topic.PROPOSALS, partition, partitions)
    row = connection.execute(
        "SELECT next_offset FROM settled WHERE name = ? AND partition = ?", (group, partition)
    ).fetchone()
    return None if row is None else int(row[0])


def deployments(connection: sqlite3.Connection) -> list[Deployment]:
    """The announcements of every group that ever took its seat, dead or alive; without roots if an older release took
    it last.
    """
    told: dict[tuple[str, int], str] = {}
    if sqlite_schema.has_table(connection, "deployments"):
        rows = connection.execute("SELECT name, epoch, roots FROM deployments").fetchall()
        told = {(name, epoch): roots for name, epoch, roots in rows}
    seats = connection.execute("SELECT name, epoch FROM seats").fetchall()
    return [
        Deployment(name, tuple(json.loads(told[name, epoch])) if (name, epoch) in told else None)
        for name, epoch in seats
    ]


def mark(connection: sqlite3.Connection, group: str, partition: int) -> Mark | None:
    """The mark of the group's committed offset."""
    if not sqlite_schema.has_table(connection, "marks"):
        return None
    row = connection.execute(
        "SELECT mark FROM marks JOIN settled USING (name, partition, next_offset) WHERE name = ? AND partition = ?",
        (group, partition),
    ).fetchone()
    return None if row is None else read_mark(row[0])


def let_go_of_settled(transaction: LogTransaction, partition: int, max_records: int) -> None:
    """Delete the oldest proposals that all groups have settled, up to that many. The last one stays: by it a bus is known again."""
    log = transaction.partition(Topic.PROPOSALS, partition)
    log.first = max(log.first, settled_by_all(transaction.connection, partition) - 1)
    transaction.delete_below_first(Topic.PROPOSALS, partition, max_records)


def settled_by_all(connection: sqlite3.Connection, partition: int) -> int:
    """The lowest settled offset of all groups that ever took their seat; 0 while a group has settled nothing."""
    (offset,) = connection.execute(
        "SELECT min(coalesce(settled.next_offset, 0)) FROM seats"
        " LEFT JOIN settled ON settled.name = seats.name AND settled.partition = ?",
        (partition,),
    ).fetchone()
    return int(offset or 0)
