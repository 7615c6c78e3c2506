"""What a table remembers beyond its live files: decisions, writers, positions, removed and purged paths.

Pure: a function of the versions that were applied, in order, so that every process remembers the same. How it is kept in
states is `memory_text`'s, how it is recovered from a log `memory_reader`'s.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace

from headgate_schemas.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_schemas.sources import Source
from headgate_table.indextables.commit_info import CommitRecord, Decision, Settled, Term, commit_record

HASH_BYTES = 12
RECENT_SEQS = 8
"""Of each app, so many of its last commits are known by their version."""
MAX_REMOVED = 200_000
"""Removed paths that are remembered; older ones only in the tombstones of states."""
_REMOVED_KEPT = MAX_REMOVED * 3 // 4
"""What stays when there are more: so that the oldest are looked for once in a while, not at every commit."""
MAX_PURGED = 200_000
"""Purged paths that are remembered at a time. They are needed for the whole window, so beyond it no purge is accepted."""
MAX_SOURCES = 16
"""Sources whose positions are remembered. Rebinding a table leaves one."""


@dataclass(frozen=True, slots=True)
class MemoryLimits:
    window_ms: int = 7 * 24 * 3_600_000
    """How long a decision is known by its id."""
    max_ids: int = 200_000
    """Decisions known by their id. A rejection counts for more, by the length of its reason."""
    max_apps: int = 1_000


@dataclass(frozen=True, slots=True)
class IdsOfVersion:
    """Ids that one version settled, as hashes, and when the bus took the newest of them."""

    version: int
    appended_ms: int
    """Of a direct commit its own time."""
    accepted: tuple[bytes, ...] = ()
    rejected: tuple[tuple[bytes, RejectCode, str], ...] = ()
    is_direct: bool = False

    @property
    def weight(self) -> int:
        """What it takes, in accepted ids."""
        return len(self.accepted) + sum(1 + len(reason) // HASH_BYTES for _, _, reason in self.rejected)


@dataclass(frozen=True, slots=True)
class PurgedPaths:
    """Paths that one version forbids, as hashes."""

    version: int
    time_ms: int
    paths: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Floor:
    """What must survive whatever other writers do to the log: a copy of it may be old, but what it says was true once."""

    term: Term | None = None
    rebound_epoch: int = 0
    source: Source | None = None
    positions: tuple[tuple[Source, int], ...] = ()
    writers: tuple[tuple[str, int, int], ...] = ()
    """App, last seq, and its version."""


@dataclass(slots=True)
class TableMemory:
    """Grows with `apply`, forgets by its limits. Equal logs make equal memories, whatever process reads them."""

    limits: MemoryLimits = field(default_factory=MemoryLimits)
    through: int = -1
    """The newest version that was applied."""
    term: Term | None = None
    """The highest in the log. None: no committer ever worked here."""
    rebound_epoch: int = 0
    """In whose epoch the table was bound to its source by an operator; 0 where that never happened."""
    source: Source | None = None
    """What the table is fed from."""
    positions: dict[Source, int] = field(default_factory=dict)
    """By source, the offset up to which its proposals for this table are decided."""
    writers: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """By app, its last commits as (seq, version), oldest first."""
    horizon_ms: int = 0
    """Ids that the bus took up to here may have been forgotten."""
    window: deque[IdsOfVersion] = field(default_factory=deque)
    metadata_version: int = 0
    complete_from: int = 0
    """From here on every version was read; what earlier ones changed isn't known for sure."""
    removed: dict[bytes, int] = field(default_factory=dict)
    """Hashes of removed paths, with the version that removed them."""
    purges: deque[PurgedPaths] = field(default_factory=deque)
    newest_ms: int = 0
    """The time that the newest version of ours told."""
    newest_appended_ms: int = 0
    """When the bus took the newest proposal that was decided."""
    _sure_ms: int = field(default=0, compare=False)
    """What the newest two versions of ours agree to have passed: by it things are forgotten, so that one wrong clock forgets
    nothing."""
    _weight: int = 0
    _accepted: dict[bytes, int] = field(default_factory=dict)
    _rejected: dict[bytes, tuple[RejectCode, str]] = field(default_factory=dict)
    _purged: dict[bytes, int] = field(default_factory=dict)

    def apply(self, version: int, actions: Sequence[Action], record: CommitRecord | None = None) -> None:
        """Put one more version on top. Versions that were left out before it count as not readable.

        Who has read the `record` of its commit already may hand it in.
        """
        if version <= self.through:
            return
        if version > self.through + 1:
            self.complete_from = version
        for action in actions:
            match action:
                case RemoveFile():
                    self.removed[hashed(action.path)] = version
                case AddFile():
                    if self.removed:
                        self.removed.pop(hashed(action.path), None)
                case Metadata():
                    self.metadata_version = max(self.metadata_version, version)
                case _:
                    pass
        self._apply_record(version, record or commit_record(actions) or CommitRecord())
        self.through = version
        self._forget()

    def skip_to(self, version: int) -> None:
        """No version up to this one can be read."""
        if version > self.through:
            self.through = version
            self.complete_from = version + 1

    def lose_window(self, time_ms: int) -> None:
        """Ids that the bus took up to this time may have been decided by versions that can't be read any more."""
        self.horizon_ms = max(self.horizon_ms, time_ms)

    def become(self, other: "TableMemory") -> None:
        """Remember what `other` does, and nothing else. `other` is used up."""
        for each in fields(self):
            setattr(self, each.name, getattr(other, each.name))

    def earlier(self, proposal_id: str, writer: Writer | None) -> Receipt | None:
        """What was decided about this proposal before, as far as it is remembered."""
        identity = hashed(proposal_id)
        rejected = self._rejected.get(identity)
        if rejected is not None:
            return Rejected(*rejected, proposal_id)
        if writer is not None:
            recent = self.writers.get(writer.app)
            if recent is not None and writer.seq <= recent[-1][0]:
                return Duplicate(dict(recent).get(writer.seq, recent[-1][1]), proposal_id)
            return None
        version = self._accepted.get(identity)
        return None if version is None else Duplicate(version, proposal_id)

    def receipt_of(self, proposal_id: str) -> Receipt | None:
        """The first decision about an id, where the window still has it."""
        identity = hashed(proposal_id)
        version = self._accepted.get(identity)
        if version is not None:
            return Committed(version, proposal_id)
        rejected = self._rejected.get(identity)
        return None if rejected is None else Rejected(*rejected, proposal_id)

    def is_purged(self, path: str) -> bool:
        return bool(self._purged) and hashed(path) in self._purged

    def was_removed(self, path: str) -> bool:
        return bool(self.removed) and hashed(path) in self.removed

    def has_room_for(self, app: str, besides: int = 0) -> bool:
        """Whether this app's seqs can be remembered: a full memory takes no new app, and lets none go.

        `besides` counts other new apps that are about to be remembered.
        """
        return app in self.writers or len(self.writers) + besides < self.limits.max_apps

    def has_room_to_purge(self, count: int) -> bool:
        """Whether that many more purged paths can be remembered for the whole window."""
        return len(self._purged) + count <= MAX_PURGED

    def position(self, source: Source) -> int | None:
        return self.positions.get(source)

    def floor(self) -> Floor:
        """What a copy of this memory has to say at least."""
        return Floor(
            term=self.term,
            rebound_epoch=self.rebound_epoch,
            source=self.source,
            positions=tuple(sorted(self.positions.items())),
            writers=tuple((app, *recent[-1]) for app, recent in sorted(self.writers.items())),
        )

    def raise_floor(self, floor: Floor) -> None:
        """What another copy of this memory knows: the highest counts, whichever copy is older.

        A position counts only among copies that know of the same binding to a source: binding may set positions back.
        """
        if floor.term is not None and (self.term is None or floor.term > self.term):
            self.term = floor.term
        if floor.rebound_epoch > self.rebound_epoch:
            self.rebound_epoch, self.source, self.positions = floor.rebound_epoch, floor.source, {}
        if floor.rebound_epoch == self.rebound_epoch:
            self.source = self.source or floor.source
            for source, offset in floor.positions:
                self._remember_position(source, offset)
        for app, seq, version in floor.writers:
            self._remember_seq(app, seq, version)

    def remember_ids(self, ids: IdsOfVersion) -> None:
        """Take over what another copy of this memory says about one version's ids; oldest first. First decisions stand."""
        rejected = {item[0]: item for item in reversed(ids.rejected) if not self._is_decided(item[0])}
        new = replace(
            ids,
            accepted=tuple(
                item for item in dict.fromkeys(ids.accepted) if not self._is_decided(item) and item not in rejected
            ),
            rejected=tuple(reversed(rejected.values())),
        )
        if not new.weight:
            return
        self.window.append(new)
        self._weight += new.weight
        self._accepted.update(dict.fromkeys(new.accepted, new.version))
        self._rejected.update({identity: (code, reason) for identity, code, reason in new.rejected})

    def remember_purge(self, purged: PurgedPaths) -> None:
        self.purges.append(purged)
        self._purged.update(dict.fromkeys(purged.paths, purged.version))

    def _is_decided(self, identity: bytes) -> bool:
        return identity in self._accepted or identity in self._rejected

    def _apply_record(self, version: int, record: CommitRecord) -> None:
        latest_ms = record.time_ms
        if record.nonce:  # who writes none is a stranger, whose clock and whose units nobody knows
            earlier_ms, self.newest_ms = self.newest_ms, record.time_ms
            self._sure_ms = min(earlier_ms, record.time_ms)
            latest_ms = max(earlier_ms, record.time_ms)
        if record.term is not None and (self.term is None or record.term > self.term):
            self.term = record.term
        if record.settled is not None:
            self._settle(record.settled, record)
        if record.decisions:
            settled = record.settled
            appended_ms = latest_ms if settled is None else settled.appended_ms
            self.remember_ids(_ids(version, appended_ms, record.decisions, is_direct=settled is None))
            for decision in record.decisions:
                if decision.accepted and decision.writer is not None:
                    self._remember_seq(decision.writer.app, decision.writer.seq, version)
        if record.purged:
            self.remember_purge(PurgedPaths(version, latest_ms, tuple(map(hashed, record.purged))))

    def _settle(self, settled: Settled, record: CommitRecord) -> None:
        self.newest_appended_ms = max(self.newest_appended_ms, settled.appended_ms)
        if record.rebound:
            self.rebound_epoch = max(self.rebound_epoch, 0 if record.term is None else record.term.epoch)
            self.source, self.positions = settled.source, {settled.source: settled.next_offset}
            return
        is_late = record.term is not None and record.term.epoch < self.rebound_epoch
        if is_late and settled.source != self.source:
            return  # of a committer that missed the rebinding: it reads what the table is fed from no more
        self.source = settled.source
        self._remember_position(settled.source, settled.next_offset)

    def _remember_position(self, source: Source, offset: int) -> None:
        self.positions[source] = max(self.positions.get(source, 0), offset)
        if len(self.positions) > MAX_SOURCES:
            del self.positions[min(known for known in self.positions if known != self.source)]

    def _remember_seq(self, app: str, seq: int, version: int) -> None:
        recent = self.writers.get(app, ())
        if recent and recent[-1][0] >= seq:
            return
        self.writers[app] = (*recent, (seq, version))[-RECENT_SEQS:]

    def _forget(self) -> None:
        while len(self.window) > 1 and (self._weight > self.limits.max_ids or self._is_old(self.window[0])):
            self._forget_ids(self.window.popleft())
        while self.purges and self.purges[0].time_ms < self._sure_ms - self.limits.window_ms:
            gone = self.purges.popleft()
            for path in gone.paths:
                if self._purged.get(path) == gone.version:
                    del self._purged[path]
        if len(self.removed) > MAX_REMOVED:
            by_age = sorted((version, path) for path, version in self.removed.items())
            self.removed = {path: version for version, path in by_age[-_REMOVED_KEPT:]}

    def _is_old(self, ids: IdsOfVersion) -> bool:
        """By the clock that dated it: the bus's, or those of direct commits."""
        newest_ms = self._sure_ms if ids.is_direct else self.newest_appended_ms
        return ids.appended_ms < newest_ms - self.limits.window_ms

    def _forget_ids(self, ids: IdsOfVersion) -> None:
        self._weight -= ids.weight
        if not ids.is_direct:  # nobody sends the id of a direct commit to the bus
            self.horizon_ms = max(self.horizon_ms, ids.appended_ms)
        for item in ids.accepted:
            del self._accepted[item]
        for identity, _, _ in ids.rejected:
            del self._rejected[identity]


def hashed(text: str) -> bytes:
    """By what ids and paths are remembered: 96 bits, so that two never meet in practice."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()


def _ids(version: int, appended_ms: int, decisions: Iterable[Decision], *, is_direct: bool) -> IdsOfVersion:
    """Accepted proposals with a writer are known by their seq, all others by their id."""
    accepted: list[bytes] = []
    rejected: list[tuple[bytes, RejectCode, str]] = []
    for decision in decisions:
        if not decision.accepted:
            rejected.append((hashed(decision.id), decision.code or RejectCode.INVALID, decision.reason or ""))
        elif decision.writer is None:
            accepted.append(hashed(decision.id))
    return IdsOfVersion(version, appended_ms, tuple(accepted), tuple(rejected), is_direct)
