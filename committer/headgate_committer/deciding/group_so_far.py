"""The proposals that a version decides so far, and the checks of ids and seqs that all formats share."""

from headgate_committer.proposals.answers import Answer, set_aside
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.coordination.commit_info import Decision
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.refusals import Refusal, as_what


class GroupSoFar:
    """`version` is the number that the group will have, `memory` that of the version before."""

    def __init__(self, version: int, memory: TableMemory) -> None:
        self.answers: list[Answer] = []
        """To the items that were taken, in their order; true once the version is written."""
        self._version = version
        self._memory = memory
        self._receipts: dict[str, Receipt] = {}
        self._seqs: dict[str, list[int]] = {}
        """By app, the seqs that the group has accepted, in order."""

    def answer(self, item: AlreadyDecided | UndecidableRecord) -> None:
        """Answer a proposal that needs no decision."""
        self.answers.append(item.answer if isinstance(item, AlreadyDecided) else set_aside(item))

    def came_twice(self, undecided: QueuedProposal) -> bool:
        """Whether the group has decided it before. It gets the same answer then."""
        proposal = undecided.proposal
        repeated = self._repeated(proposal.id, proposal.written_by)
        if repeated is None:
            return False
        self.answers.append(Answer(undecided.offset, repeated))
        return True

    def refusal_of(self, writer: Writer | None) -> Refusal | None:
        """The refusal of this writer's seq; None where it may be accepted."""
        return None if writer is None else self._passed_over(writer) or self._no_room(writer)

    def _passed_over(self, writer: Writer) -> Refusal | None:
        accepted = self._seqs.get(writer.app)
        newer = self._memory.newer_seq(writer) if accepted is None else accepted[-1]
        if newer is None or writer.seq > newer:
            return None
        return Refusal(
            RejectCode.SEQ_SKIPPED,
            f"seq {writer.seq} of writer {writer.app!r} was passed over: seq {newer} is committed, and seqs only go up. It is in "
            f"no version; propose it again {as_what(newer)}",
        )

    def _no_room(self, writer: Writer) -> Refusal | None:
        if writer.app in self._seqs:
            return None
        new = sum(known not in self._memory.writers for known in self._seqs)
        if self._memory.has_room_for(writer.app, besides=new):
            return None
        return Refusal(
            RejectCode.OVER_BOUND,
            f"the table remembers the writers of {len(self._memory.writers)} apps, and has no room for {writer.app!r}: use "
            f"one app name for all runs of a job, or raise coordinator.writers.max",
        )

    def decided(self, undecided: QueuedProposal, refusal: Refusal | None) -> Decision:
        """Note that it is accepted, or refused."""
        proposal = undecided.proposal
        receipt: Receipt
        if refusal is None:
            receipt = Committed(self._version, proposal.id)
            if proposal.writer is not None:
                self._seqs.setdefault(proposal.writer.app, []).append(proposal.writer.seq)
        else:
            receipt = Rejected(refusal.code, refusal.reason, proposal.id)
        self._receipts[proposal.id] = receipt
        self.answers.append(Answer(undecided.offset, receipt))
        return Decision(
            id=proposal.id,
            accepted=refusal is None,
            offset=undecided.offset,
            writer=proposal.written_by,
            code=None if refusal is None else refusal.code,
            reason=None if refusal is None else refusal.reason,
        )

    def _repeated(self, proposal_id: str, writer: Writer | None) -> Receipt | None:
        first = self._receipts.get(proposal_id)
        if isinstance(first, Rejected):
            return first
        if first is not None or (writer is not None and writer.seq in self._seqs.get(writer.app, ())):
            return Duplicate(self._version, proposal_id)
        return None
