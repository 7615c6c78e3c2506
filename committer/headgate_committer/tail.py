"""Whether a log still is the one that a table was fed from: what the table decided last lies where it was decided.

Extents tell only until the log has grown again: one that lost its end, or was restored from a copy, holds other proposals under
the same offsets soon.
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from headgate_bus.errors import BusUnavailable, OffsetGone
from headgate_bus.interface import Bus, Record, Topic
from headgate_committer.intake import Undecided, take_in
from headgate_schemas.sources import Source
from headgate_table.indextables.commit_info import CommitRecord

LOOKED_THROUGH = 32
"""Versions among which the last decision is looked for; those of others, committed directly, have none."""
_READ_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class LastDecided:
    """The last proposal of a source that a table has decided, by what its versions say."""

    offset: int
    proposal_id: str


def last_decided(newest_first: Iterable[CommitRecord | None], source: Source) -> LastDecided | None:
    """None where the newest versions don't tell, and where nothing was decided since the table was bound to the source."""
    for record in islice(newest_first, LOOKED_THROUGH):
        if record is None or record.settled is None or record.settled.source != source:
            continue
        if record.rebound:
            return None
        decided = {decision.offset: decision.id for decision in record.decisions if decision.offset is not None}
        if decided:
            offset = max(decided)
            return LastDecided(offset, decided[offset])
    return None


def lost_tail(
    uri: str, bus: Bus, source: Source, position: int | None, newest_first: Iterable[CommitRecord | None]
) -> str | None:
    """Why this can't be the log from which the table decided up to `position`; None when it can.

    `newest_first` is what the table's versions say of themselves. What was trimmed can't be compared: then no proposal lies
    there either that could be taken for one of theirs. Raises `BusUnavailable`, and what reading the versions raises.
    """
    if position is None:
        return None
    extent = bus.extent(Topic.PROPOSALS, source.partition)
    if position > extent.next_offset:
        return (
            f"{uri} has decided proposals up to offset {position}, but {source} ends at {extent.next_offset}: it was "
            f"truncated or restored from a copy"
        )
    last = last_decided(newest_first, source)
    if last is None or last.offset < extent.first:
        return None
    try:
        record = _record_at(bus, source.partition, last.offset)
    except OffsetGone as gone:
        if last.offset < gone.first:
            return None  # trimmed a moment ago
        record = None
    if record is not None and _proposal_id(record) == last.proposal_id:
        return None
    return (
        f"{uri} has decided proposal {last.proposal_id} at offset {last.offset}, but {source} holds "
        f"{'nothing' if record is None else 'something else'} there: it was truncated or restored from a copy, and has grown "
        f"since"
    )


def _proposal_id(record: Record) -> str | None:
    """Another release may have decided what this one can't read; its headers tell the id all the same."""
    taken = take_in(record)
    return taken.proposal.id if isinstance(taken, Undecided) else taken.proposal_id


def _record_at(bus: Bus, partition: int, offset: int) -> Record | None:
    """None where no record has this offset."""
    with closing(bus.reader(Topic.PROPOSALS, {partition: offset})) as reader:
        records = reader.read(_READ_WITHIN_S, 1)
        if records:
            return records[0] if records[0].offset == offset else None
        if reader.offsets()[partition] > offset:
            return None
    raise BusUnavailable(
        f"proposal {offset} of partition {partition} of {bus.address} could not be read within {_READ_WITHIN_S:g} s; it is "
        f"tried again"
    )
