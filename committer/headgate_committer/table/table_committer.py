"""Settling the proposals of one table: triage, decide, write one version, remember. The loop around a `LoadedTable`.

One thread at a time works on a table. Whether a version counts is read from the store, never assumed.
"""

from collections.abc import Mapping, Sequence
from typing import assert_never

from headgate_committer.backend.group_selection import open_operation
from headgate_committer.backend.interface import Draft, DraftSummary, LoadedTable, TableBackend
from headgate_committer.context import CommitterContext
from headgate_committer.deciding.creation import FirstVersion, begin_table
from headgate_committer.deciding.earlier_letters import EarlierLetters, as_decided
from headgate_committer.deciding.grouping import Item
from headgate_committer.errors import Misplaced, TableHeld
from headgate_committer.feed.guards import check_feed, check_home, check_not_rebound
from headgate_committer.feed.partition_source import PartitionSource
from headgate_committer.milvus.milvus_backend import MilvusBackend
from headgate_committer.proposals.answers import Answer, ProposalBatch, Settlement
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_committer.proposals.triage import misplaced, triage
from headgate_committer.served_addresses import ServedAddresses
from headgate_committer.table.claim_sweeping import ClaimSweeper
from headgate_committer.tables import CommitterTables
from headgate_committer.versions.version_log import VersionLog
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Operation, Receipt, RejectCode, Rejected
from headgate_schemas.metrics import (
    COMMIT_STEP_SECONDS,
    FILES_ADDED,
    FILES_REMOVED,
    GROUP_PROPOSALS,
    VERSIONS_LOST,
    VERSIONS_WRITTEN,
)
from headgate_table.coordination.commit_info import Decision
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.memory_text import memory_limits
from headgate_table.coordination.refusals import NumberTaken, PredecessorGone
from headgate_table.errors import CommitConflict, ManifestMissing, OutcomeUnknown, TableNotFound
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.commit_times import bounded_time_ms, commit_time_ms

_log = get_logger("headgate.committer")


