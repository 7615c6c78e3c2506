"""Whether a log still is the one that fed a table: the last decided proposal must lie at its offset.

Extents are not enough. A log that lost its end, or was restored from a copy, grows again and soon holds other proposals at the
same offsets.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from headgate_bus.errors import OffsetGone
from headgate_bus.interface import Bus, Record, Topic
from headgate_bus.marks import record_at
from headgate_committer.proposals.intake import QueuedProposal, take_in
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord

LOOKED_THROUGH = 32
"""Versions among which the last decision is looked for. Direct commits have none."""


@dataclass(frozen=True, slots=True)
class LastDecided:
    """The last proposal of a source that a table has decided, by what its versions say."""

    offset: int
    proposal_id: str


@dataclass(frozen=True, slots=True)
class NothingSinceRebind:
    """An operator has bound the table to the source, and nothing was decided since."""


def last_decided(
    newest_first: Iterable[CommitRecord | None], source: Source
) -> LastDecided | NothingSinceRebind | None:
    """None where the newest versions don't tell."""
    for record in islice(newest_first, LOOKED_THROUGH):
        if record is None or record.settled is None or record.settled.source != source:
            continue
        if record.rebound:
            return NothingSinceRebind()
        decided = {decision.offset: decision.id for decision in record.decisions if decision.offset is not None}
        if decided:
            offset = max(decided)
            return LastDecided(offset, decided[offset])
    return None


def log_truncated_reason(
    uri: str,
    bus: Bus,
    source: Source,
    position: int | None,
    newest_first: Iterable[CommitRecord | None],
    *,
    was_cut: bool = False,
) -> str | None:
    """The reason why this can't be the log from which the table decided up to `position`; None when it can be.

    `newest_first` are the commit records of the table's versions. With `was_cut` the log is known to have lost its end, so a
    table that can't tell its last decision is held. A trimmed offset can't be compared, but holds no other proposal either.
    Raises `BusUnavailable`, and whatever reading the versions raises.
    """
    if position is None:
        return None
    extent = bus.extent(Topic.PROPOSALS, source.partition)
    if position > extent.next_offset:
        return (
            f"{uri} has decided proposals up to offset {position}, but {source} ends at {extent.next_offset}: it was "
            f"truncated or restored from a copy"
        )
    if position <= extent.first:
        return None  # nothing lies there that could be passed over
    last = last_decided(newest_first, source)
    if last is None and was_cut:
        return (
            f"{uri} has decided proposals up to offset {position}, and {source} was truncated or restored from a copy since. The "
            f"newest {LOOKED_THROUGH} versions don't say which proposal was decided last, so nobody can tell whether it still "
            f"lies there"
        )
    if not isinstance(last, LastDecided) or last.offset < extent.first:
        return None
    try:
        record = record_at(bus, source.partition, last.offset)
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
    """Headers tell the id, too, so that a proposal which only a newer release can read is recognised."""
    taken = take_in(record)
    return taken.proposal.id if isinstance(taken, QueuedProposal) else taken.proposal_id
