"""One table as its committer holds it in memory: the newest version, what is remembered, and whose turn it is.

Follows the log when others write to it; deciding and writing are `table.table_committer`'s.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headgate_committer.table.commit_events import event_of, receipts_of
from headgate_committer.table.guards import check_term
from headgate_committer.versions.own_versions import OwnVersions
from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Receipt
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, Term, commit_record
from headgate_table.coordination.memory import TableMemory
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.log.overtaken import check_agrees, may_be_by_states_alone
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.stale_versions import late_up_to
from headgate_table.indextables.recovery.memory_reader import advance, recover
from headgate_table.indextables.rules.evidence import EvidenceReader
from headgate_table.indextables.write.version_body import VersionBody
from headgate_table.settings.options import TableOptions

_log = get_logger("headgate.committer")

_BATCH = 32
MAX_TOLD = 1_000_000
"""Earlier decisions that are announced again with what their versions say; those beyond, from what is remembered."""


@dataclass(frozen=True, slots=True)
class ToldVersion:
    """What the file of a version says of it."""

    number: int
    record: CommitRecord
    event: CommitEvent

    def receipts(self, source: Source) -> dict[int, Receipt]:
        """Of proposals of the source, by offset."""
        settled = self.record.settled
        return receipts_of(self.number, self.record) if settled is not None and settled.source == source else {}


@dataclass(slots=True)
class Held:
    """What is known of the table. `log` is replaced, never changed, except for its delta, which grows with `applied`."""

    log: LoadedLog
    memory: TableMemory
    metadata: Metadata
    options: TableOptions
    term: Term


class TableLog:
    """Loads, follows and extends one table's log in memory. Used by one thread at a time."""

    def __init__(
        self, reader: LogReader, identity: str, options_for: Callable[[Mapping[str, str]], TableOptions]
    ) -> None:
        self.reader = reader
        self.evidence = EvidenceReader(reader)
        self._identity = identity
        self._options_for = options_for
        self._held: Held | None = None
        self._claimed: Term | None = None
        self._own = OwnVersions()

    @property
    def uri(self) -> str:
        return self.reader.store.uri

    @property
    def held(self) -> Held | None:
        return self._held

    def load(self) -> Held:
        """Read the log as it is now. Raises `TableNotFound`, and `Overtaken` when a later term has begun."""
        log = self.reader.latest()
        metadata = self.reader.metadata(log)
        options = self._options_for(metadata.configuration)
        memory = recover(self.reader, log, options)
        self._check_term(memory)
        epoch = 1 if memory.term is None else memory.term.epoch + 1
        term = self._claimed or Term(epoch, self._identity)
        self._own.clear()
        self._held = Held(replace(log, delta=log.delta.copy()), memory, metadata, options, term)
        _log.info("table_loaded", table=self.uri, version=log.version, epoch=term.epoch, files=_files(log))
        return self._held

    def forget(self) -> None:
        """What is there now is not what was read."""
        self._held = None

    def first_term(self) -> Term:
        """The term of a table that is yet to be created."""
        return Term(1, self._identity)

    def created(self) -> None:
        """Version 0 is ours, and with it the first term."""
        self._claimed = self.first_term()

    def applied(self, body: VersionBody, size: int, seen_etag: str, record: CommitRecord) -> Held:
        """Our own version is in the log; `record` is what it says of itself."""
        held = self._known()
        self.reader.remember_actions(body.version, body.actions, size, seen_etag)
        self._own.add(body.version, body.actions)
        self._claimed = held.term
        held.log.delta.apply(body.version, body.actions)
        self._move(self.reader.extended(held.log, body.version, held.log.delta))
        held.memory.apply(body.version, body.actions, record)
        return held

    def follow(self) -> list[ToldVersion]:
        """Take in what others have written since, and what it says. Raises `Overtaken` when one of them has a later term."""
        held = self._known()
        before = held.log.version
        log = self.reader.advance(held.log)
        if log.version == before and log.plan.base == held.log.plan.base:
            held.log = log
            return []
        self._check_base(log)
        if self.reader.metadata(log).id != held.metadata.id:
            self.load()  # another table took the place of the one we knew
            return []
        # Before anything moves: where it can't be read now, the next look begins at the same version.
        told = self._told(range(self._believed_from(before, log), log.version + 1))
        advance(held.memory, self.reader, log)
        self._check_term(held.memory)
        self._move(replace(log, delta=log.delta.copy()))
        return told

    def _believed_from(self, before: int, log: LoadedLog) -> int:
        """The first version after `before` whose file can be believed: the log may have been cleaned past that one."""
        if log.plan.base.version <= before:
            return before + 1
        return max(before, late_up_to(self.reader, self.reader.full_listing(), log)) + 1

    def _check_base(self, log: LoadedLog) -> None:
        """Raise `CorruptTable` where a state that came below our newest version says otherwise than what we have written."""
        held = self._known()
        state = log.state
        if state is None or not held.log.plan.base.version < state.version <= held.log.version:
            return
        ours, is_there = Delta(), False
        for version in range(held.log.plan.base.version + 1, state.version + 1):
            own, there = self._own.get(version), self.reader.actions_or_none(version)
            if own is not None and there is not None:
                if _nonce(own) != _nonce(there):
                    return  # it is another table's
                is_there = True
            actions = own or there
            if actions is None:
                ours = Delta()  # nobody can say what of all before it stood
            else:
                ours.apply(version, actions)
        if is_there or self.reader.metadata(log).id == held.metadata.id:
            check_agrees(self.reader.store, self.reader.resources, state, ours.added.keys(), ours.removed.keys())

    def is_shared_with_states(self) -> bool:
        """Whether somebody may number versions by states alone: then a number is free only if it has no state either."""
        held = self._known()
        return held.log.state is not None and may_be_by_states_alone(held.log.state)

    def rebase(self, base: LoadedLog) -> None:
        """A state or checkpoint of an earlier version was written, newer than the one before: what came after stays on top."""
        held = self._known()
        if not held.log.plan.base.version < base.version <= held.log.version:
            return
        delta = base.delta.copy()
        for version in range(base.version + 1, held.log.version + 1):
            delta.apply(version, self._own.get(version) or self.reader.actions(version))
        self._move(self.reader.extended(base, held.log.version, delta) if held.log.version > base.version else base)

    def announced_since(self, source: Source, committed: int) -> tuple[dict[int, Receipt], list[CommitEvent]]:
        """What versions that settled offsets from `committed` on say, by offset; they may have to be announced again.

        Offsets are settled in order. So what settles any that a later version settles, or none has, was written too late, into
        a number that was cleaned: it counts for nothing, and whatever lies below it was cleaned as well.
        """
        held = self._known()
        position = held.memory.position(source)
        told: dict[int, Receipt] = {}
        commits: list[CommitEvent] = []
        if position is None or position <= committed:
            return told, commits
        last, settled_from = held.log.version, position
        while last >= 0 and len(told) < MAX_TOLD:
            first = max(0, last - _BATCH + 1)
            found = self._told(range(first, last + 1))
            for version in reversed(found):
                settled = version.record.settled
                if settled is not None and settled.source == source:
                    if settled.next_offset <= committed or settled.next_offset > settled_from:
                        return told, commits[::-1]
                    settled_from = settled.first
                    commits.append(version.event)
                told |= version.receipts(source)
            if len(found) < last - first + 1:
                break  # earlier versions were cleaned up
            last = first - 1
        return told, commits[::-1]

    def _told(self, versions: Sequence[int]) -> list[ToldVersion]:
        """What these versions say of themselves, as far as they have a file; from the newest hole on."""
        found: list[ToldVersion] = []
        for version, actions in zip(
            versions, self.reader.resources.each(self.reader.actions_or_none, versions), strict=True
        ):
            if actions is None:
                found = []
                continue
            record = commit_record(actions) or CommitRecord()
            found.append(ToldVersion(version, record, commit_event(self.uri, version, actions, record)))
        return found

    def _move(self, log: LoadedLog) -> None:
        held = self._known()
        if log.plan.base != held.log.plan.base:
            self._own.base_on(log.plan.base.version)
        held.log = log
        held.metadata = self.reader.metadata(log)
        held.options = self._options_for(held.metadata.configuration)

    def _known(self) -> Held:
        assert self._held is not None, "the table has to be loaded first"
        return self._held

    def _check_term(self, memory: TableMemory) -> None:
        check_term(self.uri, memory.term, self._claimed or (None if self._held is None else self._held.term))


def records_from(reader: LogReader, newest: int) -> Iterator[CommitRecord | None]:
    """What versions say of themselves, from the newest on back to the first that has no file; None of foreign ones."""
    for version in range(newest, -1, -1):
        actions = reader.actions_or_none(version)
        if actions is None:
            return
        yield commit_record(actions)


def commit_event(uri: str, version: int, actions: Sequence[Action], record: CommitRecord) -> CommitEvent:
    """How a version is announced, by its file."""
    adds = [action for action in actions if isinstance(action, AddFile)]
    removes = [action for action in actions if isinstance(action, RemoveFile)]
    return event_of(
        uri,
        version,
        record,
        added=len(adds),
        removed=len(removes),
        added_bytes=sum(add.size for add in adds),
        removed_bytes=sum(remove.size or 0 for remove in removes),
    )


def _files(log: LoadedLog) -> int:
    return (0 if log.state is None else log.state.num_files) + len(log.delta.added) - len(log.delta.removed)


def _nonce(actions: Sequence[Action]) -> str:
    record = commit_record(actions)
    return "" if record is None else record.nonce
