"""Marks of records: they show a batch job that the records before its position are still the ones that it has taken."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headgate_producer.batch.record_source import SourceRecord

_DIGITS = 32


@dataclass(frozen=True, slots=True)
class RecordMark:
    """The place of one record, and a digest of its key, value and time."""

    offset: int
    digest: str
    has_key: bool
    """Compaction may take it away; a record without a key only goes with all that lies before it."""

    def to_json(self) -> dict[str, object]:
        return {"offset": self.offset, "digest": self.digest, "has_key": self.has_key}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "RecordMark":
        return cls(int(body["offset"]), str(body["digest"]), bool(body["has_key"]))


class SeenRecord(Enum):
    """The record that is now at the place of the marked one."""

    SAME = "same"
    OTHER = "other"
    GONE = "gone"
    """Nothing, as compaction leaves it."""


def mark_of(record: SourceRecord) -> RecordMark:
    digest = hashlib.sha256(str(record.time_ms).encode())
    for part in (record.key, record.value):
        digest.update(b"-" if part is None else b"%d:" % len(part))
        digest.update(part or b"")
    return RecordMark(record.offset, digest.hexdigest()[:_DIGITS], record.key is not None)


def last_mark(records: Sequence[SourceRecord]) -> RecordMark | None:
    return mark_of(records[-1]) if records else None


def compared(mark: RecordMark, records: Sequence[SourceRecord]) -> SeenRecord:
    """Compares. `records` are all records now up to the place where the mark was made; there was none after the marked
    one.
    """
    if any(record.offset > mark.offset for record in records):
        return SeenRecord.OTHER
    for record in records:
        if record.offset == mark.offset:
            return SeenRecord.SAME if mark_of(record) == mark else SeenRecord.OTHER
    return SeenRecord.GONE if mark.has_key else SeenRecord.OTHER
