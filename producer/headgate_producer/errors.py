"""All errors of the producer room. Each message says what happened, to which proposal or job, and what to do."""

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import WriteRefused as WriteRefused


class NotSent(HeadgateError):
    """The proposal never left this process and has no effect. It may be proposed again."""


class JobStopped(HeadgateError):
    """A batch job needs an operator. Every record before its position is in the table exactly once."""
