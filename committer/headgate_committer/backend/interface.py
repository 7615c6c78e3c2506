"""The interface of a table's log to its committer: load it, follow it, decide upon it, write its next version.

`versions.version_log` and `milvus.milvus_backend` implement it. One thread at a time works on a table.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate_committer.deciding.grouping import Item
from headgate_committer.proposals.answers import Answer, ProposalBatch
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Receipt
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord
from headgate_table.coordination.memory import TableMemory
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.write.version_body import Decided
from headgate_table.store.interface import Store


@dataclass(frozen=True, slots=True)
class Earlier:
    """What versions that were read say: about proposals of the committer's source, by offset, and of themselves."""

    told: dict[int, Receipt]
    commits: list[CommitEvent]


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


class StateWriting(Protocol):
    """The states of a loaded table, which are written beside its commits."""

    @property
    def newest(self) -> StateManifest | None:
        """The newest that is known. Threads may ask."""
        ...

    @property
    def is_behind(self) -> bool:
        """Whether one was due that has yet to be begun."""
        ...

    @property
    def is_under_way(self) -> bool: ...

    def catch_up(self) -> None:
        """Begin the state that was due."""
        ...

    def finish(self) -> None:
        """Wait for a state that is under way."""
        ...


class LoadedTable(Protocol):
    """A table at its newest known version."""

    @property
    def table_id(self) -> str | None:
        """The id by which the table is told from others; None where its format has none."""
        ...

    @property
    def memory(self) -> TableMemory: ...

    @property
    def base(self) -> int:
        """The version whose state or checkpoint all else is known upon; -1 without one."""
        ...

    @property
    def states(self) -> StateWriting | None:
        """None where the format has no states."""
        ...

    def announced_since(self, source: Source, committed: int) -> Earlier:
        """What versions say that settled offsets of the source from `committed` on; it may have to be announced again."""
        ...

    def records(self) -> Iterator[CommitRecord | None]:
        """What versions say of themselves, from the newest on back, as far as they are kept; None of foreign ones."""
        ...

    def follow(self, source: Source) -> Earlier | None:
        """Take in what others have written since. None where the table has to be loaded anew, as when another took its place.

        Raises `Overtaken` when a later term has begun, and `TableHeld` where the log ends before what was known.
        """
        ...

    def is_gone(self) -> bool:
        """Whether the newest known version is not there any more, so that what is known counts for nothing."""
        ...

    def before_deciding(self) -> bool:
        """Make ready for a decision; whether the log has to be followed first."""
        ...

    def select_group(self, triaged: Sequence[AlreadyDecided | BeyondMemory | Fresh]) -> list[Item]:
        """The first of these, with their operations: as many as one version may decide together."""
        ...

    def must_follow(self, items: Sequence[Item]) -> bool:
        """Whether these can be decided only upon the newest version that is there, whoever wrote it."""
        ...

    def plan(
        self, items: Sequence[Item], batch: ProposalBatch, before: Sequence[Decided] = ()
    ) -> Draft | tuple[Answer, ...]:
        """The next version, which settles as many of the items as go into it; or answers that need none.

        It holds the decisions `before` as well, which were told before the table was there.
        """
        ...


class TableBackend(Protocol):
    """The log of one format at a table's address. It keeps what outlives a loading, such as the committer's term."""

    @property
    def store(self) -> Store: ...

    def load(self) -> LoadedTable:
        """Read the log as it is now.

        Raises `TableNotFound`, `Overtaken` when a later term has begun, and `TableHeld` where it ends before what was known.
        """
        ...
