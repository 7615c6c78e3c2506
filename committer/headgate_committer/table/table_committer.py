"""Settling the proposals of one table: sort out, decide, write one version, remember. The loop around a `TableBackend`.

One thread at a time works on a table. What becomes of a version is what the store says, never what was meant.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from typing import NoReturn, assert_never

from headgate_bus.claims import open_claim
from headgate_bus.errors import ClaimFault, ClaimRefused
from headgate_committer.deciding.creation import FirstVersion, begin_table
from headgate_committer.deciding.earlier_letters import EarlierLetters, as_decided
from headgate_committer.deciding.grouping import Item
from headgate_committer.errors import Misplaced, TableHeld
from headgate_committer.limits import CommitterLimits
from headgate_committer.milvus.milvus_backend import MilvusBackend
from headgate_committer.partition.partition_source import PartitionSource
from headgate_committer.proposals.answers import Answer, Settlement
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_committer.proposals.triage import misplaced, triage
from headgate_committer.table.claim_sweeping import ClaimSweeper
from headgate_committer.table.guards import feed_mismatch, rebind_hint
from headgate_committer.table.table_backend import Draft, DraftSummary, TableBackend
from headgate_committer.table.tail import log_truncated_reason
from headgate_committer.versions.version_log import FirstVersionDraft, VersionLog
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.measures import Measures
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operation_bodies import operation_of
from headgate_schemas.messages.operations import Committed, Operation, Receipt, RejectCode, Rejected
from headgate_schemas.messages.proposals import decode_claimed
from headgate_schemas.metrics import (
    COMMIT_STEP_SECONDS,
    FILES_ADDED,
    FILES_REMOVED,
    GROUP_PROPOSALS,
    VERSIONS_LOST,
    VERSIONS_WRITTEN,
)
from headgate_table.coordination.commit_info import Decision, Settled
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.memory_text import memory_limits
from headgate_table.errors import CommitConflict, ManifestMissing, OutcomeUnknown, TableNotFound
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.commit_times import bounded_time_ms, commit_time_ms
from headgate_table.indextables.write.version_writer import NumberTaken, PredecessorGone
from headgate_table.settings.options import TableOptions

_log = get_logger("headgate.committer")


class TableCommitter:
    """Decides the proposals of one table, in order, and writes versions."""

    def __init__(
        self,
        reader: LogReader,
        feed: PartitionSource,
        ambient: Ambient,
        limits: CommitterLimits,
        identity: str,
        options_for: Callable[[Mapping[str, str]], TableOptions],
        background: Executor,
        measures: Measures,
        check_id: Callable[[str], None],
    ) -> None:
        self._check_id = check_id
        self._versions = VersionLog(reader, ambient, identity, options_for, background)
        self._manifests = MilvusBackend(
            reader.store,
            ambient,
            identity,
            memory_limits(options_for({})),
            lambda: (feed.source, feed.announced),
            background,
        )
        self._log: TableBackend = self._versions
        """Of the kind that was found; where there is no table yet, the first proposal says which it will be."""
        self._letters = EarlierLetters(feed.bus, feed.source, reader.store.uri)
        self._claims = ClaimSweeper(reader.store, ambient, background, feed)
        self._feed = feed
        self._ambient = ambient
        self._limits = limits
        self._measures = measures
        self._options_for = options_for
        self._told: dict[int, Receipt] = {}
        """What versions say of proposals that are yet to be answered here, by offset."""
        self._oldest = 0
        """The offset of the first of them."""
        self._unsure: Draft | None = None
        """A version whose outcome nobody knows."""
        self._commits: list[CommitEvent] = []
        """Versions that came, and are not announced yet."""

    @property
    def uri(self) -> str:
        return self._log.store.uri

    def settle(self, batch: Sequence[QueuedProposal]) -> Settlement:
        """Decide as many of the first proposals as go into one version, and write it.

        A batch that begins with the same is to be given again after an exception. `StoreError` and `OutcomeUnknown`: try
        later. `TableHeld`, `CorruptTable` and `UnsupportedTable`: an operator has to look. `Overtaken`: stop.
        """
        self._oldest = batch[0].offset
        try:
            return self._settle(batch)
        except Misplaced as elsewhere:
            self._log.forget()
            return self._settlement(misplaced(batch, elsewhere.memory, self._feed.source.partition, elsewhere.home))

    def _settle(self, batch: Sequence[QueuedProposal]) -> Settlement:
        if self._unsure is not None:
            settlement = self._ask_again(self._unsure)
            if settlement is not None:
                return settlement
        for _ in range(self._limits.lost_numbers):
            try:
                if self._log.is_loaded and self._log.is_gone():
                    self._log.forget()
                if not self._log.is_loaded:
                    self._load()
                if self._log.before_deciding():
                    self._follow()
                with self._measures.timing(COMMIT_STEP_SECONDS, "decide"):
                    draft = self._decide(batch)
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
                if not self._log.is_loaded:
                    self._letters.told(draft)
                return self._settlement(draft)
            try:
                return self._write(draft)
            except PredecessorGone:
                _log.warning("version_stranded", table=self.uri, version=draft.version)
                self._measures.count(VERSIONS_LOST, "predecessor_gone")
                self._log.forget()
            except NumberTaken:
                self._measures.count(VERSIONS_LOST, "number_taken")
                if self._log.is_loaded:
                    self._follow()
        raise CommitConflict(
            f"other writers took the next version of {self.uri} {self._limits.lost_numbers} times in a row; its proposals are "
            f"tried again after a pause"
        )

    @property
    def newest_state(self) -> StateManifest | None:
        """The newest that is known; None before the first, and where there are none. Threads may ask."""
        return self._log.newest_state

    @property
    def is_behind_with_states(self) -> bool:
        """Whether a state was due while another was under way."""
        return self._log.is_behind

    @property
    def can_catch_up(self) -> bool:
        """Whether nothing has to be waited for before that state is begun."""
        return self._log.can_catch_up

    def catch_up(self) -> Settlement:
        """Begin the state that was due, without a commit that would take it along. Decides nothing."""
        if self._unsure is None:
            self._log.catch_up()
        return Settlement((), ())

    def finish(self) -> None:
        """Wait for a state that is under way."""
        self._log.finish()

    # ---- reading

    def _settlement(self, answers: Sequence[Answer]) -> Settlement:
        commits, self._commits = tuple(self._commits), []
        for answer in answers:
            self._told.pop(answer.offset, None)
        return Settlement(tuple(answers), commits)

    def _unanswered(self, told: Mapping[int, Receipt]) -> dict[int, Receipt]:
        """What of it was answered already, and only has yet to be announced, is not asked for again."""
        return {offset: receipt for offset, receipt in told.items() if offset >= self._oldest}

    def _load(self) -> None:
        self._log.load()
        table_id = self._log.table_id
        if table_id is not None:
            try:
                self._check_id(table_id)
            except TableHeld:
                self._log.forget()
                raise
        self._check_feed()

    def _check_feed(self) -> None:
        """Whether this log may be fed from our bus, and what has to be announced again."""
        feed = self._feed
        try:
            self._check_home(self._log.memory)
            reason = (
                feed_mismatch(self.uri, self._log.memory, feed.source, feed.extent, feed.committed) or self._lost_tail()
            )
            if reason is None:
                earlier = self._log.announced_since(feed.source, feed.announced)
                self._told = self._unanswered(earlier.told)
                self._commits += earlier.commits
        except BaseException:
            # Loaded is what was asked this, too: a log that is loaded is never asked again.
            self._log.forget()
            raise
        if reason is not None:
            self._hold(reason)

    def _check_home(self, memory: TableMemory | None) -> None:
        """Raise `Misplaced` where neither the table is fed from this partition nor its proposals belong here."""
        here = self._feed.source
        if memory is not None and memory.source == here:
            return
        home = self._feed.home_of(self.uri)
        if home != here.partition:
            raise Misplaced(
                f"proposals of {self.uri} belong on partition {home}, not on {here.partition}", memory, home
            )

    def _lost_tail(self) -> str | None:
        """Looked for unless everything that the table has decided was settled, and the log is known to be the one it was: else
        somebody crashed, or something is lost.
        """
        feed = self._feed
        position = self._log.memory.position(feed.source)
        if position is None or (feed.is_known and position <= feed.start):
            return None
        return log_truncated_reason(
            self.uri, feed.bus, feed.source, position, self._log.records(), was_cut=feed.was_cut
        )

    def _hold(self, reason: str) -> NoReturn:
        """Until an operator has looked. What is there by then is read anew."""
        self._log.forget()
        raise TableHeld(f"{reason}. {rebind_hint(self.uri)}")

    def _follow(self) -> bool:
        """Take in what others wrote; what an earlier holder of the partition decided is told to its authors.

        Whether it is still the table that was known; else the one that took its place is loaded.
        """
        earlier = self._log.follow(self._feed.source)
        if not earlier.is_same_table:
            self._log.forget()
            self._load()
            return False
        self._commits += earlier.commits
        self._told |= self._unanswered(earlier.told)
        source = self._log.memory.source
        if source is not None and source != self._feed.source:
            self._hold(f"{self.uri} was bound to {source} meanwhile; this bus is {self._feed.source}")
        return True

    def _is_based_anew(self) -> bool:
        """Whether others wrote a state since that takes the place of the one by which the table was known.

        The log is followed, not read anew: what is remembered goes on to count, and so does what we have written ourselves.
        """
        if not self._log.is_loaded:
            return False
        known = self._log.base
        return not self._follow() or self._log.base != known

    # ---- deciding

    def _decide(self, batch: Sequence[QueuedProposal]) -> Draft | tuple[Answer, ...]:
        items, position = self._sorted(batch)
        if self._log.must_follow(items):
            if not self._follow():
                return self._decide(batch)
            items, position = self._sorted(batch)  # what came meanwhile may have decided some of them
        before = as_decided(self._told_before())
        return self._log.plan(items, lambda answers: self._settled(answers, batch, position), before)

    def _sorted(self, batch: Sequence[QueuedProposal]) -> tuple[list[Item], int]:
        """What is known of each by now, and the offset up to which the table is decided."""
        position = self._log.memory.position(self._feed.source) or 0
        now_ms = bounded_time_ms(self._ambient.now_ms(), self._log.store.clock_ms(), 0)
        before = self._told_before()
        told_before = {
            item.proposal.id: Rejected(earlier.code or RejectCode.INVALID, earlier.reason or "", earlier.id)
            for item in batch
            if (earlier := before.get(item.proposal.id)) is not None
        }
        sorted_out = triage(batch, self._log.memory, position, self._told, self._limits, now_ms, told_before)
        return self._log.opened(sorted_out, self._open), position

    def _told_before(self) -> Mapping[str, Decision]:
        """What was told by id before the table was there; nothing once a version that was fed from a bus has taken it over."""
        if self._log.memory.source is not None:
            self._letters.forget()
            return {}
        return self._letters.refusals()

    def _open(self, undecided: QueuedProposal) -> Operation | UndecidableRecord:
        proposal = undecided.proposal
        if proposal.operation is not None:
            return operation_of(proposal.operation)
        assert proposal.claim is not None, "a proposal has an operation or a claim"
        try:
            return decode_claimed(open_claim(self._log.store, proposal.claim, self._limits.claims))
        except UnreadableMessage as error:
            code, reason = RejectCode.UNREADABLE, str(error)
        except ClaimRefused as error:
            code = RejectCode.OVER_BOUND if error.fault is ClaimFault.OVER_BOUND else RejectCode.UNREADABLE
            reason = str(error)
        return UndecidableRecord(undecided.record, code, reason, proposal.id, proposal.table)

    def _settled(self, answers: Sequence[Answer], batch: Sequence[QueuedProposal], position: int) -> Settled:
        """The offsets that the version settles: a table's proposals are decided in the order of the bus."""
        taken = batch[: len(answers)]
        first = min((item.offset for item in taken if item.offset >= position), default=position)
        accepted = [isinstance(answer.receipt, Committed) for answer in answers]
        made_ms = (item.proposal.created for item, is_in in zip(taken, accepted, strict=True) if is_in)
        return Settled(
            self._feed.source,
            first,
            max(position, taken[-1].offset + 1),
            max(item.record.time_ms for item in taken),
            max(made_ms, default=None),
        )

    def _without_table(self, batch: Sequence[QueuedProposal]) -> Settlement | Draft | tuple[Answer, ...] | None:
        """No log of versions is there, or no manifest any more; None where the log of the other kind is to be looked for."""
        self._log.forget()
        if self._log is not self._versions:
            self._log = self._versions
            return None
        if self._manifests.is_there:
            self._log = self._manifests
            return None
        self._check_home(None)
        begun = begin_table(
            self.uri,
            batch,
            self._open,
            self._feed.source,
            self._versions.table.first_term(),
            self._ambient,
            commit_time_ms(self._log.store, self._ambient),
            self._options_for,
            lambda: as_decided(self._letters.refusals()),
        )
        match begun:
            case Settlement():
                return begun
            case FirstVersion():
                return FirstVersionDraft(self._versions, begun)
            case None:
                return self._first_transaction(batch)
            case _:
                assert_never(begun)

    def _first_transaction(self, batch: Sequence[QueuedProposal]) -> Draft | tuple[Answer, ...]:
        """Upon no manifest at all; where nothing is accepted, there still is no table."""
        self._manifests.begin()
        self._log = self._manifests
        self._check_feed()
        draft = self._decide(batch)
        if isinstance(draft, tuple):
            self._manifests.forget()
            self._log = self._versions
        return draft

    # ---- writing

    def _write(self, draft: Draft) -> Settlement:
        """Hand the version to the store. `OutcomeUnknown`: it is asked about the same version first, next time."""
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
        else:
            self._claims.after_commit(self._log.memory)
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

    def _ask_again(self, draft: Draft) -> Settlement | None:
        """What became of the version whose outcome nobody knew; None when it is not in the log."""
        try:
            return self._write(draft)
        except PredecessorGone:
            self._measures.count(VERSIONS_LOST, "predecessor_gone")
            self._log.forget()
        except NumberTaken:
            self._measures.count(VERSIONS_LOST, "number_taken")
            if self._log.is_loaded:
                self._follow()
        self._unsure = None
        return None
