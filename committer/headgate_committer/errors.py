"""Every error of the committer room. Each message says what happened, to which table or committer, and what to do."""

from headgate_schemas.errors import HeadgateError
from headgate_table.coordination.memory import TableMemory


class TableHeld(HeadgateError):
    """The table is held: its proposals wait until an operator decides how to go on. Nothing is lost meanwhile."""


class Misplaced(HeadgateError):
    """Proposals came on a partition that isn't their table's. They are set aside, and the table needs no operator."""

    def __init__(self, message: str, memory: TableMemory | None, home: int) -> None:
        self.memory = memory
        """The memory of the table, if there is one."""
        self.home = home
        """The partition on which the table's proposals belong."""
        super().__init__(message)


class RivalDeployment(HeadgateError):
    """Committers of another deployment serve the same proposals. This one must not begin."""


class Overtaken(HeadgateError):
    """Another committer works on this table in a later term. This one must stop."""
