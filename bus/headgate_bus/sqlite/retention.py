"""The retention of a bus file: which records are deleted, and how many at a time.

Proposals are deleted after they are settled and `trim` is called. Events are deleted by age and size. Dead letters are
deleted by size alone, because a person must look at them. SQLite reuses freed pages; the file doesn't shrink.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from headgate_bus.interface import Topic
from headgate_bus.sqlite.log import RECORD_OVERHEAD_BYTES, LogTransaction
from headgate_bus.sqlite.schema import TABLES, offset_in, place_of

CHUNK = 500
"""Records deleted in one transaction, so that no appender waits long."""
MAX_CHUNKS = 20
"""Of one call of `prepare`; what is left goes with the next."""
TRIM_CHUNKS = 1_000
"""Of one call of `trim`, which nobody waits for: asked once a minute it has to keep up with what is proposed meanwhile."""
SPARE = 16
"""Each publish deletes up to twice as many events as it appends, and this many: so deleting keeps up, at a bounded price."""

WEEK_MS = 7 * 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention of a topic."""

    max_age_ms: int | None
    max_bytes: int


RETENTION: Mapping[Topic, Retention] = {
    # As long as tables remember the ids of proposals; for an older decision, a program asks the table.
    Topic.EVENTS: Retention(WEEK_MS, 1 << 30),
    Topic.DEAD_LETTERS: Retention(None, 1 << 30),
}


def let_go(transaction: LogTransaction, topic: Topic, retention: Retention, now_ms: int, max_records: int) -> int:
    """Delete the oldest records that the topic need not keep, at most that many, and return their number."""
    partitions = [transaction.partition(topic, number) for number in range(transaction.partitions(topic))]
    over = sum(partition.bytes for partition in partitions) - retention.max_bytes
    oldest_kept_ms = None if retention.max_age_ms is None else now_ms - retention.max_age_ms
    firsts: dict[int, int] = {}
    oldest = heapq.merge(*(_rows(transaction, topic, number, max_records) for number in range(len(partitions))))
    for time_ms, number, offset, length in islice(oldest, max_records):
        if over <= 0 and (oldest_kept_ms is None or time_ms >= oldest_kept_ms):
            break
        firsts[number] = offset + 1
        over -= length + RECORD_OVERHEAD_BYTES
    deleted = 0
    for number, first in firsts.items():
        partitions[number].first = first
        deleted += transaction.delete_below_first(topic, number, max_records)
    return deleted


def _rows(
    transaction: LogTransaction, topic: Topic, number: int, max_records: int
) -> Iterator[tuple[int, int, int, int]]:
    """Time, partition, offset and size of a partition's records, oldest first, each read on demand."""
    rows = transaction.connection.execute(
        f"SELECT place, time_ms, length(body) FROM {TABLES[topic]} WHERE place >= ? AND place < ? ORDER BY place LIMIT ?",
        (place_of(number, transaction.partition(topic, number).first), place_of(number + 1, 0), max_records),
    )
    for place, time_ms, length in rows:
        yield time_ms, number, offset_in(place), length
