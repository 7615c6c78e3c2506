"""What a role is: it knows what one kind of maintenance needs doing to a table, and does it. When, the schedule says."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate_schemas.errors import HeadgateError
from headgate_table.table import Table
from headgate_worker.tasks import Task
from headgate_worker.triggers import Trigger

OpenTable = Callable[[str], Table]
"""The table at an address, which proposes its changes. Each caller gets one of its own."""


@dataclass(frozen=True, slots=True)
class Report:
    """How a task ended. What went wrong for good is a `HeadgateError` instead."""

    summary: str
    """For people, in one line."""
    version: int | None = None
    """That holds the change; None where there was nothing to change any more."""
    problems: tuple[str, ...] = ()
    """What was left undone, and why."""
    more: bool = False
    """There is more to do already: the table is looked at again without its cooldown."""
    lost: bool = False
    """Others were faster, so that nothing was changed: it is planned again, without its cooldown where that is the first time."""


class Abandoned(HeadgateError):
    """The worker is stopping, and the task was given up where that is safe. The next worker plans it anew."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a look at a table has brought."""

    tasks: Sequence[Task] = ()
    """What is to be done now, the most useful first."""
    trigger: Trigger | None = None
    """What would make the next look urgent, by the table's settings: commits that this one has not seen."""


class Role(Protocol):
    """Threads call it side by side, but never twice at once for one table."""

    @property
    def name(self) -> str:
        """In settings, logs and on the command line."""
        ...

    def look(self, table: Table, now_ms: int) -> Outlook:
        """What is to be done to the table, and what it waits for: both of one version of it. Reads only."""
        ...

    def run(self, task: Task) -> Report:
        """Do it, and propose the result; the committer judges it. Safe to give up anywhere: nothing counts before that."""
        ...
