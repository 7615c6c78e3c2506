"""The memory of a table beyond its live files: decisions, writers, positions, removed and purged paths.

Pure: a function of the versions that were applied, in order, so every process computes the same. `memory_text` stores
it in states, `recovery.memory_reader` recovers it from a log.
"""

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import MAX_AHEAD_MS, CommitRecord, Settled, Term, commit_record
from headgate_table.coordination.refusals import as_what
from headgate_table.coordination.remembered_ids import NO_REASON, Clocks, IdsOfVersion, RememberedIds, RememberedRefusal
from headgate_table.coordination.writers_ids import WritersIds

HASH_BYTES = 12
LATE_MS = 30_000
"""A first delivery reaches the bus within this time after the proposal was made. One that comes later may be a repetition."""
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
    """Accepted proposals known by their id; as many refused ones are known beside them."""
    max_apps: int = 1_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """When a proposal was made, and when it is to be decided."""

    created_ms: int
    """By its author's clock; 0 is not known."""
    appended_ms: int
    """When the bus took it."""
    now_ms: int
    """By the clock of whoever decides, as far as the store bears it out."""
    skew_ms: int
    """By how much clocks may differ that are looked after."""

    @property
    def present_ms(self) -> int:
        return max(self.appended_ms, self.now_ms)

    @property
    def is_prompt(self) -> bool:
        """Whether it comes as soon after it was made as a first delivery does."""
        return self.present_ms - LATE_MS < self.created_ms <= self.present_ms + self.skew_ms


@dataclass(frozen=True, slots=True)
class PurgedPaths:
    """Paths that one version forbids, as hashes."""

    version: int
    time_ms: int
    paths: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Floor:
    """The part of the memory that must survive any other writer's commit. A copy may be old, but everything in it was
    true once.
    """

    term: Term | None = None
    rebound_epoch: int = 0
    source: Source | None = None
    positions: tuple[tuple[Source, int], ...] = ()
    writers: tuple[tuple[str, int, int], ...] = ()
    """App, last seq, and its version."""


