"""Every error of the producer room. Each message says what happened, to which proposal or job, and what to do."""

from headgate_schemas.errors import HeadgateError


class NotSent(HeadgateError):
    """The proposal never left this process. It has no effect, and you may propose it again."""


class JobStopped(HeadgateError):
    """A batch job needs an operator. Every record before its position is in the table exactly once."""


class WriteRefused(HeadgateError):
    """The table doesn't take what a Spark job wrote. None of its rows are in the table; the message says why."""
