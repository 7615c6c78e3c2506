"""What is done with the first proposals of a table: nothing below the table's position is ever decided again."""

from hypothesis import given
from hypothesis import strategies as st

from headgate_bus.interface import Record
from headgate_committer.limits import CommitterLimits
from headgate_committer.proposals.intake import QueuedProposal
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh, triage
from headgate_schemas.messages.operations import Append, Committed, RejectCode
from headgate_table.coordination.memory import TableMemory
from support.committing.rig import TABLE, Rig
from support.tables import START_MS, add_file

LIMITS = CommitterLimits()
RIG = Rig()
OFFSETS = st.integers(0, 9)


def queued(offset: int, name: str) -> QueuedProposal:
    proposal = RIG.proposal(Append((add_file(name),)), proposal_id=f"id-{name}", created_ms=START_MS)
    return QueuedProposal(Record(0, offset, START_MS, TABLE, b"a body"), proposal)


@given(st.lists(OFFSETS, unique=True, min_size=1).map(sorted), OFFSETS, st.frozensets(OFFSETS))
def test_only_what_lies_at_or_above_the_position_is_new(
    offsets: list[int], position: int, told: frozenset[int]
) -> None:
    """Break: take what nobody remembers for new. It may be in a version that was cleaned since."""
    batch = [queued(offset, f"f{offset}") for offset in offsets]
    receipts = {offset: Committed(offset + 1, f"id-f{offset}") for offset in told}
    found = triage(batch, TableMemory(), position, receipts, LIMITS, START_MS, {})
    for offset, entry in zip(offsets, found, strict=True):
        if offset >= position:
            assert isinstance(entry, Fresh)
        elif offset in told:
            assert isinstance(entry, AlreadyDecided)
            assert entry.answer.receipt == receipts[offset]
        else:
            assert isinstance(entry, BeyondMemory)
            assert entry.aside.code is RejectCode.EXPIRED
