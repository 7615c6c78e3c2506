"""The bus in one SQLite file: several processes on one machine, durable, without a server."""

import os
import sqlite3
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from headgate_bus.errors import BusError
from headgate_bus.interface import DEFAULT_TIMEOUT_S, Deployment, Extent, Mark, Message, MessagePlace, Topic
from headgate_bus.message_bounds import check_messages
from headgate_bus.sqlite import log as sqlite_log
from headgate_bus.sqlite import retention as sqlite_retention
from headgate_bus.sqlite.file import MAX_FILE_BYTES, SqliteFile
from headgate_bus.sqlite.follower import SqliteFollower
from headgate_bus.sqlite.log import LogTransaction
from headgate_bus.sqlite.reader import SqliteReader
from headgate_bus.sqlite.room import NoRoom, check_room, disk_of, filling_of, retention_within, weight
from headgate_bus.sqlite.schema import MAX_PARTITIONS, Identity
from headgate_bus.sqlite.seat import SqliteSeat, committed, mark, settled_by_all
from headgate_bus.sqlite.writer import GroupWriter
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.sources import Source

T = TypeVar("T")
_ROOM_EVERY_S = 10.0
"""How often room is made on a full bus where nothing more is settled: by age alone some things go."""
_Opened = SqliteReader | SqliteSeat | SqliteFollower


