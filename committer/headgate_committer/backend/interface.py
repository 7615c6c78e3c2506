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
    """Receipts by offset, and commit events, that were read from versions."""

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
        """True once the version is committed."""
        ...

    @property
    def summary(self) -> DraftSummary: ...

    @property
    def begins(self) -> bool:
        """Whether it is the first version of a table that is created by it."""
        ...

    def write(self) -> CommitEvent:
        """Create it in the store, and apply it to the loaded table. May be called again after `OutcomeUnknown`.

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
        """The version of the state or checkpoint that later versions are applied to; -1 without one."""
        ...

    @property
    def states(self) -> StateWriting | None:
        """None where the format has no states."""
        ...

    def announced_since(self, source: Source, committed: int) -> Earlier:
        """Decisions and events of versions that settled offsets from `committed` on. They may have to be announced again."""
        ...

    def records(self) -> Iterator[CommitRecord | None]:
        """The commit records of kept versions, the newest first; None for versions of foreign writers."""
        ...

    def follow(self, source: Source) -> Earlier | None:
        """Apply versions that others have written. None where the table has to be loaded anew, as when another took its place.

        Raises `Overtaken` when a later term has begun, and `TableHeld` where the log ends before what was known.
        """
        ...

    def is_gone(self) -> bool:
        """Whether the newest known version is missing from the store. The loaded table is useless then."""
        ...

    def before_deciding(self) -> bool:
        """Prepare for a decision. Returns whether the log has to be followed first."""
        ...

    def select_group(self, triaged: Sequence[AlreadyDecided | BeyondMemory | Fresh]) -> list[Item]:
        """The first of these, with their operations: as many as one version may decide together."""
        ...

    def must_follow(self, items: Sequence[Item]) -> bool:
        """Whether these have to be decided upon the newest version in the store, whoever wrote it."""
        ...

    def plan(
        self, items: Sequence[Item], batch: ProposalBatch, before: Sequence[Decided] = ()
    ) -> Draft | tuple[Answer, ...]:
        """The next version, which settles as many of the items as go into it; or answers that need none.

        It also holds the decisions `before`, which authors were told before the table was there.
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
