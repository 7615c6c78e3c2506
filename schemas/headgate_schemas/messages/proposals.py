"""Proposals: a request to change one table atomically, as bytes on the bus and as a value.

A large operation is sent as a claim: its bytes lie on the table's store, and the message names the object and its
digest.
"""

from typing import Annotated, Literal

from pydantic import StringConstraints, ValidationError, model_validator

from headgate_schemas.messages.message_shape import (
    FORMAT,
    AskedMessage,
    Author,
    Count,
    Identity,
    KnownFormat,
    Moment,
    TableUri,
    UnreadableMessage,
    check_size,
    check_values,
    encoded,
    first_problem,
    refuse_repeated_keys,
)
from headgate_schemas.messages.operation_bodies import OperationBody, Where, body_of, operation_of
from headgate_schemas.messages.operations import Isolation, Operation, ReadSet, Writer

AppName = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class WriterBody(AskedMessage):
    """The name and the seq of the writer."""

    app: AppName
    seq: Count


class Claim(AskedMessage):
    """The place of a large proposal's operation, and the digest and sizes that identify it."""

    key: Annotated[str, StringConstraints(pattern=r"^_headgate/claims/[0-9A-Za-z][0-9A-Za-z._-]*$", max_length=400)]
    """Relative to the table's root."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """Of the compressed bytes."""
    compressed_bytes: Count
    bytes: Count
    """Of the operation's JSON."""
    files: Count
    """How many files it adds or removes by name."""


class Proposal(AskedMessage):
    """A request of a writer. Exactly one of `operation` and `claim` is given."""

    format: KnownFormat
    id: Identity
    table: TableUri
    created: Moment
    """When it was made, by its author's clock, in epoch milliseconds. A retry keeps it."""
    author: Author
    """Who asks, for people: a program and where it runs."""
    writer: WriterBody | None = None
    based_on: Count | None = None
    """The version that was read; needed for isolation serializable."""
    reads: Where | None = None
    isolation: Literal["snapshot", "serializable"] = "snapshot"
    operation: OperationBody | None = None
    claim: Claim | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> "Proposal":
        if (self.operation is None) == (self.claim is None):
            raise ValueError("a proposal has either an operation or a claim")
        if self.isolation == "serializable" and self.based_on is None:
            raise ValueError("isolation serializable needs basedOn, the version that was read")
        return self

    @property
    def read_set(self) -> ReadSet | None:
        """The read set, for a serializable proposal."""
        if self.isolation != Isolation.SERIALIZABLE.value or self.based_on is None:
            return None
        return ReadSet(self.based_on, self.reads)

    @property
    def written_by(self) -> Writer | None:
        return None if self.writer is None else Writer(self.writer.app, self.writer.seq)


def new_proposal(
    operation: Operation,
    *,
    proposal_id: str,
    table: str,
    created_ms: int,
    author: str,
    writer: Writer | None = None,
    based_on: int | None = None,
    reads: str | None = None,
    isolation: Isolation = Isolation.SNAPSHOT,
) -> Proposal:
    """A proposal, checked. Raises `UnreadableMessage` for one that no committer would accept."""
    try:
        return Proposal(
            format=FORMAT,
            id=proposal_id,
            table=table,
            created=created_ms,
            author=author,
            writer=None if writer is None else WriterBody(app=writer.app, seq=writer.seq),
            based_on=based_on,
            reads=reads,
            isolation=isolation.value,
            operation=body_of(operation),
        )
    except ValidationError as error:
        raise UnreadableMessage(f"proposal {proposal_id} can't be sent: {first_problem(error)}") from None


def encode_proposal(proposal: Proposal) -> bytes:
    """The body of the message; fields with their default values are left out."""
    return encoded(proposal, exclude_defaults=True)


def decode_proposal(data: bytes) -> Proposal:
    """The proposal in the body of a message. Raises `UnreadableMessage` with the first fault."""
    check_size(data)
    try:
        proposal = Proposal.model_validate_json(data)
    except ValidationError as error:
        raise UnreadableMessage(first_problem(error)) from None
    refuse_repeated_keys(data)
    return proposal


class ClaimedOperation(AskedMessage):
    """The content of a claim's object."""

    format: KnownFormat
    operation: OperationBody


def encode_claimed(operation: OperationBody) -> bytes:
    return encoded(ClaimedOperation(format=FORMAT, operation=operation), exclude_defaults=True)


def decode_claimed(data: bytes) -> Operation:
    """The operation of a claim. Raises `UnreadableMessage`."""
    check_values(data)
    try:
        claimed = ClaimedOperation.model_validate_json(data)
        refuse_repeated_keys(data)
    except ValidationError as error:
        raise UnreadableMessage(f"the claimed operation can't be read: {first_problem(error)}") from None
    return operation_of(claimed.operation)
