"""Events: the announcements of a committer. One receipt for every proposal, and one commit for every version.

Events may come more than once, with the same id each time. Those of a version come before those of the next.
"""

from typing import Annotated, Literal, assert_never

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from headgate_schemas.messages.message_shape import (
    EACH_UP_TO_THE_FIRST_PROBLEM,
    FORMAT,
    Count,
    Identity,
    KnownFormat,
    Moment,
    ShortText,
    TableUri,
    ToldMessage,
    UnreadableMessage,
    check_size,
    encoded,
    first_problem,
)
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected

MAX_REASON_CHARS = 2_000
"""Of what a receipt says about a rejection."""


class ReceiptEvent(ToldMessage):
    """The decision on one proposal."""

    type: Literal["receipt"] = "receipt"
    format: KnownFormat = FORMAT
    table: TableUri | None = None
    """None where the proposal didn't name a table that could be read."""
    proposal: Identity
    outcome: Literal["committed", "duplicate", "rejected"]
    version: Count | None = None
    """The version that holds the change; for a rejection none."""
    code: str | None = None
    reason: ShortText | None = None
    time: Moment
    """When it was announced, in epoch milliseconds."""

    def to_receipt(self) -> Receipt:
        """The receipt as a value. A rejection with a code of a newer release is `invalid`; its reason is unchanged."""
        match self.outcome:
            case "rejected":
                known = {code.value: code for code in RejectCode}
                return Rejected(known.get(self.code or "", RejectCode.INVALID), self.reason or "", self.proposal)
            case "committed":
                return Committed(self.known_version, self.proposal)
            case "duplicate":
                return Duplicate(self.known_version, self.proposal)
            case _:
                assert_never(self.outcome)

    @property
    def known_version(self) -> int:
        """The version of an accepted proposal."""
        assert self.version is not None  # checked when the receipt was made
        return self.version

    @model_validator(mode="after")
    def _is_whole(self) -> "ReceiptEvent":
        if self.outcome == "rejected":
            if self.code is None:
                raise ValueError("a rejection has a code")
        elif self.version is None:
            raise ValueError("what was committed has a version")
        return self


class CommitEvent(ToldMessage):
    """A new version."""

    type: Literal["commit"] = "commit"
    format: KnownFormat = FORMAT
    table: TableUri
    version: Count
    time: Moment
    """When it was committed, in epoch milliseconds."""
    operation: str
    """What was done: the operation, `Group` for several, `Reject` where none was accepted, `Rebind`."""
    added: Count
    """Files."""
    removed: Count
    added_bytes: Count
    removed_bytes: Count
    committer: str | None = None
    """Who wrote the version; none for direct commits."""
    epoch: Count | None = None
    proposals: Annotated[tuple[str, ...], EACH_UP_TO_THE_FIRST_PROBLEM] = ()
    """The accepted ones; none where they would make the message too large."""


Event = Annotated[ReceiptEvent | CommitEvent, Field(discriminator="type")]

_EVENT: TypeAdapter[ReceiptEvent | CommitEvent] = TypeAdapter(Event)


def receipt_event(receipt: Receipt, table: str | None, time_ms: int) -> ReceiptEvent:
    """The event for a receipt."""
    match receipt:
        case Committed(version, proposal_id):
            return ReceiptEvent(table=table, proposal=proposal_id, outcome="committed", version=version, time=time_ms)
        case Duplicate(version, proposal_id):
            return ReceiptEvent(table=table, proposal=proposal_id, outcome="duplicate", version=version, time=time_ms)
        case Rejected(code, reason, proposal_id):
            return ReceiptEvent(
                table=table,
                proposal=proposal_id,
                outcome="rejected",
                code=code.value,
                reason=reason[:MAX_REASON_CHARS],
                time=time_ms,
            )


def encode_event(event: ReceiptEvent | CommitEvent) -> bytes:
    return encoded(event, exclude_none=True)


def decode_event(data: bytes) -> ReceiptEvent | CommitEvent:
    """Raises `UnreadableMessage`."""
    check_size(data)
    try:
        return _EVENT.validate_json(data)
    except ValidationError as error:
        raise UnreadableMessage(first_problem(error)) from None
