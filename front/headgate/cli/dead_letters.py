"""`headgate dead-letters list|show|replay`: messages that no committer could decide, and how to replay them."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.propose.receipts import show_outcome
from headgate.cli.terminal.given import seconds
from headgate.cli.terminal.output import Format
from headgate.cli.terminal.session import ON_A_BUS, Session, command, fail
from headgate.commits import Commits

if TYPE_CHECKING:
    from headgate_bus.interface import Bus
    from headgate_schemas.messages.dead_letters import DeadLetter
    from headgate_schemas.messages.operations import Operation
    from headgate_schemas.messages.proposals import Proposal

COLUMNS = ("id", "time", "code", "reason", "table", "proposal", "partition", "offset", "appended", "body_bytes")
SHOWN = ("id", "time", "code", "reason", "table")
Letter = Annotated[str, typer.Argument(metavar="ID", help="The id of the dead letter, as in the list.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="List, show and replay undecidable messages.", no_args_is_help=True)
    command(group, "list", list_letters, also=ON_A_BUS)
    command(group, "show", show, also=ON_A_BUS)
    command(group, "replay", replay, also=ON_A_BUS)
    app.add_typer(group, name="dead-letters")


def list_letters(session: Session) -> None:
    """List all dead letters, oldest first."""
    with session.bus_in_force() as bus:
        rows = (_row(found) for found in _everything(bus))
        session.output.rows(rows, COLUMNS, shown=SHOWN, spare=("time",), nothing="No dead letters.")


def show(session: Session, letter_id: Letter) -> None:
    """Show one dead letter, with its headers and body.

    A binary body is printed as base64.
    """
    with session.bus_in_force() as bus:
        letter = _find(bus, letter_id)
    try:
        body, encoding = letter.body.decode(), "utf-8"
    except UnicodeDecodeError:
        body, encoding = b64encode(letter.body).decode(), "base64"
    values = _row(letter) | {
        "cluster": letter.cluster,
        "topic": letter.topic,
        "headers": letter.headers,
        "is_whole": letter.is_whole,
        "encoding": encoding,
        "body": body,
    }
    session.output.one(values)


def replay(
    session: Session,
    letter_id: Letter,
    wait: Annotated[str, typer.Option("--wait", metavar="TIME", help="The longest wait for the receipt.")] = "30s",
) -> None:
    """Propose the change of a dead letter again, under a new id.

    Use it for a valid message that came at the wrong time, such as before its table was created. The exit codes are those
    of `propose`.
    """
    wait_s = seconds(wait, "--wait")
    with session.bus_in_force() as bus:
        letter = _find(bus, letter_id)
    proposal = _proposal(letter)
    with Commits(session.bus_address, session.loaded.store, session.ambient) as commits:
        ticket = commits.producer(proposal.table).propose(
            _operation(session, proposal),
            writer=proposal.written_by,
            based_on=proposal.based_on,
            reads=proposal.reads,
            isolation=proposal.isolation,
        )
        if session.format is Format.TABLE:
            session.output.note(f"Proposed again as {ticket.proposal_id}.")
        show_outcome(session, ticket, wait_s, "Look at the table's history before you replay it once more")


@dataclass(frozen=True, slots=True)
class _Stranger:
    """A message on the topic that isn't a dead letter, perhaps of a newer release; the list shows it all the same."""

    time: int
    reason: str
    table: str
    id: str | None = None
    code: str | None = None
    proposal: str | None = None
    partition: int | None = None
    offset: int | None = None
    appended: int | None = None
    body_bytes: int | None = None


def _everything(bus: "Bus") -> "Iterator[DeadLetter | _Stranger]":
    from headgate.topic_reading import read_topic, starting_offsets
    from headgate_bus.interface import Topic
    from headgate_schemas.messages.dead_letters import decode_dead_letter
    from headgate_schemas.messages.message_shape import UnreadableMessage

    seen: set[str] = set()
    for record in read_topic(bus, Topic.DEAD_LETTERS, starting_offsets(bus, Topic.DEAD_LETTERS, "first")):
        try:
            letter = decode_dead_letter(record.body)
        except UnreadableMessage as error:
            place = f"record {record.offset} in partition {record.partition} of this topic"
            yield _Stranger(record.time_ms, f"{place} is no dead letter: {error}", record.key)
            continue
        # A committer that dies at the wrong moment sets a message aside twice.
        if letter.id not in seen:
            seen.add(letter.id)
            yield letter


def _find(bus: "Bus", letter_id: str) -> "DeadLetter":
    for found in _everything(bus):
        if not isinstance(found, _Stranger) and found.id == letter_id:
            return found
    raise fail(f"there is no dead letter {letter_id!r}: `headgate dead-letters list` shows those that are there")


def _proposal(letter: "DeadLetter") -> "Proposal":
    from headgate_schemas.messages.message_shape import UnreadableMessage
    from headgate_schemas.messages.proposals import decode_proposal

    if not letter.is_whole:
        raise fail(
            f"only {len(letter.body):,} of the {letter.body_bytes:,} bytes of {letter.id} were kept, because it was too large: "
            f"its author has to propose it again"
        )
    try:
        return decode_proposal(letter.body)
    except UnreadableMessage as error:
        raise fail(
            f"{letter.id} can't be replayed, for it is no proposal that this release can read ({error}): its author has to "
            f"propose it again. `headgate dead-letters show {letter.id}` has its bytes"
        ) from None


def _operation(session: Session, proposal: "Proposal") -> "Operation":
    from headgate_schemas.messages.operation_bodies import operation_of

    if proposal.operation is not None:
        return operation_of(proposal.operation)
    assert proposal.claim is not None, "a proposal has an operation or a claim"
    from headgate_bus.claims import open_claim
    from headgate_schemas.messages.proposals import decode_claimed

    store = session.open_store(proposal.table)
    return decode_claimed(open_claim(store, proposal.claim, session.loaded.committer.limits.claims))


def _row(letter: "DeadLetter | _Stranger") -> dict[str, Any]:
    return {name: getattr(letter, name) for name in COLUMNS}
