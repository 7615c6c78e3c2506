"""A member of a group that follows the events of a bus file. Members on one machine share its partitions.

Each member locks a slot, which shows the others that it is alive, and locks its share of the partitions. Every member
computes the same shares from the slots that are locked. While their views differ, the partitions' locks keep two
members apart. The bus also counts the holders of each partition, so that the old holder is fenced if a lock's file is
removed.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence

from headgate_bus.errors import BusError, Fenced, OffsetGone
from headgate_bus.interface import DEFAULT_TIMEOUT_S, Record, Topic
from headgate_bus.sqlite import log as sqlite_log
from headgate_bus.sqlite import schema as sqlite_schema
from headgate_bus.sqlite.file import SqliteFile
from headgate_bus.sqlite.locks import checked_group, is_locked, locked
from headgate_bus.sqlite.log import LogTransaction
from headgate_bus.sqlite.waiting import CALL_TIMEOUT_S, until_found
from headgate_bus.sqlite.writer import GroupWriter
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

SHARING_S = 0.2
"""How often a member that polls looks who else is there: how long a dead one's partitions stay empty."""

_log = get_logger("headgate.bus")


def slot_path(path: str, group: str, slot: int) -> str:
    """The file whose lock shows that a member is alive."""
    return f"{path}.{checked_group(group)}.{slot}.member"


def share_path(path: str, group: str, partition: int) -> str:
    """The file whose lock is the right to a partition."""
    return f"{path}.{checked_group(group)}.{partition}.share"


