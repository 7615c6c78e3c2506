"""Settling the proposals of one table: sort out, find out, decide, write one version, remember. A thin shell around pure steps.

One thread at a time works on a table. What becomes of a version file is what the store says, never what was meant.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from headgate_bus.claims import open_claim
from headgate_bus.errors import ClaimFault, ClaimRefused
from headgate_committer.answers import Answer, Settlement
from headgate_committer.claim_sweeping import ClaimSweeper
from headgate_committer.creation import begin_table
from headgate_committer.errors import TableHeld
from headgate_committer.fact_finding import find_facts
from headgate_committer.feed import Feed
from headgate_committer.grouping import Asked, GroupPlan, Item, commits_alone, plan_group, selects
from headgate_committer.guards import refusal, way_on
from headgate_committer.intake import Undecidable, Undecided
from headgate_committer.limits import CommitterLimits
from headgate_committer.sorting import Forgotten, Known, New, sort_out
from headgate_committer.states import StateKeeper
from headgate_committer.table_log import Held, TableLog, commit_event
from headgate_schemas.ambient import Ambient
from headgate_schemas.events import CommitEvent
from headgate_schemas.logs import get_logger
from headgate_schemas.message_shape import UnreadableMessage
from headgate_schemas.operation_bodies import operation_of
from headgate_schemas.operations import (
    CompactState,
    Delete,
    Operation,
    Overwrite,
    Receipt,
    RejectCode,
    Restore,
)
from headgate_schemas.proposals import decode_claimed
from headgate_table.errors import CommitConflict, CorruptTable, OutcomeUnknown, TableNotFound
from headgate_table.indextables.commit_info import CommitRecord, Settled, commit_record
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.names import MAX_VERSION
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.protocol_support import check_writable
from headgate_table.indextables.version_body import Author, Decided, VersionBody, version_body
from headgate_table.indextables.version_writer import NumberTaken, PredecessorGone, write_version
from headgate_table.store.interface import Store

_SELECTIONS = 8
"""Different predicates in one group: what they match is in memory at the same time."""

_log = get_logger("headgate.committer")


@dataclass(frozen=True, slots=True)
class _Written:
    """A version that was handed to the store, and what is true once it stands."""

    body: VersionBody
    answers: tuple[Answer, ...]
    effect_at_once: bool
    decided: tuple[Decided, ...]
    compressed: bool
    creates: bool = False


class TableCommitter:
    """Decides the proposals of one table, in order, and writes versions."""

    def __init__(
        self,
        reader: LogReader,
        feed: Feed,
        ambient: Ambient,
        limits: CommitterLimits,
        identity: str,
        options_for: Callable[[Mapping[str, str]], TableOptions],
        background: Executor,
    ) -> None:
        self._table = TableLog(reader, identity, options_for)
        self._states = StateKeeper(self._table, ambient, background)
        self._claims = ClaimSweeper(reader.store, ambient, background)
        self._feed = feed
        self._ambient = ambient
        self._limits = limits
        self._options_for = options_for
        self._store: Store = reader.store
        self._told: dict[int, Receipt] = {}
        self._unsure: _Written | None = None
        self._commits: list[CommitEvent] = []
        """Versions that came, and are not announced yet."""

    @property
    def uri(self) -> str:
        return self._table.uri

    def settle(self, batch: Sequence[Undecided]) -> Settlement:
        """Decide as many of the first proposals as go into one version, and write it.

        The same batch, or a longer one, is to be given again after an exception. `StoreError` and `OutcomeUnknown`: try
        later. `TableHeld`, `CorruptTable` and `UnsupportedTable`: an operator has to look. `Overtaken`: stop.
        """
        if self._unsure is not None:
            settlement = self._ask_again(self._unsure)
            if settlement is not None:
                return settlement
        for _ in range(self._limits.lost_numbers):
            try:
                held = self._table.held or self._load()
                self._states.before_commit(held)
                if self._table.is_shared_with_states():
                    self._follow()
                written, answers = self._decide(self._table.held or held, batch)
            except TableNotFound:
                self._table.forget()
                found = self._without_table(batch)
                if isinstance(found, Settlement):
                    return found
                written, answers = found, found.answers
            if written is None:
                return self._settlement(answers)
            try:
                return self._write(written)
            except PredecessorGone:
                _log.warning("version_stranded", table=self.uri, version=written.body.version)
                self._forget()
            except NumberTaken:
                if self._table.held is not None:
                    self._follow()
        raise CommitConflict(
            f"other writers took the next version of {self.uri} {self._limits.lost_numbers} times in a row; its proposals are "
            f"tried again after a pause"
        )

    @property
    def is_behind_with_states(self) -> bool:
        """Whether a state was due while another was under way."""
        return self._states.is_behind

    @property
    def can_catch_up(self) -> bool:
        """Whether nothing has to be waited for before that state is begun."""
        return not self._states.is_under_way

    def catch_up(self) -> Settlement:
        """Begin the state that was due, without a commit that would take it along. Decides nothing."""
        held = self._table.held
        if held is not None and self._unsure is None:
            self._states.catch_up(held)
        return Settlement((), ())

    def finish(self) -> None:
        """Wait for a state that is under way."""
        self._states.settle()

    # ---- reading

    def _settlement(self, answers: Sequence[Answer]) -> Settlement:
        commits, self._commits = tuple(self._commits), []
        for answer in answers:
            self._told.pop(answer.offset, None)
        return Settlement(tuple(answers), commits)

    def _load(self) -> Held:
        held = self._table.load()
        feed = self._feed
        reason = refusal(self.uri, held.memory, feed.source, feed.extent, feed.committed)
        if reason is not None:
            self._table.forget()
            raise TableHeld(f"{reason}. {way_on(self.uri)}")
        self._told, earlier = self._table.announced_since(feed.source, feed.announced)
        self._commits += earlier
        return held

    def _held(self) -> Held:
        held = self._table.held
        assert held is not None, "only what was read can be followed"
        return held

    def _follow(self) -> None:
        """Take in what others wrote; what an earlier holder of the partition decided is told to its authors."""
        held = self._held()
        before = held.log.version
        self._commits += self._table.follow()
        if self._table.held is not held:  # another table took the place of the one we knew: nothing of that counts here
            self._forget()
            self._load()
            return
        self._told |= self._table.told_by(range(before + 1, held.log.version + 1), self._feed.source)
        if held.memory.source is not None and held.memory.source != self._feed.source:
            self._forget()
            raise TableHeld(
                f"{self.uri} was bound to {held.memory.source} meanwhile; this bus is {self._feed.source}. {way_on(self.uri)}"
            )

    def _forget(self) -> None:
        self._states.drop()
        self._table.forget()

    # ---- deciding

    def _decide(self, held: Held, batch: Sequence[Undecided]) -> tuple[_Written | None, tuple[Answer, ...]]:
        check_writable(held.log.protocol, self.uri)
        position = held.memory.position(self._feed.source) or 0
        items = self._opened(sort_out(batch, held.memory, position, self._told, self._limits))
        if any(isinstance(item, Asked) and isinstance(item.operation, Restore | CompactState) for item in items):
            # Its own state follows at once, and what is found out for it must be what that state is based on: the newest
            # that is there, whoever wrote it.
            self._states.settle()
            self._follow()
            if self._table.held is not held:
                return self._decide(self._held(), batch)
        version = held.log.version + 1
        # Commit times never go back, whatever the clocks of other writers said: time travel and cleaning rely on it.
        now_ms = max(self._ambient.now_ms(), held.log.time_ms)
        facts = find_facts(self._table.evidence, held, [item for item in items if isinstance(item, Asked)])
        plan = plan_group(items, version, held.metadata, held.memory, facts, now_ms)
        if not plan.decided:
            return None, plan.answers
        if version > MAX_VERSION:
            raise CorruptTable(
                f"{self.uri} has no number left: its log holds version {held.log.version}, which nobody can have reached. "
                f"Look for a stray file or folder with that number in _transaction_log, and move it away"
            )
        body = version_body(
            version,
            plan.decided,
            held.metadata,
            held.log.registry,
            held.options,
            nonce=self._ambient.new_id(),
            time_ms=now_ms,
            author=Author(held.term, self._settled(plan, batch, position)),
        )
        effects = [decided.effect for decided in plan.decided]
        at_once = (
            any(effect.re_adds or effect.swap is not None for effect in effects)
            or held.log.newest_version_file < held.log.version  # only states tell of the newest version
        )
        written = _Written(body, plan.answers, at_once, plan.decided, held.options.transaction_compression)
        return written, plan.answers

    def _opened(self, sorted_out: Sequence[Known | Forgotten | New]) -> list[Item]:
        """The operations of what is new, as far as one group can have use for what would be found out about them.

        A proposal that commits alone ends the list, or begins it; one that has read the table begins it; and only so many
        select files by a predicate, for each of which the table is searched.
        """
        items: list[Item] = []
        selections: set[str | None] = set()
        for entry in sorted_out:
            if isinstance(entry, Known):
                items.append(entry)
                continue
            if isinstance(entry, Forgotten):
                items.append(entry.aside)
                continue
            opened = self._open(entry.undecided)
            if isinstance(opened, Undecidable):
                items.append(opened)
                continue
            alone = commits_alone(opened)
            begins = alone or entry.undecided.proposal.read_set is not None
            if begins and any(isinstance(item, Asked) for item in items):
                break
            if isinstance(opened, Overwrite | Delete) and selects(opened):
                selections.add(opened.where)
                if len(selections) > _SELECTIONS:
                    break
            items.append(Asked(entry.undecided, opened))
            if alone:
                break
        return items

    def _open(self, undecided: Undecided) -> Operation | Undecidable:
        proposal = undecided.proposal
        if proposal.operation is not None:
            return operation_of(proposal.operation)
        assert proposal.claim is not None, "a proposal has an operation or a claim"
        try:
            return decode_claimed(open_claim(self._store, proposal.claim, self._limits.claims))
        except UnreadableMessage as error:
            code, reason = RejectCode.UNREADABLE, str(error)
        except ClaimRefused as error:
            code = RejectCode.OVER_BOUND if error.fault is ClaimFault.OVER_BOUND else RejectCode.UNREADABLE
            reason = str(error)
        return Undecidable(undecided.record, code, reason, proposal.id, proposal.table)

    def _settled(self, plan: GroupPlan, batch: Sequence[Undecided], position: int) -> Settled:
        """The offsets that the version settles: a table's proposals are decided in the order of the bus."""
        taken = batch[: len(plan.answers)]
        first = min((item.offset for item in taken if item.offset >= position), default=position)
        return Settled(
            self._feed.source,
            first,
            max(position, taken[-1].offset + 1),
            max(item.record.time_ms for item in taken),
        )

    def _without_table(self, batch: Sequence[Undecided]) -> "Settlement | _Written":
        """There is no table yet: only a create can be decided."""
        begun = begin_table(
            self.uri,
            batch,
            self._open,
            self._feed.source,
            self._table.first_term(),
            self._ambient,
            self._options_for,
        )
        if isinstance(begun, Settlement):
            return begun
        return _Written(begun.body, (begun.answer,), False, (begun.decided,), begun.compressed, creates=True)

    # ---- writing

    def _write(self, written: _Written) -> Settlement:
        """Hand the version to the store. `OutcomeUnknown`: it is asked about the same body first, next time."""
        try:
            size = write_version(self._store, written.body, compressed=written.compressed)
        except OutcomeUnknown:
            self._unsure = written
            raise
        self._unsure = None
        body = written.body
        record = commit_record(body.actions) or CommitRecord()
        if written.creates:
            self._table.reader.resources.invalidate(self.uri)  # of a table that was here before
            self._table.created()
            self._load()
            self._told, self._commits = {}, []  # of this version only, which is announced below
        else:
            held = self._table.applied(body, size, record)
            swap = next((item.effect.swap for item in written.decided if item.effect.swap is not None), None)
            self._claims.after_commit(held.memory)
            self._states.after_commit(held, at_once=written.effect_at_once, swap=swap)
        _log.info(
            "version_committed",
            table=self.uri,
            version=body.version,
            operation=body.summary.operation,
            proposals=len(body.proposals),
            rejected=sum(not item.decision.accepted for item in written.decided),
            added=body.summary.added,
            removed=body.summary.removed,
            offset=written.answers[-1].offset,
        )
        self._commits.append(commit_event(self.uri, body.version, body.actions, record))
        return self._settlement(written.answers)

    def _ask_again(self, written: _Written) -> Settlement | None:
        """What became of the version whose outcome nobody knew; None when it is not in the log."""
        try:
            return self._write(written)
        except PredecessorGone:
            self._forget()
        except NumberTaken:
            if self._table.held is not None:
                self._follow()
        self._unsure = None
        return None
