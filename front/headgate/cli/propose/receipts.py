"""Prints receipts on a command line, and ends a command by its receipt."""

from typing import TYPE_CHECKING, Any, assert_never

from headgate.cli.terminal.session import UNKNOWN, Session, fail
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, Rejected
from headgate_table.errors import OutcomeUnknown

if TYPE_CHECKING:
    from headgate_producer.delivery.ticket import Ticket


def show_outcome(session: Session, ticket: "Ticket", wait_s: float, what_next: str) -> None:
    """Wait for the receipt and print it; exit with 1 for a rejection, with 3 if none came.

    `what_next` tells the user how to ask for the outcome later.
    """
    try:
        receipt = ticket.wait(timeout=wait_s)
    except (OutcomeUnknown, KeyboardInterrupt) as error:
        # A sent proposal stays sent, even if the user stops waiting.
        when = f"within {wait_s:g} s" if isinstance(error, OutcomeUnknown) else "before this was interrupted"
        session.output.one(_row(ticket.proposal_id, "unknown"))
        raise fail(
            f"no receipt of proposal {ticket.proposal_id} came {when}, so nobody knows yet what becomes of it. Look "
            f"whether a committer runs. {what_next}",
            UNKNOWN,
        ) from None
    session.output.one(receipt_row(receipt))
    accepted(receipt)


def receipt_row(receipt: Receipt) -> dict[str, Any]:
    match receipt:
        case Committed(version, proposal_id):
            return _row(proposal_id, "committed", version)
        case Duplicate(version, proposal_id):
            return _row(proposal_id, "duplicate", version)
        case Rejected(code, reason, proposal_id):
            return _row(proposal_id, "rejected", None, code.value, reason)
        case _:
            assert_never(receipt)


def accepted(receipt: Receipt) -> int:
    """The version that holds the change; a rejection ends the command."""
    match receipt:
        case Committed(version) | Duplicate(version):
            return version
        case Rejected(code, reason):
            raise fail(f"rejected ({code.value}): {reason}")
        case _:
            assert_never(receipt)


def _row(
    proposal_id: str, outcome: str, version: int | None = None, code: str | None = None, reason: str | None = None
) -> dict[str, Any]:
    return {"proposal_id": proposal_id, "outcome": outcome, "version": version, "code": code, "reason": reason}
