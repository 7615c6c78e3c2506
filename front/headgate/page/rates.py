"""Counts for each two seconds of the last minutes: outcomes, commits, latencies, lag. Pure, and bounded."""

from bisect import insort
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

BUCKET_MS = 2_000
BUCKETS = 150
"""Five minutes."""
MAX_LATENCIES = 200
"""Of one bucket; those beyond are not looked at."""

Row = list[int | None]
"""Start, commits, accepted, rejected, duplicates, median and 95th percentile of latencies in ms, undecided proposals."""


class RateKind(Enum):
    COMMIT = "commits"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DUPLICATE = "duplicates"


@dataclass(slots=True)
class _Bucket:
    counts: dict[RateKind, int] = field(default_factory=lambda: dict.fromkeys(RateKind, 0))
    latencies: list[int] = field(default_factory=list)
    """Ascending."""
    undecided: int | None = None


class Rates:
    """Times before the first bucket are ignored; those ahead of this clock count as now."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[int, _Bucket] = OrderedDict()
        self._changed: set[int] = set()

    def count(self, kind: RateKind, at_ms: int, now_ms: int) -> None:
        bucket = self._bucket(at_ms, now_ms)
        if bucket is not None:
            bucket.counts[kind] += 1

    def took(self, latency_ms: int, at_ms: int, now_ms: int) -> None:
        bucket = self._bucket(at_ms, now_ms)
        if bucket is not None and len(bucket.latencies) < MAX_LATENCIES:
            insort(bucket.latencies, max(0, latency_ms))

    def lagged(self, undecided: int, now_ms: int) -> None:
        """A bucket keeps its maximum, so that short peaks show."""
        bucket = self._bucket(now_ms, now_ms)
        if bucket is not None:
            bucket.undecided = max(bucket.undecided or 0, undecided)

    def rows(self, now_ms: int) -> list[Row]:
        """All current buckets, oldest first."""
        return [_row(start, self._buckets[start]) for start in sorted(self._kept(now_ms))]

    def changed_rows(self, now_ms: int) -> list[Row]:
        """The buckets that changed since the last call."""
        changed, self._changed = self._changed, set()
        kept = self._kept(now_ms)
        return [_row(start, self._buckets[start]) for start in sorted(changed & kept)]

    def _bucket(self, at_ms: int, now_ms: int) -> _Bucket | None:
        start = min(at_ms, now_ms) // BUCKET_MS * BUCKET_MS
        if start < _first(now_ms):
            return None
        self._changed.add(start)
        return self._buckets.setdefault(start, _Bucket())

    def _kept(self, now_ms: int) -> set[int]:
        first = _first(now_ms)
        for start in [start for start in self._buckets if start < first]:
            del self._buckets[start]
            self._changed.discard(start)
        return set(self._buckets)


def _first(now_ms: int) -> int:
    return (now_ms // BUCKET_MS - BUCKETS + 1) * BUCKET_MS


def _row(start: int, bucket: _Bucket) -> Row:
    counts = [bucket.counts[kind] for kind in RateKind]
    return [start, *counts, _at(bucket.latencies, 0.5), _at(bucket.latencies, 0.95), bucket.undecided]


def _at(ascending: Sequence[int], share: float) -> int | None:
    return ascending[min(len(ascending) - 1, int(share * len(ascending)))] if ascending else None
