"""Reads the records of one batch: up to a size, up to an offset, or for a limited time."""

from dataclasses import dataclass

from headgate_bus.errors import BatchUnread, BusUnavailable
from headgate_producer.batch.marks import RecordMark, last_mark
from headgate_producer.batch.record_source import Chunk, RecordSource, SourceRecord
from headgate_producer.errors import JobStopped
from headgate_schemas.ambient import Ambient

_POLL_S = 0.5
_LOOK_BACK = 16
"""Offsets before a beginning. Behind each transaction is one that holds no record."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    max_records: int = 100_000
    max_bytes: int = 64 << 20
    """Of keys and values; a batch is held in memory while it is written."""
    linger_s: float = 5.0
    """How long a batch that isn't full waits for more, when the job runs for ever."""
    stalled_after_s: float = 60.0
    """How long records that the topic holds may fail to come, until the job stops."""
    receipt_within_s: float = 120.0
    asks: int = 5
    """How often it is waited for a receipt before the job stops; run again, it asks on."""
    partitions_every_s: float = 60.0
    """How often a job that runs for ever looks for partitions that were added."""


class BatchReading:
    """The reads of one job."""

    def __init__(self, job: str, source: RecordSource, ambient: Ambient, limits: BatchLimits) -> None:
        self._job = job
        self._source = source
        self._ambient = ambient
        self._limits = limits

    def collect(self, partition: int, start: int, end: int | None) -> tuple[list[SourceRecord], int]:
        """Records up to a size, up to `end`, or for a limited time; and the offset after them."""
        records: list[SourceRecord] = []
        reached, size = start, 0
        until_s = self._ambient.monotonic_s() + self._limits.linger_s
        while len(records) < self._limits.max_records and size < self._limits.max_bytes:
            if end is not None and reached >= end:
                break
            try:
                chunk = self._read(
                    partition, reached, self._limits.max_records - len(records), must_move=end is not None
                )
            except BatchUnread:
                if not records:
                    raise
                break  # the records so far are committed first; the next read fails again
            records += chunk.records
            size += sum(record.size for record in chunk.records)
            reached = chunk.next_offset
            if end is None and (not records or self._ambient.monotonic_s() >= until_s):
                break
        return records, reached

    def read_on(self, partition: int, reached: int, end: int) -> list[SourceRecord]:
        """The rest of a batch whose end an earlier run fixed."""
        if self._source.extent(partition).next_offset < end:
            raise JobStopped(
                f"job {self._job} agreed on a batch up to offset {end} of partition {partition} of topic {self._source.topic}, which "
                f"ends before that: it is not the topic that was read before. Run the job under another name"
            )
        records: list[SourceRecord] = []
        while reached < end:
            chunk = self._read(partition, reached, self._limits.max_records, must_move=True)
            records += chunk.records
            reached = chunk.next_offset
        return records

    def mark_before(self, partition: int, offset: int) -> RecordMark | None:
        """The mark of the last record before an offset; None if none of the few offsets before it holds a readable
        record.
        """
        first = max(offset - _LOOK_BACK, self._source.extent(partition).first)
        found: list[SourceRecord] = []
        try:
            while first < offset:
                records, first = self.collect(partition, first, offset)
                found += [record for record in records if record.offset < offset]
        except BatchUnread:
            return None
        return last_mark(found)

    def between(self, partition: int, first: int, end: int) -> list[SourceRecord] | None:
        """The records from one offset up to another, or the first of them. None if they can't be read."""
        try:
            records, _ = self.collect(partition, first, end)
        except BatchUnread:
            return None
        return [record for record in records if record.offset < end]

    def _read(self, partition: int, offset: int, max_records: int, *, must_move: bool) -> Chunk:
        """The next records. Records that the topic already holds must come in time."""
        until_s = self._ambient.monotonic_s() + self._limits.stalled_after_s
        while True:
            chunk = self._source.read(partition, offset, _POLL_S, max_records)
            if chunk.next_offset > offset or not must_move:
                return chunk
            if self._ambient.monotonic_s() >= until_s:
                raise BusUnavailable(
                    f"partition {partition} of topic {self._source.topic} gave nothing at offset {offset} for "
                    f"{self._limits.stalled_after_s:g} s (stalled_after_s), though it holds more: run the job again when it answers"
                )
