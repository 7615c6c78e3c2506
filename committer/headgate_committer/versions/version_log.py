"""The log of versions and states (IndexTables) as a committer loads it, decides upon it and extends it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from headgate_committer.backend.group_selection import select_group
from headgate_committer.backend.interface import Earlier
from headgate_committer.backend.own_term import OwnTerm
from headgate_committer.context import CommitterContext
from headgate_committer.deciding.creation import FirstVersion
from headgate_committer.deciding.grouping import Item, OpenedProposal, VersionGroupRule
from headgate_committer.proposals.answers import Answer, ProposalBatch
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_committer.versions.known_versions import ReachedVersion
from headgate_committer.versions.states import StateKeeper
from headgate_committer.versions.table_log import TableLog, records_from
from headgate_committer.versions.version_draft import (
    FirstVersionDraft,
    PlannedVersion,
    VersionDraft,
    find_facts,
    plan_version,
)
from headgate_schemas.messages.operations import CompactState, Restore
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord
from headgate_table.coordination.memory import TableMemory
from headgate_table.errors import TableNotFound
from headgate_table.indextables.format.protocol_support import check_writable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.rules.evidence import EvidenceReader
from headgate_table.indextables.write.version_body import Decided
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store


class VersionLog:
    """The log of versions at one address."""

    def __init__(
        self, reader: LogReader, options_for: Callable[[Mapping[str, str]], TableOptions], context: CommitterContext
    ) -> None:
        self.reader = reader
        self.own_term = OwnTerm(reader.store.uri, context.identity)
        self._reached = ReachedVersion(reader.store.uri)
        self._options_for = options_for
        self._context = context

    @property
    def store(self) -> Store:
        return self.reader.store

    def load(self) -> "LoadedVersions":
        try:
            log = TableLog(self.reader, self._options_for, self.own_term, self._reached, self._context.ambient)
        except TableNotFound:
            self._reached.check_was_never_there()
            raise
        return LoadedVersions(log, self._context)

    def draft_of(self, first: FirstVersion) -> FirstVersionDraft:
        """The version that makes the table."""
        return FirstVersionDraft(first, self.reader, self.own_term)


class LoadedVersions:
    """A log of versions in memory, with its states."""

    def __init__(self, log: TableLog, context: CommitterContext) -> None:
        self.log = log
        self.states = StateKeeper(log, context)
        self._evidence = EvidenceReader(log.reader)
        self._context = context

    @property
    def table_id(self) -> str | None:
        return self.log.metadata.id

    @property
    def memory(self) -> TableMemory:
        return self.log.memory

    @property
    def base(self) -> int:
        return self.log.log.plan.base.version

    def announced_since(self, source: Source, committed: int) -> Earlier:
        return self.log.announced_since(source, committed)

    def records(self) -> Iterator[CommitRecord | None]:
        return records_from(self.log.reader, self.log.log.version)

    def follow(self, source: Source) -> Earlier | None:
        base = self.base
        earlier = self.log.follow(source)
        if self.base != base:
            self.states.let_go()
        return earlier

    def is_gone(self) -> bool:
        return self.log.is_gone()

    def before_deciding(self) -> bool:
        check_writable(self.log.log.protocol, self.log.uri)
        self.states.before_commit()
        return self.log.is_shared_with_states() or self.states.is_overtaken

    def select_group(self, triaged: Sequence[AlreadyDecided | BeyondMemory | Fresh]) -> list[Item]:
        return select_group(triaged, VersionGroupRule(), self.log.reader.store, self._context.limits.claims)

    def must_follow(self, items: Sequence[Item]) -> bool:
        """A swap or a restore has its own state follow at once, and what is found out for it must be what that state is
        based on: the newest that is there.
        """
        if not any(
            isinstance(item, OpenedProposal) and isinstance(item.operation, Restore | CompactState) for item in items
        ):
            return False
        self.states.finish()
        return True

    def plan(
        self, items: Sequence[Item], batch: ProposalBatch, before: Sequence[Decided] = ()
    ) -> VersionDraft | tuple[Answer, ...]:
        log = self.log
        opened = [item for item in items if isinstance(item, OpenedProposal)]
        facts = find_facts(self._evidence, log.log, log.memory, log.metadata, opened)
        planned = plan_version(log, items, facts, batch, self._context.ambient, before)
        return VersionDraft(planned, log, self.states) if isinstance(planned, PlannedVersion) else planned
