"""Every error of the committer room. Each message says what happened, to which table or committer, and what to do."""

from headgate_schemas.errors import HeadgateError


class TableHeld(HeadgateError):
    """A table's proposals can't be decided until an operator says how to go on. Nothing is lost meanwhile."""


class Overtaken(HeadgateError):
    """Another committer works on this table in a later term. This one must stop."""