class TableCommitter:
    """Decides the proposals of one table, in order, and writes versions."""

    def __init__(
        self,
        reader: LogReader,
        feed: PartitionSource,
        tables: CommitterTables,
        served: ServedAddresses,
        context: CommitterContext,
    ) -> None:
        self.uri = reader.store.uri
        self._store = reader.store
        self._feed = feed
        self._options_for = tables.options
        self._served = served
        self._ambient, self._limits, self._measures = context.ambient, context.limits, context.measures
        self._versions = VersionLog(reader, tables.options, context)
        self._manifests = MilvusBackend(reader.store, memory_limits(tables.options({})), feed, context)
        self._backend: TableBackend = self._versions
        """The format that was found. Where there is no table yet, the first proposal decides about the format."""
        self._table: LoadedTable | None = None
        """None until it is loaded, and again once it is known to be out of date."""
        self._letters = EarlierLetters(feed.bus, feed.source, self.uri)
        self._claims = ClaimSweeper(reader.store, feed, context)
        self._told: dict[int, Receipt] = {}
        """Receipts from versions, by offset, of proposals that are yet to be answered here."""
        self._oldest = 0
        """The offset of the first unanswered proposal."""
        self._unsure: Draft | None = None
        """A version that was handed to the store with an unknown outcome."""
        self._commits: list[CommitEvent] = []
        """Events of new versions that are yet to be announced."""

    def settle(self, batch: Sequence[QueuedProposal]) -> Settlement:
        """Decide as many of the first proposals as go into one version, and write it.

        After an exception, the caller gives a batch that begins with the same proposal. `StoreError` and `OutcomeUnknown`: try
        later. `TableHeld`, `CorruptTable` and `UnsupportedTable`: an operator has to look. `Overtaken`: stop.
        """
        self._oldest = batch[0].offset
        try:
            return self._settle(batch)
        except Misplaced as elsewhere:
            self._table = None
            return self._settlement(misplaced(batch, elsewhere.memory, self._feed.source.partition, elsewhere.home))
        except TableHeld:
            self._table = None  # read anew once an operator has acted
            raise

    def _settle(self, batch: Sequence[QueuedProposal]) -> Settlement:
        if self._unsure is not None:
            settlement = self._ask_again(self._unsure)
            if settlement is not None:
                return settlement
        for _ in range(self._limits.lost_numbers):
            try:
                table = self._current()
                with self._measures.timing(COMMIT_STEP_SECONDS, "decide"):
                    draft = self._decide(table, batch)
            except TableNotFound:
                found = self._without_table(batch)
                if isinstance(found, Settlement):
                    self._letters.told(found.answers)
                    return found
                if found is None:
                    continue
                draft = found
            except ManifestMissing as missing:
                if not self._is_based_anew():
                    raise
                _log.warning("base_was_cleaned", table=self.uri, reason=str(missing))
                continue
            if isinstance(draft, tuple):
                if self._table is None:
                    self._letters.told(draft)
                return self._settlement(draft)
            settlement = self._try_write(draft)
            if settlement is not None:
                return settlement
        raise CommitConflict(
            f"other writers took the next version of {self.uri} {self._limits.lost_numbers} times in a row; its proposals are "
            f"tried again after a pause"
        )

    # ---- states

    @property
    def newest_state(self) -> StateManifest | None:
        """The newest known state; None before the first one. Threads may ask."""
        table = self._table
        return None if table is None or table.states is None else table.states.newest

    @property
    def is_behind_with_states(self) -> bool:
        """Whether a state was due while another was under way."""
        table = self._table
        return table is not None and table.states is not None and table.states.is_behind

    @property
    def can_catch_up(self) -> bool:
        """Whether that state can be begun without waiting for another."""
        table = self._table
        return table is None or table.states is None or not table.states.is_under_way

    def catch_up(self) -> Settlement:
        """Begin the state that was due, without a commit. Decides nothing."""
        if self._unsure is None and self._table is not None and self._table.states is not None:
            self._table.states.catch_up()
        return Settlement((), ())

    def finish(self) -> None:
        """Wait for a state that is under way."""
        if self._table is not None and self._table.states is not None:
            self._table.states.finish()

    # ---- reading

    def _settlement(self, answers: Sequence[Answer]) -> Settlement:
        commits, self._commits = tuple(self._commits), []
        for answer in answers:
            self._told.pop(answer.offset, None)
        return Settlement(tuple(answers), commits)

    def _unanswered(self, told: Mapping[int, Receipt]) -> dict[int, Receipt]:
        """Without those that were answered already, and only have to be announced."""
        return {offset: receipt for offset, receipt in told.items() if offset >= self._oldest}

    def _current(self) -> LoadedTable:
        """The table, ready for a decision."""
        if self._table is not None and self._table.is_gone():
            self._table = None
        table = self._table or self._load()
        if table.before_deciding() and not self._follow(table):
            table = self._load()
        return table

    def _load(self) -> LoadedTable:
        table = self._backend.load()
        if table.table_id is not None:
            self._served.check_id(self.uri, table.table_id)
        self._begin_with(table)
        return table

    def _begin_with(self, table: LoadedTable) -> None:
        """Use this table from now on, if it may be fed from our bus. Decisions that may not be announced yet are read first."""
        feed = self._feed
        check_feed(self.uri, table.memory, table.records(), feed)
        earlier = table.announced_since(feed.source, feed.announced)
        self._told = self._unanswered(earlier.told)
        self._commits += earlier.commits
        self._table = table

    def _follow(self, table: LoadedTable) -> bool:
        """Take in versions of others. Decisions of an earlier holder of the partition are announced to their authors.

        False where the table has to be loaded anew.
        """
        earlier = table.follow(self._feed.source)
        if earlier is None:
            self._table = None
            return False
        self._commits += earlier.commits
        self._told |= self._unanswered(earlier.told)
        check_not_rebound(self.uri, table.memory, self._feed)
        return True

    def _is_based_anew(self) -> bool:
        """Whether others have replaced the state that the table was read from.

        The log is followed, not read anew, so that the memory and our own versions still count.
        """
        table = self._table
        if table is None:
            return False
        known = table.base
        return not self._follow(table) or table.base != known

    # ---- deciding

    def _decide(self, table: LoadedTable, batch: Sequence[QueuedProposal]) -> Draft | tuple[Answer, ...]:
        items = self._selected(table, batch)
        if table.must_follow(items):
            if not self._follow(table):
                return self._decide(self._load(), batch)
            items = self._selected(table, batch)  # versions of others may have decided some of them
        before = as_decided(self._told_before(table.memory))
        return table.plan(items, ProposalBatch(self._feed.source, batch, self._position(table)), before)

    def _position(self, table: LoadedTable) -> int:
        return table.memory.position(self._feed.source) or 0

    def _selected(self, table: LoadedTable, batch: Sequence[QueuedProposal]) -> list[Item]:
        """The first proposals that one version may decide together, after triage."""
        now_ms = bounded_time_ms(self._ambient.now_ms(), self._store.clock_ms(), 0)
        before = self._told_before(table.memory)
        told_before = {
            item.proposal.id: Rejected(earlier.code or RejectCode.INVALID, earlier.reason or "", earlier.id)
            for item in batch
            if (earlier := before.get(item.proposal.id)) is not None
        }
        triaged = triage(batch, table.memory, self._position(table), self._told, self._limits, now_ms, told_before)
        return table.select_group(triaged)

    def _told_before(self, memory: TableMemory) -> Mapping[str, Decision]:
        """Refusals by id from before the table was there. The first version that a bus feeds takes them over."""
        if memory.source is not None:
            self._letters.forget()
            return {}
        return self._letters.refusals()

    def _open(self, undecided: QueuedProposal) -> Operation | UndecidableRecord:
        return open_operation(undecided, self._store, self._limits.claims)

    def _without_table(self, batch: Sequence[QueuedProposal]) -> Settlement | Draft | tuple[Answer, ...] | None:
        """The backend found no table. None where the other format is to be looked for next."""
        self._table = None
        if self._backend is not self._versions:
            self._backend = self._versions
            return None
        if self._manifests.is_there:
            self._backend = self._manifests
            return None
        check_home(self.uri, None, self._feed)
        begun = begin_table(
            self.uri,
            batch,
            self._open,
            self._feed.source,
            self._versions.own_term.first(),
            self._ambient,
            commit_time_ms(self._store, self._ambient),
            self._options_for,
            lambda: as_decided(self._letters.refusals()),
        )
        match begun:
            case Settlement():
                return begun
            case FirstVersion():
                return self._versions.draft_of(begun)
            case None:
                return self._first_transaction(batch)
            case _:
                assert_never(begun)

    def _first_transaction(self, batch: Sequence[QueuedProposal]) -> Draft | tuple[Answer, ...]:
        """A transaction upon no manifest at all. Where nothing is accepted, there still is no table."""
        table = self._manifests.begin()
        self._begin_with(table)
        self._backend = self._manifests
        draft = self._decide(table, batch)
        if isinstance(draft, tuple):
            self._table, self._backend = None, self._versions
        return draft

    # ---- writing

    def _write(self, draft: Draft) -> Settlement:
        """Hand the version to the store. After `OutcomeUnknown`, the next call tries the same version first."""
        try:
            with self._measures.timing(COMMIT_STEP_SECONDS, "write"):
                event = draft.write()
        except OutcomeUnknown:
            self._measures.count(VERSIONS_LOST, "outcome_unknown")
            self._unsure = draft
            raise
        self._unsure = None
        if draft.begins:
            self._load()
            self._told, self._commits = {}, []  # of this version only, which is announced below
        elif self._table is not None:
            self._claims.after_commit(self._table.memory)
        summary = draft.summary
        self._measure(summary)
        _log.info(
            "version_committed",
            table=self.uri,
            version=draft.version,
            operation=summary.operation,
            proposals=summary.proposals,
            rejected=summary.rejected,
            added=summary.added,
            removed=summary.removed,
            offset=draft.answers[-1].offset,
        )
        self._commits.append(event)
        return self._settlement(draft.answers)

    def _measure(self, summary: DraftSummary) -> None:
        [operations] = VERSIONS_WRITTEN.labels
        self._measures.count(VERSIONS_WRITTEN, operations.nearest(summary.operation))
        self._measures.observe(GROUP_PROPOSALS, summary.proposals)
        self._measures.count(FILES_ADDED, by=summary.added)
        self._measures.count(FILES_REMOVED, by=summary.removed)

    def _try_write(self, draft: Draft) -> Settlement | None:
        """None where the version is not in the log: another's is, or the log was cleaned below it."""
        try:
            return self._write(draft)
        except PredecessorGone:
            _log.warning("version_stranded", table=self.uri, version=draft.version)
            self._measures.count(VERSIONS_LOST, "predecessor_gone")
            self._table = None
        except NumberTaken:
            self._measures.count(VERSIONS_LOST, "number_taken")
            if self._table is not None:
                self._follow(self._table)
        return None

    def _ask_again(self, draft: Draft) -> Settlement | None:
        """Write the version with the unknown outcome again, which finds it if it is there; None when it is not in the log."""
        settlement = self._try_write(draft)
        self._unsure = None
        return settlement
