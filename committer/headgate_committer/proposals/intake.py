"""Records of the bus become proposals, or records that can't be decided. Pure."""

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from headgate_bus.claims import DEFAULT_LIMITS, ClaimLimits, bytes_to_open
from headgate_bus.interface import MAX_MESSAGE_BYTES, Record
from headgate_schemas.messages.cloud_events import PROPOSAL, kind_of, subject_of
from headgate_schemas.messages.message_shape import Identity, UnreadableMessage
from headgate_schemas.messages.operations import RejectCode
from headgate_schemas.messages.proposals import Proposal, decode_proposal

_IDENTITY: TypeAdapter[str] = TypeAdapter(Identity)


@dataclass(frozen=True, slots=True)
class QueuedProposal:
    """A proposal in its place on the bus."""

    record: Record
    proposal: Proposal
    claimed_bytes: int = 0
    """The size of the claimed operation."""

    @property
    def offset(self) -> int:
        return self.record.offset

    @property
    def size(self) -> int:
        """Bytes that count in a queue and in a version. A claimed operation counts in full."""
        return len(self.record.body) + self.claimed_bytes


@dataclass(frozen=True, slots=True)
class UndecidableRecord:
    """A record that is set aside, because it can't be decided here."""

    record: Record
    code: RejectCode
    reason: str
    proposal_id: str | None
    """The id that gets the receipt, where it can be read."""
    table: str | None
    is_told: bool = True
    """Whether the author gets a receipt. False where another committer may still decide the same proposal, because two receipts
    of one id must not contradict each other."""


def take_in(record: Record, claims: ClaimLimits = DEFAULT_LIMITS) -> QueuedProposal | UndecidableRecord:
    """The proposal in a record, or the reason why there is none."""
    if record.unread is not None:
        code = RejectCode.OVER_BOUND if record.unread.is_over_bound else RejectCode.UNREADABLE
        return _aside(record, record.unread.reason, code)
    kind = kind_of(record.headers)
    if kind not in ("", PROPOSAL):
        return _aside(record, f"a message of the kind {kind[:100]!r}; this release reads {PROPOSAL}")
    if len(record.body) > MAX_MESSAGE_BYTES:
        return _aside(
            record,
            f"a body of {len(record.body)} bytes, more than the {MAX_MESSAGE_BYTES} that are read (MAX_MESSAGE_BYTES): send a "
            f"large operation as a claim check",
            RejectCode.OVER_BOUND,
        )
    try:
        proposal = decode_proposal(record.body)
    except UnreadableMessage as error:
        return _aside(record, str(error))
    if record.key != proposal.table:
        # The key selects the partition, and so the order in which a table's proposals are decided.
        return UndecidableRecord(
            record,
            RejectCode.UNREADABLE,
            f"the message's key is {record.key[:200]!r}, but its proposal is for {proposal.table!r}: they must be equal",
            proposal.id,
            proposal.table,
        )
    claim = proposal.claim
    return QueuedProposal(record, proposal, 0 if claim is None else bytes_to_open(claim, claims))


def _aside(record: Record, reason: str, code: RejectCode = RejectCode.UNREADABLE) -> UndecidableRecord:
    return UndecidableRecord(record, code, reason, _header_id(record), None)


def _header_id(record: Record) -> str | None:
    try:
        return _IDENTITY.validate_python(subject_of(record.headers))
    except ValidationError:
        return None
