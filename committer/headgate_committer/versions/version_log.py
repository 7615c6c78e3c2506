"""The log of versions and states (IndexTables) as a committer decides upon it and extends it.

What is known of it is `table_log`'s, states are `states`', what a group of proposals does is `deciding.grouping`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from headgate_committer.deciding.creation import FirstVersion
from headgate_committer.deciding.fact_finding import find_facts
from headgate_committer.deciding.grouping import GroupPlan, Item, OpenedProposal, commits_alone, plan_group, selects
from headgate_committer.errors import TableHeld
from headgate_committer.proposals.answers import Answer
from headgate_committer.proposals.intake import UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_committer.table.table_backend import DraftSummary, Earlier, OpenOperation, SettledBy
from headgate_committer.versions.states import StateKeeper
from headgate_committer.versions.table_log import Held, TableLog, commit_event, records_from
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import CompactState, Delete, Overwrite, RejectCode, Restore
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, commit_record
from headgate_table.coordination.memory import TableMemory
from headgate_table.errors import CorruptTable, TableNotFound
from headgate_table.indextables.format.names import MAX_VERSION, version_key
from headgate_table.indextables.format.protocol_support import check_writable
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.log.predecessor import Predecessor, looks_like
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.rules.decide import Refusal
from headgate_table.indextables.write.commit_times import commit_time_ms
from headgate_table.indextables.write.version_body import Author, Decided, VersionBody, version_body
from headgate_table.indextables.write.version_writer import write_version
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store

SURE_S = 1.0
"""For so long after the newest version was seen or written, nobody looks whether it is still there. So a table that is busy pays
no request for it, and any other pays one a commit."""
_SELECTIONS = 8
"""Different predicates in one group: what they match is in memory at the same time."""

_log = get_logger("headgate.committer")


class VersionLog:
    """A table's log of versions, held in memory, and its states."""

    def __init__(
        self,
        reader: LogReader,
        ambient: Ambient,
        identity: str,
        options_for: Callable[[Mapping[str, str]], TableOptions],
        background: Executor,
    ) -> None:
        self.table = TableLog(reader, identity, options_for)
        self.states = StateKeeper(self.table, ambient, background)
        self._ambient = ambient
        self._reached: tuple[str, int] | None = None
        """The id of the table and its newest version, as they were known last."""
        self._sure_s = 0.0
        """When the newest known version was surely there."""

    @property
    def store(self) -> Store:
        return self.table.reader.store

    @property
    def is_loaded(self) -> bool:
        return self.table.held is not None

    @property
    def table_id(self) -> str | None:
        return self._held().metadata.id

    @property
    def memory(self) -> TableMemory:
        return self._held().memory

    @property
    def base(self) -> int:
        return self._held().log.plan.base.version

    @property
    def newest_state(self) -> StateManifest | None:
        held = self.table.held
        return None if held is None else held.log.state

    def load(self) -> None:
        try:
            held = self.table.load()
        except TableNotFound:
            self._check_was_never_there()
            raise
        self._check_not_set_back(held)
        self.is_sure()

    def forget(self) -> None:
        self.states.drop()
        held = self.table.held
        if held is not None:
            self._reached = held.metadata.id, held.log.version
        self.table.forget()

    def announced_since(self, source: Source, committed: int) -> Earlier:
        return Earlier(*self.table.announced_since(source, committed))

    def records(self) -> Iterator[CommitRecord | None]:
        return records_from(self.table.reader, self._held().log.version)

    def follow(self, source: Source) -> Earlier:
        held, base = self._held(), self.base
        self._reached = held.metadata.id, held.log.version
        versions = self.table.follow()
        self._check_not_set_back(self._held())
        if self.table.held is not held:
            return Earlier({}, [], is_same_table=False)
        if self.base != base:
            self.states.let_go()
        told = {offset: receipt for version in versions for offset, receipt in version.receipts(source).items()}
        return Earlier(told, [version.event for version in versions])

    def is_gone(self) -> bool:
        held = self._held()
        if self._ambient.monotonic_s() < self._sure_s + SURE_S or held.log.newest_version_file < held.log.version:
            return False
        seen = self.store.head(version_key(held.log.version))
        known = self.table.reader.predecessor(held.log)
        if seen is None or (known is not None and known.info.etag and not looks_like(known, seen)):
            _log.warning("newest_version_gone", table=self.table.uri, version=held.log.version)
            return True
        self.is_sure()
        return False

    def is_sure(self) -> None:
        """The newest known version is there now."""
        self._sure_s = self._ambient.monotonic_s()

    def before_deciding(self) -> bool:
        held = self._held()
        check_writable(held.log.protocol, self.table.uri)
        self.states.before_commit(held)
        return self.table.is_shared_with_states()

    def opened(
        self, sorted_out: Sequence[AlreadyDecided | BeyondMemory | Fresh], open_operation: OpenOperation
    ) -> list[Item]:
        """A proposal that commits alone ends the list, or begins it; one that has read the table begins it; and only so
        many select files by a predicate, for each of which the table is searched.
        """
        items: list[Item] = []
        selections: set[str | None] = set()
        for entry in sorted_out:
            if isinstance(entry, AlreadyDecided):
                items.append(entry)
                continue
            if isinstance(entry, BeyondMemory):
                items.append(entry.aside)
                continue
            opened = open_operation(entry.undecided)
            if isinstance(opened, UndecidableRecord):
                items.append(opened)
                continue
            alone = commits_alone(opened)
            begins = alone or entry.undecided.proposal.read_set is not None
            if begins and any(isinstance(item, OpenedProposal) for item in items):
                break
            if isinstance(opened, Overwrite | Delete) and selects(opened):
                selections.add(opened.where)
                if len(selections) > _SELECTIONS:
                    break
            items.append(OpenedProposal(entry.undecided, opened))
            if alone:
                break
        return items

    def must_follow(self, items: Sequence[Item]) -> bool:
        """A swap or a restore has its own state follow at once, and what is found out for it must be what that state is
        based on: the newest that is there.
        """
        if not any(
            isinstance(item, OpenedProposal) and isinstance(item.operation, Restore | CompactState) for item in items
        ):
            return False
        self.states.settle()
        return True

    def plan(
        self, items: Sequence[Item], settled_by: SettledBy, earlier: Sequence[Decided] = ()
    ) -> "_VersionDraft | tuple[Answer, ...]":
        held = self._held()
        version = held.log.version + 1
        now_ms = commit_time_ms(self.store, self._ambient, held.log.time_ms or held.memory.newest_ms)
        facts = find_facts(self.table.evidence, held, [item for item in items if isinstance(item, OpenedProposal)])
        while True:
            plan = plan_group(items, version, held.metadata, held.memory, facts, now_ms)
            if not plan.decided:
                return plan.answers
            if version > MAX_VERSION:
                raise CorruptTable(
                    f"{self.table.uri} has no number left: its log holds version {held.log.version}, which nobody can have "
                    f"reached. Look for a stray file or folder with that number in _transaction_log, and move it away"
                )
            try:
                return self._draft(held, version, plan, settled_by, now_ms, earlier)
            except InvalidInput as error:
                # One of them asks for what can't be written, such as a line over the bound: fewer are tried until it shows which.
                if len(plan.decided) > 1:
                    items = items[: len(plan.answers) // 2]
                    continue
                (decision,) = (item.decision for item in plan.decided)
                if decision.offset is None or not decision.accepted:
                    raise
                refused = {**facts.refused, decision.offset: Refusal(RejectCode.INVALID, str(error))}
                facts = replace(facts, refused=refused)

    def _draft(
        self,
        held: Held,
        version: int,
        plan: GroupPlan,
        settled_by: SettledBy,
        now_ms: int,
        earlier: Sequence[Decided],
    ) -> "_VersionDraft":
        before = self.table.reader.predecessor(held.log)
        decided = (*earlier, *plan.decided)
        body = version_body(
            version,
            decided,
            held.metadata,
            held.log.registry,
            held.options,
            nonce=self._ambient.new_id(),
            time_ms=now_ms,
            author=Author(held.term, settled_by(plan.answers)),
            before=before,
        )
        effects = [each.effect for each in plan.decided]
        after_file = held.log.newest_version_file >= held.log.version
        at_once = (
            any(effect.re_adds or effect.swap is not None for effect in effects)
            or not after_file  # only states tell of the newest version
        )
        data = encode_version(body.version, body.actions, compressed=held.options.transaction_compression)
        return _VersionDraft(self, body, data, plan.answers, decided, after_file, before, at_once)

    @property
    def is_behind(self) -> bool:
        return self.states.is_behind

    @property
    def can_catch_up(self) -> bool:
        return not self.states.is_under_way

    def catch_up(self) -> None:
        if self.table.held is not None:
            self.states.catch_up(self.table.held)

    def finish(self) -> None:
        self.states.settle()

    def _check_was_never_there(self) -> None:
        """Raise `TableHeld` where this committer knew the table: its disk may be away, and nobody is told that there is no table."""
        if self._reached is not None:
            raise TableHeld(
                f"nothing of {self.table.uri} is found any more, where version {self._reached[1]} was: is its disk mounted? Proposals "
                f"wait until the table is there again. If it was deleted on purpose, make it anew, or start the committer again"
            )

    def _check_not_set_back(self, held: Held) -> None:
        """Raise `TableHeld` where the log ends before a version that was there: decided anew upon it, others would be told a
        number twice.
        """
        if self._reached is None or self._reached[0] != held.metadata.id or held.log.version >= self._reached[1]:
            return
        newest, known = held.log.version, self._reached[1]
        self.table.forget()
        raise TableHeld(
            f"version {known} of {self.table.uri} is gone, and the newest that is left is {newest}: an older copy of the table took "
            f"its place, or its end was lost. Nothing is written meanwhile. If the copy is to count, start the committer again "
            f"once all of it is there; what was committed since has to be proposed again. Else put versions {newest + 1} to {known} back"
        )

    def _held(self) -> Held:
        held = self.table.held
        assert held is not None, "only what was read can be decided upon"
        return held


@dataclass(frozen=True, slots=True)
class _VersionDraft:
    log: VersionLog
    body: VersionBody
    data: bytes
    answers: tuple[Answer, ...]
    decided: tuple[Decided, ...]
    after_file: bool
    before: Predecessor | None
    effect_at_once: bool

    @property
    def version(self) -> int:
        return self.body.version

    @property
    def begins(self) -> bool:
        return False

    @property
    def summary(self) -> DraftSummary:
        return _summary(self.body, self.decided)

    def write(self) -> CommitEvent:
        log = self.log
        reader = log.table.reader
        seen_etag = write_version(reader, self.body, self.data, after_file=self.after_file, before=self.before)
        record = commit_record(self.body.actions) or CommitRecord()
        held = log.table.applied(self.body, len(self.data), seen_etag, record)
        swap = next((item.effect.swap for item in self.decided if item.effect.swap is not None), None)
        log.is_sure()
        log.states.after_commit(held, at_once=self.effect_at_once, swap=swap)
        return commit_event(log.table.uri, self.body.version, self.body.actions, record)


@dataclass(frozen=True, slots=True)
class FirstVersionDraft:
    """Version 0, by which a create makes the table."""

    log: VersionLog
    first: FirstVersion

    @property
    def version(self) -> int:
        return self.first.body.version

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (self.first.answer,)

    @property
    def begins(self) -> bool:
        return True

    @property
    def summary(self) -> DraftSummary:
        return _summary(self.first.body, (self.first.decided,))

    def write(self) -> CommitEvent:
        table, body = self.log.table, self.first.body
        write_version(table.reader, body, self.first.data, after_file=False)
        table.reader.resources.invalidate(table.uri)  # of a table that was here before
        table.created()
        return commit_event(table.uri, body.version, body.actions, commit_record(body.actions) or CommitRecord())


def _summary(body: VersionBody, decided: Sequence[Decided]) -> DraftSummary:
    return DraftSummary(
        operation=body.summary.operation,
        proposals=len(body.proposals),
        rejected=sum(not item.decision.accepted for item in decided),
        added=body.summary.added,
        removed=body.summary.removed,
    )
