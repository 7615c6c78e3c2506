"""What a committer needs of one table's log, whatever its format: to read it, to decide upon it, to write its next version.

`versions.version_log` and `milvus.milvus_backend` are the two there are. One thread at a time works on a log.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate_committer.deciding.grouping import Item
from headgate_committer.proposals.answers import Answer
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, Settled
from headgate_table.coordination.memory import TableMemory
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.write.version_body import Decided
from headgate_table.store.interface import Store

OpenOperation = Callable[[QueuedProposal], Operation | UndecidableRecord]
"""The operation of a proposal, from behind its claim if need be."""

SettledBy = Callable[[Sequence[Answer]], Settled]
"""The offsets that a version with these answers settles."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What versions that were read say: about proposals of the committer's source, by offset, and of themselves."""

    told: dict[int, Receipt]
    commits: list[CommitEvent]
    is_same_table: bool = True
    """False where another table took the place of the one that was known: nothing else counts then."""


@dataclass(frozen=True, slots=True)
class DraftSummary:
    """A version in numbers, as it is logged."""

    operation: str
    proposals: int
    rejected: int
    added: int
    removed: int


class Draft(Protocol):
    """A version that is ready to be written."""

    @property
    def version(self) -> int: ...

    @property
    def answers(self) -> tuple[Answer, ...]:
        """True once the version stands."""
        ...

    @property
    def summary(self) -> DraftSummary: ...

    @property
    def begins(self) -> bool:
        """Whether it is the first version of a table that is created by it."""
        ...

    def write(self) -> CommitEvent:
        """Hand it to the store, and take it in. May be called again after `OutcomeUnknown`.

        Raises `NumberTaken` when the version is another's, and `PredecessorGone` when it stands over a log that was
        cleaned meanwhile.
        """
        ...


class TableBackend(Protocol):
    """One table's log. Before `load`, and after `forget`, nothing is known of it."""

    @property
    def store(self) -> Store: ...

    @property
    def table_id(self) -> str | None:
        """The id by which the loaded table is told from others; None where its format has none."""
        ...

    @property
    def is_loaded(self) -> bool: ...

    @property
    def memory(self) -> TableMemory:
        """Of a log that is loaded, at its newest known version."""
        ...

    @property
    def base(self) -> int:
        """The version whose state or checkpoint all else is known upon, of a log that is loaded; -1 without one."""
        ...

    @property
    def newest_state(self) -> StateManifest | None:
        """The newest that is known; None where there is none. Threads may ask."""
        ...

    def load(self) -> None:
        """Read the log as it is now.

        Raises `TableNotFound`, `Overtaken` when a later term has begun, and `TableHeld` where it ends before what was known.
        """
        ...

    def forget(self) -> None:
        """What is there now is not what was read."""
        ...

    def announced_since(self, source: Source, committed: int) -> Earlier:
        """What versions say that settled offsets of the source from `committed` on; it may have to be announced again."""
        ...

    def records(self) -> Iterator[CommitRecord | None]:
        """What versions say of themselves, from the newest on back, as far as they are kept; None of foreign ones."""
        ...

    def follow(self, source: Source) -> Earlier:
        """Take in what others have written since. Raises `Overtaken` when one of them has a later term, and `TableHeld` as `load`."""
        ...

    def is_gone(self) -> bool:
        """Whether the newest known version is not there any more, so that what is known counts for nothing."""
        ...

    def before_deciding(self) -> bool:
        """Make ready for a decision; whether the log has to be followed first."""
        ...

    def opened(
        self, sorted_out: Sequence[AlreadyDecided | BeyondMemory | Fresh], open_operation: OpenOperation
    ) -> list[Item]:
        """The operations of what is new, as far as one group can have use for what would be found out about them."""
        ...

    def must_follow(self, items: Sequence[Item]) -> bool:
        """Whether these can be decided only upon the newest version that is there, whoever wrote it."""
        ...

    def plan(
        self, items: Sequence[Item], settled_by: SettledBy, before: Sequence[Decided] = ()
    ) -> Draft | tuple[Answer, ...]:
        """The next version, which settles as many of the items as go into it; or answers that need none.

        It holds the decisions `before` as well, which were told before the table was there.
        """
        ...

    # ---- beside the commits

    @property
    def is_behind(self) -> bool:
        """Whether something was due that has yet to be begun."""
        ...

    @property
    def can_catch_up(self) -> bool:
        """Whether nothing has to be waited for before that is begun."""
        ...

    def catch_up(self) -> None: ...

    def finish(self) -> None:
        """Wait for what is under way."""
        ...
