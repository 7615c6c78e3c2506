"""The bounds of batches. The first run that reaches an offset fixes the end of the batch there, and keeps it beside the
table.

A killed run may have left a proposal on the bus. If the next run ended the same batch at another offset, it would use
another seq, and both proposals would be committed. So a batch with the same start always has the same end.
"""

import json
from dataclasses import dataclass, replace

from headgate_producer.batch.kept import job_key, keep
from headgate_producer.batch.marks import RecordMark
from headgate_producer.errors import JobStopped
from headgate_table.errors import ObjectMissing
from headgate_table.store.interface import Store

_MAX_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class BatchBounds:
    """Offsets from `start` up to, but not including, `end`."""

    start: int
    end: int
    last: RecordMark | None = None
    """Of the last record before `end`. Runs of earlier releases left no marks."""
    before: RecordMark | None = None
    """Of the last record before `start`."""

    def mark_before(self, position: int) -> RecordMark | None:
        """The mark of the last record that was taken before a position, if it is known."""
        if position == self.end:
            return self.last
        return self.before if position == self.start else None


def bounds_key(app: str) -> str:
    return job_key(app)


def agree(store: Store, app: str, wanted: BatchBounds) -> BatchBounds:
    """The bounds of the batch at `wanted.start`, or of a later batch if another run is further by now.

    Starts only grow, so no run can choose other bounds for an earlier start.
    """
    key = bounds_key(app)

    def choose(found: bytes | None) -> bytes | None:
        if found is None:
            return _written(wanted)
        known = _parsed(found, store, key)
        if known.start >= wanted.start:
            return None
        return _written(replace(wanted, before=known.mark_before(wanted.start)))

    agreed = keep(store, key, choose, _MAX_BYTES)
    assert agreed is not None
    return _parsed(agreed, store, key)


def agreed_last(store: Store, app: str) -> BatchBounds | None:
    """The latest bounds that were fixed."""
    key = bounds_key(app)
    try:
        return _parsed(store.get(key, max_bytes=_MAX_BYTES), store, key)
    except ObjectMissing:
        return None


def _written(bounds: BatchBounds) -> bytes:
    body: dict[str, object] = {"format": 1, "start": bounds.start, "end": bounds.end}
    for name, mark in (("last", bounds.last), ("before", bounds.before)):
        if mark is not None:
            body[name] = mark.to_json()
    return json.dumps(body).encode()


def _parsed(data: bytes, store: Store, key: str) -> BatchBounds:
    try:
        body = json.loads(data)
        last, before = (RecordMark.from_json(body[name]) if body.get(name) else None for name in ("last", "before"))
        return BatchBounds(int(body["start"]), int(body["end"]), last, before)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobStopped(
            f"{store.uri}/{key}, where this job keeps the bounds of its batch, can't be read ({error}). Restore it, or make sure "
            f"that no run's proposal is undecided, and delete it"
        ) from None
