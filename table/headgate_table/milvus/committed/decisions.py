"""Finds the decision on a proposal in the commit records of a Milvus table. None: they don't have it. Read-only."""

from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.coordination.memory import MemoryLimits
from headgate_table.milvus.committed.log import RecordedLog, recover_memory
from headgate_table.milvus.committed.records import VersionRecord

_RECORDS = 2_000
"""Records that are looked through for a proposal whose id is not remembered: more than are kept for long."""


def find_recorded(
    log: RecordedLog, proposal_id: str, writer: Writer | None = None, limits: MemoryLimits | None = None
) -> Receipt | None:
    """The first decision about a proposal.

    If a writer is given, another writer's proposal with the same id is no answer, unless the table took this proposal
    for that one. A committed seq is also answered if another id committed it; for the newest seqs of its app even if
    the record is gone.
    """
    newest = log.look()
    if newest is None:
        return None
    memory, _ = recover_memory(log, newest, limits or MemoryLimits())
    remembered = memory.receipt_of(proposal_id)
    if writer is None or (remembered is not None and not memory.may_be_of_another(remembered, writer)):
        return remembered
    told = _told(log, newest, proposal_id, writer)
    if told is not None or remembered is not None:
        return told or remembered
    known = memory.earlier(proposal_id, writer)
    # a repeat that is superseded proves nothing about its first delivery
    return known if isinstance(known, Duplicate) else None


def _told(log: RecordedLog, newest: VersionRecord, proposal_id: str, writer: Writer) -> Receipt | None:
    record: VersionRecord | None = newest
    ancestors = log.ancestors(newest)
    for _ in range(_RECORDS):
        if record is None:
            return None
        for decision in () if record.commit is None else record.commit.decisions:
            is_own = decision.id == proposal_id and decision.writer == writer
            if is_own and decision.accepted:
                return Committed(record.id.version, proposal_id)
            if is_own:
                return Rejected(decision.code or RejectCode.INVALID, decision.reason or "", proposal_id)
            if decision.accepted and decision.writer == writer:
                return Duplicate(record.id.version, proposal_id)
        record = next(ancestors, None)
    return None
