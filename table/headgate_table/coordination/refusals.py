"""What stands against a commit: a rule of the format, or another writer that was faster."""

from dataclasses import dataclass

from headgate_schemas.messages.operations import RejectCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operation that can't be committed to the table as it is, and why."""

    code: RejectCode
    reason: str


class NumberTaken(Exception):
    """The number is another writer's: read what is new, and try the next."""


class PredecessorGone(NumberTaken):
    """The number stands alone over a log that was cleaned meanwhile: nothing that was read before holds any more."""
