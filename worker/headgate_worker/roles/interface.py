"""The interface of a role, and its tasks. A role finds and does one kind of maintenance of a table.

`loop.schedule` decides when tasks run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate_bus.claims import DEFAULT_LIMITS, ClaimLimits
from headgate_bus.interface import Bus
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.measures import SILENT, Measures
from headgate_table.table import Table

OpenTable = Callable[[str], Table]
"""The table at an address, which proposes its changes. Each caller gets one of its own."""


STATE_ENTRY_BYTES = 1 << 10
"""What one entry of a state weighs in memory while it is compacted, roughly and with room to spare."""


@dataclass(frozen=True, slots=True)
class CompactTask:
    """Swap manifests of the table's state for fewer and sorted ones."""

    table: str
    reason: str
    entries: int
    """Those of the manifests that are rewritten."""

    @property
    def weight_bytes(self) -> int:
        return self.entries * STATE_ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Write the rows of some data files of one partition into one file, and propose it in their place."""

    table: str
    sources: tuple[AddFile, ...]
    """Live files, in the order in which their rows are written. They share their partition values."""

    @property
    def weight_bytes(self) -> int:
        return sum(source.size for source in self.sources)


@dataclass(frozen=True, slots=True)
class CleanTask:
    """Delete everything that no retained version needs."""

    table: str

    @property
    def weight_bytes(self) -> int:
        return 0  # names only


@dataclass(frozen=True, slots=True)
class MirrorTask:
    """Publish the versions that the table's mirror lacks."""

    table: str

    @property
    def weight_bytes(self) -> int:
        return 0  # version files, one after the other


Task = CompactTask | MergeTask | CleanTask | MirrorTask


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a task. A final failure is a `HeadgateError` instead."""

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
    """The worker is stopping, and the task ended at a safe point. The next worker plans it again."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Commits since the last look that call for the next one; any one condition is enough."""

    added_files: int | None = None
    """Files that writes have added, together."""
    writes: int | None = None
    """Versions that changed data."""
    after_merge: bool = False


@dataclass(frozen=True, slots=True)
class Outlook:
    """The result of a look at a table."""

    tasks: Sequence[Task] = ()
    """What is to be done now, the most useful first."""
    trigger: Trigger | None = None
    """What would make the next look urgent, by the table's settings: commits that this one has not seen."""


class Role(Protocol):
    """The interface of a role. Threads call it at the same time, but never twice at once for one table."""

    @property
    def name(self) -> str:
        """The role's name in settings, logs and on the command line."""
        ...

    def look(self, table: Table, now_ms: int) -> Outlook:
        """The tasks for the table and the trigger of the next look, both for the same version. Only reads."""
        ...

    def run(self, task: Task) -> Report:
        """Run the task and propose its result, which the committer decides. It may be given up at any point: nothing
        counts before that.
        """
        ...


@dataclass(frozen=True, slots=True)
class RoleContext:
    """The parts from which roles are made."""

    bus: Bus
    ambient: Ambient
    open_table: OpenTable
    committer_group: str
    stopping: Callable[[], bool]
    """Whether a long task should give up, by raising `Abandoned`."""
    scratch_folder: str = ""
    """Where this process keeps files that are not whole yet; the system's own place without one."""
    claims: ClaimLimits = DEFAULT_LIMITS
    """What the committers take of a claimed proposal, and so what may still be accepted."""
    measures: Measures = SILENT


RoleMaker = Callable[[RoleContext], Role]