class SqliteFollower:
    """A follower in a file. Members beyond the number of partitions hold nothing and wait for a slot."""

    def __init__(
        self,
        file: SqliteFile,
        writer: GroupWriter,
        ambient: Ambient,
        group: str,
        partitions: int,
        check_open: Callable[[], None],
    ) -> None:
        self._file = file
        self._writer = writer
        self._ambient = ambient
        self._group = checked_group(group)
        self._partitions = partitions
        self._check_bus = check_open
        self._slot: tuple[int, int] | None = None
        """Its number, and the descriptor that holds its lock."""
        self._locks: dict[int, int] = {}
        self._epochs: dict[int, int] = {}
        self._offsets: dict[int, int] = {}
        """By held partition, what is read next."""
        self._missed: set[int] = set()
        self._share_at_s = ambient.monotonic_s()
        self._closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        deadline_s = self._ambient.monotonic_s() + timeout_s
        while True:
            self._check_usable()
            changed = self._share_out()
            left_s = max(0.0, deadline_s - self._ambient.monotonic_s())
            wait_s = 0.0 if changed else min(left_s, SHARING_S)
            found = until_found(
                self._file, self._ambient, wait_s, lambda: self._look(max_records) or None, self._check_usable
            )
            if found or changed or left_s <= SHARING_S:
                return found or []

    def held(self) -> frozenset[int]:
        return frozenset(self._offsets)

    def position(self, partition: int) -> int | None:
        return self._offsets.get(partition)

    def missed(self) -> frozenset[int]:
        missed, self._missed = self._missed, set()
        return frozenset(missed & self._offsets.keys())

    def settle(self, partition: int, next_offset: int) -> None:
        self._check_usable()
        if partition not in self._offsets:
            raise self._lost(partition)
        position, epoch = self._offsets[partition], self._epochs[partition]
        if next_offset > position:
            raise BusError(
                f"group {self._group} can't settle offset {next_offset} of events, partition {partition}: only what lies"
                f" below {position} was read here"
            )

        def work(transaction: LogTransaction) -> None:
            settled, now = _followed(transaction.connection, self._group, partition)
            if now != epoch:
                raise self._lost(partition)
            if settled is None or next_offset > settled:
                _remember(transaction.connection, self._group, partition, next_offset, epoch)

        try:
            self._writer.do(work, self._deadline_s())
        except Fenced:
            self._let_go(partition)
            raise

    def close(self) -> None:
        self._closed = True
        for partition in list(self._locks):
            self._let_go(partition)
        slot, self._slot = self._slot, None
        if slot is not None:
            os.close(slot[1])
        self._file.close()

    def _share_out(self) -> bool:
        """Take this member's share of the partitions and release the others. Returns whether anything changed."""
        now_s = self._ambient.monotonic_s()
        if now_s < self._share_at_s:
            return False
        self._share_at_s = now_s + SHARING_S
        mine = self._meant()
        before = self.held()
        for partition in before - mine:
            self._let_go(partition)
        for partition in sorted(mine - before):
            self._take(partition)
        return self.held() != before

    def _meant(self) -> frozenset[int]:
        """This member's share of the partitions, by the living members."""
        paths = [slot_path(self._file.path, self._group, slot) for slot in range(self._partitions)]
        if self._slot is None:
            for slot, path in enumerate(paths):
                descriptor = locked(path)
                if descriptor is not None:
                    self._slot = (slot, descriptor)
                    break
        if self._slot is None:
            return frozenset()
        mine = self._slot[0]
        members = [slot for slot, path in enumerate(paths) if slot == mine or is_locked(path)]
        return frozenset(range(members.index(mine), self._partitions, len(members)))

    def _take(self, partition: int) -> None:
        """Hold the partition, unless another member still does."""
        lock = locked(share_path(self._file.path, self._group, partition))
        if lock is None:
            return
        try:
            start, epoch = self._writer.do(
                lambda transaction: self._raise_epoch(transaction, partition), self._deadline_s()
            )
        except BaseException:
            os.close(lock)
            raise
        self._locks[partition] = lock
        self._epochs[partition] = epoch
        self._offsets[partition] = start
        _log.info("events_held", bus=self._file.path, group=self._group, partition=partition, offset=start)

    def _raise_epoch(self, transaction: LogTransaction, partition: int) -> tuple[int, int]:
        sqlite_schema.make_followed(transaction.connection)
        settled, epoch = _followed(transaction.connection, self._group, partition)
        epoch = (epoch or 0) + 1
        _remember(transaction.connection, self._group, partition, settled, epoch)
        return transaction.partition(Topic.EVENTS, partition).first if settled is None else settled, epoch

    def _let_go(self, partition: int) -> None:
        self._offsets.pop(partition, None)
        self._epochs.pop(partition, None)
        lock = self._locks.pop(partition, None)
        if lock is not None:
            os.close(lock)

    def _look(self, max_records: int) -> list[Record]:
        # In each round another partition comes first.
        for _ in range(self._partitions + 1):
            try:
                found, behind = self._file.read(
                    self._ambient.monotonic_s() + CALL_TIMEOUT_S,
                    lambda connection: sqlite_log.read(
                        connection, Topic.EVENTS, self._offsets, max_records, self._file.path
                    ),
                )
            except OffsetGone as gone:
                _log.warning("events_missed", bus=self._file.path, group=self._group, reason=str(gone))
                self._missed.add(gone.partition)
                self._offsets[gone.partition] = gone.first
                continue
            if found:
                self._offsets = sqlite_log.turned(behind)
            return found
        return []

    def _lost(self, partition: int) -> Fenced:
        return Fenced(
            f"partition {partition} of events is another member's of group {self._group} by now; nothing was settled."
            " That member reads the same events again"
        )

    def _check_usable(self) -> None:
        if self._closed:
            raise BusError("this follower was closed; take another")
        self._check_bus()

    def _deadline_s(self) -> float:
        return self._ambient.monotonic_s() + DEFAULT_TIMEOUT_S


def _followed(connection: sqlite3.Connection, group: str, partition: int) -> tuple[int | None, int | None]:
    """The offset up to which the group has settled the partition, and the number of its holders so far."""
    row = connection.execute(
        "SELECT next_offset, epoch FROM followed WHERE name = ? AND partition = ?", (group, partition)
    ).fetchone()
    return (None, None) if row is None else (row[0], int(row[1]))


def _remember(connection: sqlite3.Connection, group: str, partition: int, next_offset: int | None, epoch: int) -> None:
    connection.execute("INSERT OR REPLACE INTO followed VALUES (?, ?, ?, ?)", (group, partition, next_offset, epoch))
