"""Finds the decision on a proposal in the table's own log, for authors who lost the bus. None: the log doesn't have it."""

from collections.abc import Sequence

from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.coordination.commit_info import commit_record
from headgate_table.coordination.memory import MemoryLimits
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.stale_versions import late_up_to
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.settings.options import TableOptions

_BATCH = 32

_log = get_logger("headgate.memory")


def find_decision(
    reader: LogReader,
    proposal_id: str,
    writer: Writer | None = None,
    options: TableOptions | MemoryLimits | None = None,
) -> Receipt | None:
    """The first decision about a proposal: from the table's memory, else from the remaining versions.

    With a writer, `Committed` means that this writer committed the id. If another one did, the answer is a `Duplicate` of
    that version while the table remembers the id, as if the proposal came again. A seq that was committed under another id
    is a `Duplicate` too, and so is one of the newest seqs of its app if the version is gone.
    """
    log = reader.latest()
    memory = recover(reader, log, options or MemoryLimits())
    remembered = memory.receipt_of(proposal_id)
    if remembered is not None and not memory.may_be_of_another(remembered, writer):
        return remembered
    # Of proposals with a writer, the newest ids are remembered; of others all, except forgotten ones.
    covered_from = memory.ids.forgotten_through + 1 if writer is None else log.version + 1
    listing = reader.full_listing()
    late = late_up_to(reader, listing, log)
    versions = [number for number in listing.versions if late < number < covered_from]
    told = _told(reader, versions[::-1], proposal_id, writer)
    if isinstance(remembered, Committed) and not isinstance(told, Committed):
        # An id has one decision, and it counts before the seq does, as for whoever decides.
        return Duplicate(remembered.version, proposal_id)
    if told is not None or remembered is not None or writer is None:
        return told or remembered
    known = memory.earlier(proposal_id, writer)
    # a repeat that is superseded proves nothing about its first delivery
    return known if isinstance(known, Duplicate) else None


def _told(reader: LogReader, versions: Sequence[int], proposal_id: str, writer: Writer | None) -> Receipt | None:
    """The decision in the earliest of these versions, given newest first, about the id, or about the seq."""
    found: Receipt | None = None
    for start in range(0, len(versions), _BATCH):
        some = versions[start : start + _BATCH]
        for receipt in reader.resources.each(lambda version: _decided(reader, version, proposal_id, writer), some):
            found = receipt or found
        if found is not None:
            return found
    return None


def _decided(reader: LogReader, version: int, proposal_id: str, writer: Writer | None) -> Receipt | None:
    try:
        record = commit_record(reader.actions_or_none(version) or ())
    except CorruptTable as error:
        _log.warning("version_not_readable", table=reader.store.uri, version=version, reason=str(error))
        return None
    for decision in () if record is None else record.decisions:
        if decision.id == proposal_id and writer in (None, decision.writer):
            if decision.accepted:
                return Committed(version, proposal_id)
            return Rejected(decision.code or RejectCode.INVALID, decision.reason or "", proposal_id)
        if decision.accepted and writer is not None and decision.writer == writer:
            return Duplicate(version, proposal_id)
    return None
