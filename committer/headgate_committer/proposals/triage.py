"""Triage: which proposals were decided before, which come too late, and which are new. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate_committer.limits import CommitterLimits
from headgate_committer.proposals.answers import Answer, set_aside
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_schemas.messages.operations import Receipt, RejectCode, Rejected
from headgate_table.coordination.memory import Arrival, TableMemory


@dataclass(frozen=True, slots=True)
class AlreadyDecided:
    """It was decided before, and gets that answer again."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class BeyondMemory:
    """It lies below the position, but the table doesn't remember its decision any more: a dead letter, coded `expired`."""

    aside: UndecidableRecord


@dataclass(frozen=True, slots=True)
class Fresh:
    """A new proposal, to be decided."""

    undecided: QueuedProposal


def triage(
    batch: Sequence[QueuedProposal],
    memory: TableMemory,
    position: int,
    told: Mapping[int, Receipt],
    limits: CommitterLimits,
    now_ms: int,
    told_before: Mapping[str, Receipt],
) -> list[AlreadyDecided | BeyondMemory | Fresh]:
    """Sort the first proposals of a table, as many as fit into one version.

    `position` is the offset up to which the table is decided. `told` has receipts by offset, from the table's versions. A
    proposal below the position is never decided again.
    `told_before` has receipts by id from before the table was there. `now_ms` tells whether an author's clock is ahead.
    """
    sorted_out: list[AlreadyDecided | BeyondMemory | Fresh] = []
    weight = 0
    for item in batch[: limits.group_proposals]:
        proposal = item.proposal
        receipt = told.get(item.offset) if item.offset < position else None
        if receipt is None or receipt.proposal_id != proposal.id:  # another program's version may name our offsets
            receipt = memory.earlier(proposal.id, proposal.written_by) or told_before.get(proposal.id)
        if receipt is None and item.offset < position:
            sorted_out.append(BeyondMemory(_beyond_memory(item)))
            continue
        if receipt is None:
            receipt = _expired(item, memory, limits, now_ms)
        if receipt is not None:
            sorted_out.append(AlreadyDecided(Answer(item.offset, receipt)))
            continue
        weight += item.size
        if weight > limits.group_bytes and any(isinstance(earlier, Fresh) for earlier in sorted_out):
            break
        sorted_out.append(Fresh(item))
    return sorted_out


def misplaced(
    batch: Sequence[QueuedProposal], memory: TableMemory | None, partition: int, home: int
) -> tuple[Answer, ...]:
    """The answers to proposals on a partition that neither is their table's home nor feeds the table.

    Remembered decisions are answered. All others are set aside without a receipt, because the same proposal may still be
    decided on the right partition.
    """
    answers: list[Answer] = []
    for item in batch:
        proposal = item.proposal
        receipt = None if memory is None else memory.earlier(proposal.id, proposal.written_by)
        if receipt is None:
            answers.append(set_aside(_misplaced(item, partition, home)))
        else:
            answers.append(Answer(item.offset, receipt))
    return tuple(answers)


def _misplaced(item: QueuedProposal, partition: int, home: int) -> UndecidableRecord:
    table = item.proposal.table
    reason = (
        f"it came on partition {partition}, but proposals of {table} belong on partition {home}: its author's client chooses "
        f"partitions by another rule than this bus. Correct the client (Kafka's default partitioner is murmur2 of the key); "
        f"`headgate dead-letters replay` proposes it again, with a new id. Nothing waits for it"
    )
    return UndecidableRecord(item.record, RejectCode.MISPLACED, reason, item.proposal.id, table, is_told=False)


def _expired(item: QueuedProposal, memory: TableMemory, limits: CommitterLimits, now_ms: int) -> Receipt | None:
    """The refusal of a proposal that may have been decided and forgotten; None where it surely was never decided."""
    proposal = item.proposal
    arrival = Arrival(proposal.created, item.record.time_ms, now_ms, limits.clock_skew_ms)
    horizon_ms = memory.may_have_decided(arrival, proposal.written_by)
    if horizon_ms is None:
        if proposal.written_by is not None or not memory.is_ahead(arrival) or memory.has_room_ahead():
            return None
        return Rejected(
            RejectCode.EXPIRED,
            f"it was made at {proposal.created}, which lies in the future, and the table remembers as many ids of such proposals "
            f"as it may (coordinator.dedupe.maxIds). Set its author's clock, and propose it anew with a new id",
            proposal.id,
        )
    if memory.is_ahead(arrival) or memory.is_far_ahead(arrival):
        return Rejected(
            RejectCode.EXPIRED,
            f"it was made at {proposal.created}, which lies in the future: so nobody can tell whether it is one of those made up to "
            f"{horizon_ms}, decisions about which may be forgotten. Set its author's clock; look for its files in the table; if "
            f"they aren't there, propose them anew with a new id",
            proposal.id,
        )
    if not proposal.created:
        return Rejected(
            RejectCode.EXPIRED,
            f"its id doesn't tell when it was first proposed, and decisions about proposals made up to {horizon_ms} may be forgotten, "
            f"so it could be a repetition. Look for its files in the table. If they aren't there, propose them with a new id, or "
            f"give the time of the first attempt with the id (created, in epoch milliseconds)",
            proposal.id,
        )
    return Rejected(
        RejectCode.EXPIRED,
        f"it was made at {proposal.created}, and decisions about proposals made up to {horizon_ms} may be forgotten, so it "
        f"could be a repetition. Look for its files in the table; if they aren't there, propose them anew with a new id",
        proposal.id,
    )


def _beyond_memory(item: QueuedProposal) -> UndecidableRecord:
    """A dead letter keeps it, so that nothing is lost, whatever became of it."""
    reason = (
        "it lies below the table's position, and neither its versions nor their memory say what became of it. Look for its "
        "files in the table; if they aren't there, propose them anew with a new id"
    )
    return UndecidableRecord(item.record, RejectCode.EXPIRED, reason, item.proposal.id, item.proposal.table)
