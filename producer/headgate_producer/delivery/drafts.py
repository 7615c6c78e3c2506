"""Writes the message that proposes an operation, and checks it before anything is sent. A large one becomes a claim."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypedDict

from headgate_bus.interface import Message
from headgate_producer.delivery.outbox import Outgoing
from headgate_schemas import arguments
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.message_shape import MAX_BODY_BYTES
from headgate_schemas.messages.operations import Isolation, Operation, Writer
from headgate_schemas.messages.proposal_ids import first_made, timed_id
from headgate_schemas.messages.proposals import Claim, Proposal, encode_claimed, encode_proposal, new_proposal

PutClaim = Callable[[str, bytes, int], Claim]
"""Lays an operation on the table's store: by the id of its proposal, its JSON, and how many files it names."""


class Terms(TypedDict, total=False):
    """The fields that any proposal may have beside its operation."""

    based_on: int | None
    """The version that was read."""
    reads: str | None
    """Which files of it, as a predicate; all without one."""
    isolation: Isolation | str
    """`serializable`: refused when files that match `reads` changed after `based_on`."""
    writer: Writer | None
    """Who proposes, and that one's own counter: a seq is committed once."""
    proposal_id: str | None
    """Given only to propose again what may have been proposed before."""
    created: int | None
    """When this id was proposed first, in epoch milliseconds: for ids of one's own, which don't tell it."""


@dataclass(frozen=True, slots=True)
class Drafter:
    """Writes the messages of one author to one table."""

    table: str
    author: str
    put_claim: PutClaim

    def draft(self, operation: Operation, new_id: str, now_ms: int, terms: Terms) -> Outgoing:
        """Raises `InvalidInput` for a proposal that no committer would accept, and the store's errors if a claim can't
        be written.
        """
        _check_names(terms)
        proposal_id, created_ms = _identity(terms, new_id, now_ms)
        writer, based_on = terms.get("writer"), terms.get("based_on")
        if based_on is not None:
            based_on = arguments.whole("based_on", based_on)
        if writer is not None:
            if not isinstance(writer, Writer):
                raise InvalidInput(f"writer is {str(writer)[:80]!r}; give headgate.Writer(app, seq)")
            writer = Writer(arguments.text("writer.app", writer.app), arguments.whole("writer.seq", writer.seq))
        try:
            proposal = new_proposal(
                operation,
                proposal_id=proposal_id,
                table=self.table,
                created_ms=created_ms,
                author=self.author,
                writer=writer,
                based_on=based_on,
                reads=terms.get("reads"),
                isolation=_isolation(terms.get("isolation", Isolation.SNAPSHOT)),
            )
            body = encode_proposal(proposal)
            if len(body) > MAX_BODY_BYTES:
                body = self._claimed(proposal)
        except (AttributeError, TypeError, UnicodeError) as error:
            # Wrong types deep inside of values that nothing has checked before.
            raise InvalidInput(f"the {type(operation).__name__} can't be sent: {error}") from error
        headers = attributes(
            kind=PROPOSAL, event_id=proposal_id, source=self.author, subject=proposal_id, time_ms=now_ms
        )
        return Outgoing(proposal_id, writer, Message(self.table, headers, body), len(body))

    def _claimed(self, proposal: Proposal) -> bytes:
        assert proposal.operation is not None
        named = ("files", "paths", "removes", "adds", "skips")
        files = sum(len(getattr(proposal.operation, name, ())) for name in named)
        claim = self.put_claim(proposal.id, encode_claimed(proposal.operation), files)
        return encode_proposal(proposal.model_copy(update={"operation": None, "claim": claim}))


def _identity(terms: Terms, new_id: str, now_ms: int) -> tuple[str, int]:
    """The proposal's id, and the time of its first proposal: 0 if unknown, which a table treats as long ago."""
    proposal_id, created_ms = terms.get("proposal_id"), terms.get("created")
    if proposal_id is not None and not arguments.text("proposal_id", proposal_id):
        raise InvalidInput(
            f"proposal_id is {str(proposal_id)[:80]!r}; give the id of the first attempt, or leave it out"
        )
    if created_ms is not None:
        if not proposal_id:
            raise InvalidInput("created is the time of the first attempt with an id: give proposal_id as well")
        if type(created_ms) is not int or created_ms < 0:
            raise InvalidInput(f"created is {str(created_ms)[:80]!r}; give epoch milliseconds as a whole number")
        return proposal_id, created_ms
    if proposal_id:
        return proposal_id, first_made(proposal_id, now_ms)
    return timed_id(new_id, now_ms), now_ms


def _check_names(terms: Terms) -> None:
    """A misspelled `isolation` would silently ask for a weaker one."""
    unknown = sorted(set(terms) - set(Terms.__annotations__))
    if unknown:
        raise InvalidInput(f"a proposal takes no {', '.join(unknown)}; it takes {', '.join(Terms.__annotations__)}")


def _isolation(given: Isolation | str) -> Isolation:
    try:
        return Isolation(given)
    except ValueError:
        known = " or ".join(item.value for item in Isolation)
        raise InvalidInput(f"isolation is {given!r}; give {known}") from None