class SqliteBus:
    """A bus in a file. It opens the file at the first call. Not for use on both sides of a fork."""

    def __init__(
        self, path: str, ambient: Ambient, *, partitions: int | None = None, max_file_bytes: int = MAX_FILE_BYTES
    ) -> None:
        """`partitions` is the number for a new file, and the required number of an existing one; None accepts any."""
        if partitions is not None and not 1 <= partitions <= MAX_PARTITIONS:
            raise InvalidInput(f"a bus can't have {partitions} partitions: 1 to {MAX_PARTITIONS} are possible")
        # SQLite keeps its log beside the real file, and all processes must lock under the same name, so links are
        # resolved.
        self._path = os.path.realpath(path)
        self._ambient = ambient
        self._wanted_partitions = partitions
        self._max_file_bytes = max_file_bytes
        self._room_made_for: list[int] = []
        """What was settled when room was made for the last time."""
        self._room_made_s = 0.0
        self._identity: Identity | None = None
        self._looking = self._new_file()
        self._writing = self._new_file()
        self._writer = GroupWriter(self._writing, ambient, self._begin)
        self._opened: list[_Opened] = []
        self._lock = threading.Lock()
        self._closed = False

    @property
    def address(self) -> str:
        return f"sqlite://{quote(self._path)}"

    def prepare(self) -> None:
        self._check_open()
        identity = self._writing.prepare(self._deadline_s(), self._wanted_partitions)
        there = identity.partitions[Topic.PROPOSALS]
        if self._wanted_partitions not in (None, there):
            raise BusError(
                f"the bus {self._path} was made with {there} partitions, not {self._wanted_partitions}: their number is"
                " fixed. Leave it out of the address, or make a new bus and rebind the tables"
            )
        self._identity = identity
        self._let_go_of_what_is_old()

    def partitions(self, topic: Topic) -> int:
        return self._known().partitions[topic]

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        return sqlite_log.partition_of(key, self.partitions(topic))

    def source(self, partition: int) -> Source:
        self._check_open()
        # The file may have been replaced behind an open connection, whose answers would then be out of date.
        identity = self._looking.identity(self._deadline_s())
        self._looking.check_same()
        count = identity.partitions[Topic.PROPOSALS]
        if not 0 <= partition < count:
            raise sqlite_log.no_partition(Topic.PROPOSALS, partition, count)
        return Source(identity.cluster, identity.topics[Topic.PROPOSALS], partition)

    def extent(self, topic: Topic, partition: int) -> Extent:
        found = self._look(lambda connection: sqlite_log.extent(connection, topic, partition))
        if found is None:
            raise sqlite_log.no_partition(topic, partition, self.partitions(topic))
        return found

    def committed(self, group: str, partition: int) -> int | None:
        count = self.partitions(Topic.PROPOSALS)
        return self._look(lambda connection: committed(connection, group, partition, count))

    def mark(self, group: str, partition: int) -> Mark | None:
        return self._look(lambda connection: mark(connection, group, partition))

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        deadline_s = self._ambient.monotonic_s() + timeout_s
        self._known()
        check_messages(topic, messages)
        if not messages:
            return []
        adding = weight(sum(len(message.body) for message in messages), len(messages))

        def work(transaction: LogTransaction) -> list[MessagePlace]:
            # Messages that others append in the same transaction need room as well.
            more, filling = adding + transaction.gathered_bytes, filling_of(transaction.connection)
            check_room(self._path, filling, more, self._max_file_bytes, disk_of(self._path))
            return transaction.append(topic, messages)

        try:
            return self._writer.do(work, deadline_s)
        except NoRoom:
            if not self._make_room():
                raise
        return self._writer.do(work, deadline_s)

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> SqliteReader:
        def check(connection: sqlite3.Connection) -> None:
            for number, offset in offsets.items():
                sqlite_log.check_offset(connection, topic, number, offset, self._path)

        self._look(check)
        reader = SqliteReader(self._new_file(), self._ambient, topic, offsets, self._check_open)
        self._remember(reader)
        return reader

    def seat(self, group: str, roots: Sequence[str] = ()) -> SqliteSeat:
        partitions = self.partitions(Topic.PROPOSALS)
        seat = SqliteSeat(
            self._new_file(),
            self._writer,
            self._ambient,
            Deployment(group, tuple(roots)),
            partitions,
            self._check_open,
            retention_within(self._max_file_bytes),
        )
        self._remember(seat)
        return seat

    def follow(self, group: str) -> SqliteFollower:
        partitions = self.partitions(Topic.EVENTS)
        follower = SqliteFollower(self._new_file(), self._writer, self._ambient, group, partitions, self._check_open)
        self._remember(follower)
        return follower

    def trim(self, partition: int, before: int) -> None:
        self._known()
        self._trim(partition, lambda settled: min(before, settled))

    def close(self) -> None:
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, []
        for one in opened:
            one.close()
        self._looking.close()
        self._writing.close()

    def _trim(self, partition: int, before: Callable[[int], int]) -> None:
        """Delete proposals below an offset that depends on all groups' settled offsets."""

        def move_first(transaction: LogTransaction) -> None:
            log = transaction.partition(Topic.PROPOSALS, partition)
            log.first = max(log.first, before(settled_by_all(transaction.connection, partition)))

        self._writer.do(move_first, self._deadline_s())
        for _ in range(sqlite_retention.TRIM_CHUNKS):
            deleted = self._writer.do(
                lambda transaction: transaction.delete_below_first(Topic.PROPOSALS, partition, sqlite_retention.CHUNK),
                self._deadline_s(),
            )
            if deleted < sqlite_retention.CHUNK:
                break

    def _make_room(self) -> bool:
        """Delete everything that isn't needed: all settled proposals except the last, which identifies the log.

        Returns whether it tried to delete anything.
        """
        partitions = range(self.partitions(Topic.PROPOSALS))
        settled = self._look(lambda connection: [settled_by_all(connection, each) for each in partitions])
        now_s = self._ambient.monotonic_s()
        if settled == self._room_made_for and now_s < self._room_made_s + _ROOM_EVERY_S:
            return False  # a writer that is refused again and again must not block others
        self._room_made_for, self._room_made_s = settled, now_s
        self._let_go_of_what_is_old()
        for partition in partitions:
            self._trim(partition, lambda settled: settled - 1)
        self._writing.cut_log()
        return True

    def _let_go_of_what_is_old(self) -> None:
        for topic, retention in retention_within(self._max_file_bytes).items():
            for _ in range(sqlite_retention.MAX_CHUNKS):
                if not self._let_go(topic, retention):
                    break

    def _let_go(self, topic: Topic, retention: sqlite_retention.Retention) -> int:
        now_ms = self._ambient.now_ms()
        return self._writer.do(
            lambda transaction: sqlite_retention.let_go(transaction, topic, retention, now_ms, sqlite_retention.CHUNK),
            self._deadline_s(),
        )

    def _begin(self, connection: sqlite3.Connection) -> LogTransaction:
        return LogTransaction(connection, self._known().partitions, self._ambient.now_ms())

    def _known(self) -> Identity:
        """The file's identity, which doesn't change while it is the same file."""
        self._check_open()
        if self._identity is None:
            self._identity = self._looking.identity(self._deadline_s())
        return self._identity

    def _look(self, look: Callable[[sqlite3.Connection], T]) -> T:
        self._check_open()
        return self._looking.read(self._deadline_s(), look)

    def _remember(self, opened: _Opened) -> None:
        with self._lock:
            self._opened = [*(one for one in self._opened if not one.closed), opened]

    def _new_file(self) -> SqliteFile:
        return SqliteFile(self._path, self._ambient, max_file_bytes=self._max_file_bytes)

    def _deadline_s(self) -> float:
        return self._ambient.monotonic_s() + DEFAULT_TIMEOUT_S

    def _check_open(self) -> None:
        if self._closed:
            raise BusError(f"the bus {self._path} was closed here; open it again")