@dataclass(slots=True)
class TableMemory:
    """Grows with `apply`, and forgets by its limits. Equal logs give equal memories in every process."""

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
    ids: RememberedIds = field(default_factory=RememberedIds)
    """Of proposals without a writer, and of all that were refused."""
    writers_ids: WritersIds = field(default_factory=WritersIds)
    """Of the newest accepted proposals with a writer."""
    lost_ms: int = 0
    """Decisions about proposals that the bus took up to here may be in versions that can't be read, those of writers too."""
    metadata_version: int = 0
    complete_from: int = 0
    """From here on every version was read; what earlier ones changed isn't known for sure."""
    decisions_from: int = 0
    """From here on the decisions of every version are known; earlier ones may have committed seqs that nothing tells of."""
    removed: dict[bytes, int] = field(default_factory=dict)
    """Hashes of removed paths, with the version that removed them."""
    purges: deque[PurgedPaths] = field(default_factory=deque)
    newest_ms: int = 0
    """The time that the newest version of ours told."""
    newest_appended_ms: int = 0
    """When the bus took the newest proposal that was decided, but never later than the version that decided it tells its own time."""
    _sure_ms: int = field(default=0, compare=False)
    """What the newest two versions of ours agree to have passed: by it things are forgotten, so that one wrong clock forgets
    nothing."""
    _purged: dict[bytes, int] = field(default_factory=dict)

    def apply(self, version: int, actions: Sequence[Action], record: CommitRecord | None = None) -> None:
        """Apply one more version. Versions that were skipped before it count as unreadable.

        A caller that has read the `record` of its commit may pass it.
        """
        if version <= self.through:
            return
        if version > self.through + 1:
            self.complete_from = self.decisions_from = version
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

    def apply_record(self, version: int, record: CommitRecord) -> None:
        """Apply a version by its record alone. Versions that were skipped before it decided nothing."""
        self.through = max(self.through, version - 1)
        self.apply(version, (), record)

    def apply_files(self, version: int, actions: Sequence[Action]) -> None:
        """Apply only a version's effect on files, and ignore its decisions."""
        self.apply(version, actions, CommitRecord())
        self.decisions_from = max(self.decisions_from, version + 1)

    def skip_to(self, version: int) -> None:
        """No version up to this one can be read."""
        if version > self.through:
            self.through = version
            self.complete_from = self.decisions_from = version + 1

    def lose_window(self, time_ms: int) -> None:
        """Ids that the bus took up to this time may have been decided by versions that can't be read any more."""
        self.ids.lose(time_ms)
        self.lost_ms = max(self.lost_ms, time_ms)

    @property
    def horizon_ms(self) -> int:
        """Accepted ids that the bus took up to this time may have been forgotten."""
        return self.ids.horizon_ms

    def become(self, other: "TableMemory") -> None:
        """Take over the memory of `other`, which must not be used afterwards."""
        for each in fields(self):
            setattr(self, each.name, getattr(other, each.name))

    def earlier(self, proposal_id: str, writer: Writer | None) -> Receipt | None:
        """The earlier decision on this proposal, if it is remembered.

        An id has one decision, whoever sends it, so the id is checked before the seq. A seq below the remembered ones
        of its app is `superseded`: nobody knows whether it was committed.
        """
        identity = hashed(proposal_id)
        rejected = self.ids.refusal_of(identity)
        if rejected is not None:
            return Rejected(*rejected, proposal_id)
        version = self._version_of(identity)
        if version is not None:
            return Duplicate(version, proposal_id)
        return None if writer is None else self._earlier_of(writer, proposal_id)

    def receipt_of(self, proposal_id: str) -> Receipt | None:
        """The first decision about an id, if it is still remembered."""
        identity = hashed(proposal_id)
        version = self._version_of(identity)
        if version is not None:
            return Committed(version, proposal_id)
        rejected = self.ids.refusal_of(identity)
        return None if rejected is None else Rejected(*rejected, proposal_id)

    def version_of_seq(self, writer: Writer) -> int | None:
        """The version that committed this seq, if the seq is one of the newest of its app."""
        return dict(self.writers.get(writer.app, ())).get(writer.seq)

    def may_be_of_another(self, remembered: Receipt, writer: Writer | None) -> bool:
        """Whether another writer may have used the remembered id: the seq belongs to another version, or to none."""
        if writer is None or not isinstance(remembered, Committed):
            return False
        return self.version_of_seq(writer) != remembered.version

    def newer_seq(self, writer: Writer) -> int | None:
        """The newest committed seq of the app, if this lower one was certainly never committed; else None."""
        recent = self.writers.get(writer.app, ())
        if not recent or writer.seq >= recent[-1][0] or not self._is_gap_known(writer):
            return None
        return recent[-1][0]

    def may_have_decided(self, arrival: Arrival, writer: Writer | None) -> int | None:
        """The horizon before which the proposal was made, if it may be one of the forgotten ones; else None.

        A proposal with a writer is known by its seq, so only lost decisions count. Forgotten refusals count only for a
        proposal that came late, or whose author's clock is ahead: a first delivery comes soon after the proposal is
        made, and refusals are remembered longer than that. An unknown time, or one too far ahead, proves nothing: then
        the proposal is certainly new only if nothing was forgotten.
        """
        is_far_ahead = self.is_far_ahead(arrival)
        created_ms = 0 if is_far_ahead else arrival.created_ms
        horizon_ms = self.lost_ms if writer is not None else max(self.horizon_ms, self.lost_ms)
        if writer is None and not created_ms:
            horizon_ms = max(horizon_ms, self.ids.direct_horizon_ms)
        refused_ms = self.ids.refused_horizon_ms
        if refused_ms and not is_far_ahead and self.is_ahead(arrival):
            return refused_ms  # its time proves nothing
        if self._taken_ms(arrival) - created_ms >= LATE_MS and (created_ms or writer is None):
            # Refusals are dated by their versions, whose clock may be behind those of authors.
            horizon_ms = max(horizon_ms, refused_ms + MAX_AHEAD_MS if refused_ms else 0)
        return horizon_ms if _is_before(horizon_ms, created_ms, arrival) else None

    def _taken_ms(self, arrival: Arrival) -> int:
        """When the bus took the proposal; by other clocks, where the bus is more than an hour ahead of them."""
        present_ms = max(arrival.now_ms, self.newest_ms)
        return present_ms if arrival.appended_ms > present_ms + MAX_AHEAD_MS else arrival.appended_ms

    def may_have_committed(self, arrival: Arrival) -> int | None:
        """The same check for the id of a direct commit, whose own clock dates its first attempt."""
        horizon_ms = max(self.horizon_ms, self.lost_ms, self.ids.direct_horizon_ms)
        return horizon_ms if _is_before(horizon_ms, arrival.created_ms, arrival) else None

    def is_ahead(self, arrival: Arrival) -> bool:
        """Whether the author's clock is ahead of all others."""
        return arrival.created_ms > max(arrival.present_ms, self.newest_ms) + arrival.skew_ms

    def is_far_ahead(self, arrival: Arrival) -> bool:
        """Whether the proposal's clock is so far ahead that its time doesn't prove that the proposal is new."""
        return arrival.created_ms > max(arrival.now_ms, self.newest_ms) + MAX_AHEAD_MS

    def has_room_ahead(self) -> bool:
        """Whether one more id from a clock that is ahead can be remembered until its time has come."""
        return self.ids.ahead < self.limits.max_ids

    def is_purged(self, path: str) -> bool:
        return bool(self._purged) and hashed(path) in self._purged

    def was_removed(self, path: str) -> bool:
        return bool(self.removed) and hashed(path) in self.removed

    def has_room_for(self, app: str, besides: int = 0) -> bool:
        """Whether this app's seqs can be remembered: a full memory accepts no new app, and drops none.

        `besides` counts other new apps that are about to be remembered.
        """
        return app in self.writers or len(self.writers) + besides < self.limits.max_apps

    def has_room_to_purge(self, count: int) -> bool:
        """Whether that many more purged paths can be remembered for the whole window."""
        return len(self._purged) + count <= MAX_PURGED

    def position(self, source: Source) -> int | None:
        return self.positions.get(source)

    def floor(self) -> Floor:
        """The part that every copy of this memory must have at least."""
        return Floor(
            term=self.term,
            rebound_epoch=self.rebound_epoch,
            source=self.source,
            positions=tuple(sorted(self.positions.items())),
            writers=tuple((app, *recent[-1]) for app, recent in sorted(self.writers.items())),
        )

    def raise_floor(self, floor: Floor) -> None:
        """Merge the values of another copy of this memory: the higher ones count, whichever copy is older.

        A position counts only among copies with the same binding to a source, because a rebind may lower positions.
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
            if self._remember_seq(app, seq, version):  # seqs between it and those known before may be committed, too
                self.decisions_from = max(self.decisions_from, min(version, self.through) + 2)

    def remember_purge(self, purged: PurgedPaths) -> None:
        self.purges.append(purged)
        self._purged.update(dict.fromkeys(purged.paths, purged.version))

    def _apply_record(self, version: int, record: CommitRecord) -> None:
        latest_ms = record.time_ms
        if record.nonce:  # a writer without one is foreign, with an unknown clock and unknown units
            earlier_ms, self.newest_ms = self.newest_ms, record.time_ms
            self._sure_ms = min(earlier_ms, record.time_ms)
            latest_ms = max(earlier_ms, record.time_ms)
        if record.term is not None and (self.term is None or record.term > self.term):
            self.term = record.term
        if record.settled is not None:
            self._settle(record.settled, record)
        if record.decisions:
            self._remember_ids(version, record, latest_ms)
            for decision in record.decisions:
                if decision.accepted and decision.writer is not None:
                    self._remember_seq(decision.writer.app, decision.writer.seq, version)
        if record.purged:
            self.remember_purge(PurgedPaths(version, latest_ms, tuple(map(hashed, record.purged))))

    def _remember_ids(self, version: int, record: CommitRecord, latest_ms: int) -> None:
        """Keep the ids of accepted proposals with a writer apart: they are also known by their seq."""
        settled = record.settled
        # They stay for the window from their decision on, whatever times the bus reports, and however long they waited
        # there.
        decided_ms = latest_ms if settled is None else max(record.time_ms, self.newest_appended_ms)
        for decision in record.decisions:
            if not decision.accepted and self.writers_ids.version_of(hashed(decision.id)) is None:
                code, reason = decision.code or RejectCode.INVALID, decision.reason or NO_REASON
                self.ids.refuse(hashed(decision.id), RememberedRefusal(version, decided_ms, code, reason))
        accepted = tuple(hashed(each.id) for each in record.decisions if each.accepted and each.writer is None)
        if settled is None:
            made_ms = None
        elif settled.made_ms is None:  # of an earlier release: a proposal is made before the bus takes it
            made_ms = record.appended_ms
        else:
            made_ms = settled.made_ms
        self.ids.accept(IdsOfVersion(version, decided_ms, accepted, settled is None, made_ms))
        self.writers_ids.accept(
            version, (hashed(each.id) for each in record.decisions if each.accepted and each.writer)
        )

    def _version_of(self, identity: bytes) -> int | None:
        """The first version that accepted the id, of a proposal with or without a writer."""
        found = (self.ids.version_of(identity), self.writers_ids.version_of(identity))
        return min((version for version in found if version is not None), default=None)

    def _settle(self, settled: Settled, record: CommitRecord) -> None:
        # Ids age by this clock: no faster than by the version's own time, whatever times a bus reports.
        told_ms = min(settled.appended_ms, record.time_ms) if record.time_ms else settled.appended_ms
        self.newest_appended_ms = max(self.newest_appended_ms, told_ms)
        if record.rebound:
            self.rebound_epoch = max(self.rebound_epoch, 0 if record.term is None else record.term.epoch)
            self.source, self.positions = settled.source, {settled.source: settled.next_offset}
            return
        is_late = record.term is not None and record.term.epoch < self.rebound_epoch
        if is_late and settled.source != self.source:
            return  # of a committer that missed the rebind: it no longer reads the table's source
        self.source = settled.source
        self._remember_position(settled.source, settled.next_offset)

    def _remember_position(self, source: Source, offset: int) -> None:
        self.positions[source] = max(self.positions.get(source, 0), offset)
        if len(self.positions) > MAX_SOURCES:
            del self.positions[min(known for known in self.positions if known != self.source)]

    def _remember_seq(self, app: str, seq: int, version: int) -> bool:
        recent = self.writers.get(app, ())
        if recent and recent[-1][0] >= seq:
            return False
        self.writers[app] = (*recent, (seq, version))[-RECENT_SEQS:]
        return True

    def _earlier_of(self, writer: Writer, proposal_id: str) -> Receipt | None:
        recent = self.writers.get(writer.app)
        if recent is None or writer.seq > recent[-1][0]:
            return None
        version = self.version_of_seq(writer)
        if version is not None:
            return Duplicate(version, proposal_id)
        if self._is_gap_known(writer):
            return None  # never committed: its refusal is a decision, which must be in a version
        return Rejected(
            RejectCode.SUPERSEDED,
            f"seq {writer.seq} of writer {writer.app!r} lies below those that the table remembers (the newest is "
            f"{recent[-1][0]}), so nothing tells whether it was committed. Look for its files in the table; if they aren't "
            f"there, propose them {as_what(recent[-1][0])}",
            proposal_id,
        )

    def _is_gap_known(self, writer: Writer) -> bool:
        """Whether this forgotten seq lies between two commits of its app without a lost one between them."""
        recent = self.writers[writer.app]
        if any(seq == writer.seq for seq, _ in recent):
            return False
        below = [version for seq, version in recent if seq < writer.seq]
        return bool(below) and below[-1] + 1 >= self.decisions_from

    def _forget(self) -> None:
        clocks = Clocks(
            self.newest_appended_ms, self._sure_ms, self.newest_ms, self.limits.window_ms, self.limits.max_ids
        )
        self.ids.forget(clocks)
        while self.purges and self.purges[0].time_ms < self._sure_ms - self.limits.window_ms:
            gone = self.purges.popleft()
            for path in gone.paths:
                if self._purged.get(path) == gone.version:
                    del self._purged[path]
        if len(self.removed) > MAX_REMOVED:
            by_age = sorted((version, path) for path, version in self.removed.items())
            self.removed = {path: version for version, path in by_age[-_REMOVED_KEPT:]}


def _is_before(horizon_ms: int, created_ms: int, arrival: Arrival) -> bool:
    """Whether the time lies before the horizon.

    A horizon in the future, as in logs of earlier releases, doesn't count for prompt proposals: all of today's
    proposals would lie before it.
    """
    if not horizon_ms or (horizon_ms > arrival.present_ms and arrival.is_prompt):
        return False
    return created_ms < horizon_ms + arrival.skew_ms


def hashed(text: str) -> bytes:
    """The key under which ids and paths are remembered: 96 bits, so that collisions don't occur in practice."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()
