"""The statements of a bus file that append, read and trim records inside of the caller's transaction."""

import json
import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headgate_bus.errors import BusError, OffsetGone
from headgate_bus.interface import Extent, Message, MessagePlace, Record, Topic
from headgate_bus.sqlite.schema import TABLES, offset_in, place_of

READ_BYTES = 32 << 20
"""A read ends early at this many bytes of bodies, so that a thousand large messages don't fill the memory."""
RECORD_OVERHEAD_BYTES = 512
"""What a record's key, headers and row weigh, roughly, for the bounds on a topic's size."""


def partition_of(key: str, partitions: int) -> int:
    return zlib.crc32(key.encode(errors="surrogatepass")) % partitions


@dataclass(slots=True)
class _Partition:
    first: int
    next_offset: int
    last_time_ms: int
    bytes: int


class LogTransaction:
    """The changes of one write transaction to the records. It collects appends, and `flush` writes them."""

    def __init__(self, connection: sqlite3.Connection, counts: Mapping[Topic, int], now_ms: int) -> None:
        self.connection = connection
        self._counts = counts
        self._now_ms = now_ms
        self._partitions: dict[tuple[Topic, int], _Partition] = {}
        self._rows: dict[Topic, list[tuple[int, int, str, str, bytes]]] = {}
        self.gathered_bytes = 0
        """Of what was appended and is not written yet."""

    def partitions(self, topic: Topic) -> int:
        return self._counts[topic]

    def partition(self, topic: Topic, number: int) -> _Partition:
        """The extent of the partition, including the changes of this transaction."""
        known = self._partitions.get((topic, number))
        if known is None:
            row = self.connection.execute(
                "SELECT first, next_offset, last_time_ms, bytes FROM partitions WHERE topic = ? AND partition = ?",
                (topic.value, number),
            ).fetchone()
            if row is None:
                raise no_partition(topic, number, self._counts[topic])
            known = self._partitions[topic, number] = _Partition(*row)
        return known

    def append(self, topic: Topic, messages: Sequence[Message]) -> list[MessagePlace]:
        rows = self._rows.setdefault(topic, [])
        places = []
        for message in messages:
            number = partition_of(message.key, self._counts[topic])
            partition = self.partition(topic, number)
            offset = partition.next_offset
            partition.next_offset += 1
            # A clock that was set back doesn't set the log's time back.
            partition.last_time_ms = max(partition.last_time_ms, self._now_ms)
            partition.bytes += len(message.body) + RECORD_OVERHEAD_BYTES
            self.gathered_bytes += len(message.body) + RECORD_OVERHEAD_BYTES
            headers = json.dumps(dict(message.headers), separators=(",", ":")) if message.headers else "{}"
            rows.append((place_of(number, offset), partition.last_time_ms, message.key, headers, message.body))
            places.append(MessagePlace(number, offset))
        return places

    def flush(self) -> None:
        for topic, rows in self._rows.items():
            self.connection.executemany(f"INSERT INTO {TABLES[topic]} VALUES (?, ?, ?, ?, ?)", rows)
        self._rows.clear()
        self.gathered_bytes = 0
        for (topic, number), partition in self._partitions.items():
            self.connection.execute(
                "UPDATE partitions SET first = ?, next_offset = ?, last_time_ms = ?, bytes = ?"
                " WHERE topic = ? AND partition = ?",
                (
                    partition.first,
                    partition.next_offset,
                    partition.last_time_ms,
                    partition.bytes,
                    topic.value,
                    number,
                ),
            )

    def delete_below_first(self, topic: Topic, number: int, max_records: int) -> int:
        """Delete some of the records below the extent, and return their number."""
        partition = self.partition(topic, number)
        rows = self.connection.execute(
            f"SELECT place, length(body) FROM {TABLES[topic]} WHERE place >= ? AND place < ? ORDER BY place LIMIT ?",
            (place_of(number, 0), place_of(number, partition.first), max_records),
        ).fetchall()
        if rows:
            self.connection.execute(
                f"DELETE FROM {TABLES[topic]} WHERE place >= ? AND place <= ?", (rows[0][0], rows[-1][0])
            )
            freed = sum(length + RECORD_OVERHEAD_BYTES for _, length in rows)
            partition.bytes = max(0, partition.bytes - freed)
        return len(rows)


def no_partition(topic: Topic, number: int, count: int) -> BusError:
    return BusError(f"topic {topic.value} has no partition {number}: it was made with {count}")


def extent(connection: sqlite3.Connection, topic: Topic, number: int) -> Extent | None:
    row = connection.execute(
        "SELECT first, next_offset FROM partitions WHERE topic = ? AND partition = ?", (topic.value, number)
    ).fetchone()
    return None if row is None else Extent(*row)


def check_offset(connection: sqlite3.Connection, topic: Topic, number: int, offset: int, path: str) -> Extent:
    """The extent; raises `OffsetGone` when the offset lies outside of it."""
    held = extent(connection, topic, number)
    if held is None:
        (count,) = connection.execute("SELECT count(*) FROM partitions WHERE topic = ?", (topic.value,)).fetchone()
        raise no_partition(topic, number, count)
    if not held.first <= offset <= held.next_offset:
        why = "was trimmed" if offset < held.first else "was never written"
        raise OffsetGone(
            f"offset {offset} of {topic.value}, partition {number}, {why}: the bus {path} holds {held.first} to"
            f" {held.next_offset}",
            number,
            offset,
            held.first,
            held.next_offset,
        )
    return held


def read(
    connection: sqlite3.Connection, topic: Topic, offsets: Mapping[int, int], max_records: int, path: str
) -> tuple[list[Record], dict[int, int]]:
    """Records of these partitions from these offsets, in the order of the argument; and the offsets after them."""
    found: list[Record] = []
    behind = dict(offsets)
    size = 0
    for number, offset in offsets.items():
        held = check_offset(connection, topic, number, offset, path)
        if offset == held.next_offset:
            continue
        rows = connection.execute(
            f"SELECT place, time_ms, key, headers, body FROM {TABLES[topic]} WHERE place >= ? AND place < ?"
            " ORDER BY place",
            (place_of(number, offset), place_of(number, held.next_offset)),
        )
        for place, time_ms, key, headers, body in rows:
            if len(found) == max_records or size >= READ_BYTES:
                return found, behind
            record = Record(number, offset_in(place), time_ms, key, body, _headers(headers))
            found.append(record)
            behind[number] = record.offset + 1
            size += len(body)
    return found, behind


_decode: Callable[[str], object] = json.JSONDecoder().decode


def _headers(text: str) -> dict[str, str]:
    # Only an edit of the file could have written another value; such a message has no headers.
    try:
        found = _decode(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str)}


def turned(offsets: Mapping[int, int]) -> dict[int, int]:
    """The same offsets with the first partition last, so that a full partition doesn't delay the others."""
    first, *others = offsets.items()
    return dict([*others, first])
