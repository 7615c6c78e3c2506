"""A log of versions as its committer holds it in memory: the newest version, and what the table remembers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headgate_committer.backend.commit_events import event_of, receipts_of
from headgate_committer.backend.interface import Earlier
from headgate_committer.backend.own_term import OwnTerm
from headgate_committer.versions.known_versions import OwnVersions, ReachedVersion
from headgate_schemas.actions.actions import Action, AddFile, RemoveFile
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Receipt
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, commit_record
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.log.overtaken import check_agrees, may_be_by_states_alone
from headgate_table.indextables.log.predecessor import is_known
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.stale_versions import late_up_to
from headgate_table.indextables.recovery.memory_reader import advance, recover
from headgate_table.indextables.write.version_body import VersionBody
from headgate_table.settings.options import TableOptions

_log = get_logger("headgate.committer")

SURE_S = 1.0
"""For so long after the newest version was seen or written, nobody looks whether it is still there. So a table that is busy pays
no request for it, and any other pays one a commit."""
_BATCH = 32
MAX_TOLD = 1_000_000
"""Earlier decisions that are read from their versions to be announced again. Older ones are answered from memory."""


@dataclass(frozen=True, slots=True)
class ToldVersion:
    """The commit record and event of a version, from its file."""

    number: int
    record: CommitRecord
    event: CommitEvent

    def receipts(self, source: Source) -> dict[int, Receipt]:
        """Receipts of proposals of the source, by offset."""
        settled = self.record.settled
        return receipts_of(self.number, self.record) if settled is not None and settled.source == source else {}


class TableLog:
    """Loads, follows and extends one table's log in memory. Used by one thread at a time."""

    def __init__(
        self,
        reader: LogReader,
        options_for: Callable[[Mapping[str, str]], TableOptions],
        own_term: OwnTerm,
        reached: ReachedVersion,
        ambient: Ambient,
    ) -> None:
        """Reads the log as it is now. Raises `TableNotFound`, `Overtaken`, and `TableHeld` where it ends before what was known."""
        self.reader = reader
        self._options_for = options_for
        self._own_term = own_term
        self._reached = reached
        self._ambient = ambient
        self._own = OwnVersions()
        log = reader.latest()
        self.metadata = reader.metadata(log)
        self.options = options_for(self.metadata.configuration)
        self.memory = recover(reader, log, self.options)
        self.term = own_term.upon(self.memory.term)
        reached.move(self.metadata.id, log.version)
        self.log = replace(log, delta=log.delta.copy())
        """Replaced, never changed, except for its delta, which grows with `applied`."""
        self._sure_s = ambient.monotonic_s()
        """When the newest known version was surely there."""
        _log.info("table_loaded", table=self.uri, version=log.version, epoch=self.term.epoch, files=_files(log))

    @property
    def uri(self) -> str:
        return self.reader.store.uri

    def is_gone(self) -> bool:
        """Whether the newest known version is not there any more. Looked for only where it wasn't seen a moment ago."""
        if self._ambient.monotonic_s() < self._sure_s + SURE_S or self.log.newest_version_file < self.log.version:
            return False
        seen = self.reader.store.head(version_key(self.log.version))
        known = self.log.tip
        if seen is None or (known is not None and not is_known(self.reader.store, known, seen)):
            _log.warning("newest_version_gone", table=self.uri, version=self.log.version)
            if seen is not None:
                self.reader.forget()
            return True
        self._sure_s = self._ambient.monotonic_s()
        return False

    def applied(self, body: VersionBody, size: int, seen_etag: str, record: CommitRecord) -> None:
        """Our own version is in the log; `record` is what it says of itself."""
        tip = self.reader.remember_actions(body.version, body.actions, size, seen_etag)
        self._own.add(body.version, body.actions)
        self._own_term.write(self.term)
        self.log.delta.apply(body.version, body.actions)
        self._move(self.reader.extended(self.log, body.version, self.log.delta, tip))
        self.memory.apply(body.version, body.actions, record)
        self._sure_s = self._ambient.monotonic_s()

    def follow(self, source: Source) -> Earlier | None:
        """Apply versions that others have written; None if another table, or another copy of this one, has replaced it.

        Raises `Overtaken` when one of them has a later term.
        """
        before = self.log.version
        log = self.reader.advance(self.log)
        if log.history != self.log.history:
            return None
        if log.version == before and log.plan.base == self.log.plan.base:
            self.log = log
            return Earlier({}, [])
        self._check_base(log)
        if self.reader.metadata(log).id != self.metadata.id:
            return None
        # Read before anything moves. After a failed read, the next look begins at the same version.
        versions = self._told(range(self._believed_from(before, log), log.version + 1))
        advance(self.memory, self.reader, log)
        self._own_term.check(self.memory.term, self.term)
        self._move(replace(log, delta=log.delta.copy()))
        told = {offset: receipt for version in versions for offset, receipt in version.receipts(source).items()}
        return Earlier(told, [version.event for version in versions])

    def _believed_from(self, before: int, log: LoadedLog) -> int:
        """The first version after `before` whose file counts. The log may have been cleaned beyond `before`."""
        if log.plan.base.version <= before:
            return before + 1
        return max(before, late_up_to(self.reader, self.reader.full_listing(), log)) + 1

    def _check_base(self, log: LoadedLog) -> None:
        """Raise `CorruptTable` where another writer's state contradicts versions that we have written."""
        known, state = self.log, log.state
        if state is None or not known.plan.base.version < state.version <= known.version:
            return
        ours, is_there = Delta(), False
        for version in range(known.plan.base.version + 1, state.version + 1):
            own, there = self._own.get(version), self.reader.actions_or_none(version)
            if own is not None and there is not None:
                if _nonce(own) != _nonce(there):
                    return  # it is another table's
                is_there = True
            actions = own or there
            if actions is None:
                ours = Delta()  # earlier actions count for nothing without this version
            else:
                ours.apply(version, actions)
        if is_there or self.reader.metadata(log).id == self.metadata.id:
            check_agrees(self.reader.store, self.reader.resources, state, ours.added.keys(), ours.removed.keys())

    def is_shared_with_states(self) -> bool:
        """Whether other programs may number versions by states alone. A number is free then only if it has no state either."""
        return self.log.state is not None and may_be_by_states_alone(self.log.state)

    def rebase(self, base: LoadedLog) -> None:
        """Base the log on a newer state or checkpoint. Versions after it are applied to it."""
        newest = self.log.version
        if not self.log.plan.base.version < base.version <= newest:
            return
        delta = base.delta.copy()
        for version in range(base.version + 1, newest + 1):
            delta.apply(version, self._own.get(version) or self.reader.actions(version))
        self._move(self.reader.extended(base, newest, delta, self.log.tip) if newest > base.version else base)

    def announced_since(self, source: Source, committed: int) -> Earlier:
        """Decisions and events of versions that settled offsets from `committed` on. They may have to be announced again.

        Offsets are settled in order. A version that breaks the order was written late, into a number that had been cleaned. It
        counts for nothing, and earlier versions were cleaned as well.
        """
        position = self.memory.position(source)
        told: dict[int, Receipt] = {}
        commits: list[CommitEvent] = []
        if position is None or position <= committed:
            return Earlier(told, commits)
        last, settled_from = self.log.version, position
        while last >= 0 and len(told) < MAX_TOLD:
            first = max(0, last - _BATCH + 1)
            found = self._told(range(first, last + 1))
            for version in reversed(found):
                settled = version.record.settled
                if settled is not None and settled.source == source:
                    if settled.next_offset <= committed or settled.next_offset > settled_from:
                        return Earlier(told, commits[::-1])
                    settled_from = settled.first
                    commits.append(version.event)
                told |= version.receipts(source)
            if len(found) < last - first + 1:
                break  # earlier versions were cleaned up
            last = first - 1
        return Earlier(told, commits[::-1])

    def _told(self, versions: Sequence[int]) -> list[ToldVersion]:
        """These versions with their records. Only those after the newest one without a file count."""
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
        if log.plan.base != self.log.plan.base:
            self._own.base_on(log.plan.base.version)
        self.log = log
        self.metadata = self.reader.metadata(log)
        self.options = self._options_for(self.metadata.configuration)
        self._reached.move(self.metadata.id, log.version)


def records_from(reader: LogReader, newest: int) -> Iterator[CommitRecord | None]:
    """The commit records of versions, from the newest back to the first without a file; None for foreign versions."""
    for version in range(newest, -1, -1):
        actions = reader.actions_or_none(version)
        if actions is None:
            return
        yield commit_record(actions)


def commit_event(uri: str, version: int, actions: Sequence[Action], record: CommitRecord) -> CommitEvent:
    """The event of a version, from its actions."""
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
