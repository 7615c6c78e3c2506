"""The obstacles to a commit: a rule of the format, or another writer that was faster."""

from dataclasses import dataclass

from headgate_schemas.messages.operations import MAX_SEQ, RejectCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """An operation that can't be committed to the table as it is, and the reason."""

    code: RejectCode
    reason: str


class NumberTaken(Exception):
    """Another writer has taken the number: read the new versions, and try the next number."""


class PredecessorGone(NumberTaken):
    """The log below the number was cleaned meanwhile, so all earlier reads are out of date."""


def as_what(newest_seq: int) -> str:
    """How a writer can propose again what it proposed under a seq that is too low."""
    return f"with a seq above {newest_seq}" if newest_seq < MAX_SEQ else "as another app"
