"""Every error of the committer room. Each message says what happened, to which table or committer, and what to do."""

import traceback

from headgate_schemas.errors import HeadgateError
from headgate_table.coordination.memory import TableMemory


class TableHeld(HeadgateError):
    """A table's proposals can't be decided until an operator says how to go on. Nothing is lost meanwhile."""


class Misplaced(HeadgateError):
    """Proposals came on a partition that isn't their table's. They are set aside; nobody has to do anything about the table."""

    def __init__(self, message: str, memory: TableMemory | None, home: int) -> None:
        self.memory = memory
        """What the table remembers, if there is one."""
        self.home = home
        """The partition on which the table's proposals belong."""
        super().__init__(message)


class RivalDeployment(HeadgateError):
    """Other committers answer for the same proposals. This one must not begin."""


class Overtaken(HeadgateError):
    """Another committer works on this table in a later term. This one must stop."""


def describe_error(error: BaseException) -> str:
    """An error as the log tells it. Ours explain themselves; any other is a defect, and its traceback is needed to mend it."""
    return str(error) if isinstance(error, HeadgateError) else "".join(traceback.format_exception(error)[-3:])
