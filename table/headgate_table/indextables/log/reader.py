"""Reads a table log from its store: the newest version or an earlier one, with the fewest requests.

`resolve` decides which objects to read, and `format.replay` applies them; this module fetches. `read.entry_reader`
reads entries.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count

from headgate_schemas.actions.actions import Action, Metadata, Protocol
from headgate_schemas.actions.doc_mapping import bare_hash, split_registry
from headgate_schemas.metrics import STATE_READ_SECONDS
from headgate_table.caching.resources import ReadResources
from headgate_table.coordination.commit_info import nonce_and_previous
from headgate_table.errors import CorruptTable, ObjectMissing, TableNotFound, UnsupportedTable, VersionNotRetained
from headgate_table.indextables.format.json_checkpoint import read_checkpoint
from headgate_table.indextables.format.names import LEGACY_STATE_MANIFEST, LOG, POINTER, state_key, version_key
from headgate_table.indextables.format.pointer import MAX_POINTER_BYTES, BrokenPointer, Pointer, parse_pointer
from headgate_table.indextables.format.protocol_support import check_readable
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.format.state_manifest import (
    MAX_STATE_BYTES,
    StateManifest,
    decode_legacy_state,
    decode_state,
    of_version,
)
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES, decode_actions
from headgate_table.indextables.log.identity import LogIdentity, is_same
from headgate_table.indextables.log.listing import LogListing, list_log
from headgate_table.indextables.log.lost_versions import Lost, lost_versions
from headgate_table.indextables.log.overtaken import check_not_overtaken, may_be_by_states_alone
from headgate_table.indextables.log.predecessor import Predecessor, check_run, is_known, mark_of
from headgate_table.indextables.log.resolve import (
    Base,
    BaseKind,
    ReadPlan,
    bases,
    gap,
    missing_versions,
    not_retained,
    plan_from,
    retained_ranges,
    states_in_history,
)
from headgate_table.store.interface import ObjectInfo, Store

_METADATA_BATCH = 8
_LOOKS = 3
"""At a log from which something goes between its listing and its reading: who cleans deletes once and is done."""


@dataclass(frozen=True, slots=True)
class LoadedLog:
    """One version of a table, according to the log itself: a base and the versions after it. Entries are not read yet."""

    version: int
    plan: ReadPlan
    state: StateManifest | None
    delta: Delta
    protocol: Protocol
    listing: LogListing
    newest_version_file: int = -1
    """The highest number up to `version` that has a version file; lower where only states tell of the newest version."""
    version_files_read: int = 0
    seen: tuple[int, ObjectInfo] | None = None
    """The newest version file that a listing has shown, by which the log is known again; own commits may come after it.
    None where only states tell of the newest version."""
    tip: Predecessor | None = None
    """The file of the newest version, as it was read or written; None if only states tell of that version."""
    history: int = 0
    """Two logs of one reader have the same number if the later one continues the earlier one. They have different ones if
    another table, or another copy of the table, has replaced it."""
    known_metadata: Metadata | None = None
    time_ms: int = 0
    """The commit time that the newest version tells of those that were read, or its state; 0 where none was told."""
    registry: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeenPointer:
    """The result of reading the pointer: None for a log without one."""

    pointer: Pointer | BrokenPointer | None


class _GoneMeanwhile(CorruptTable):
    """An object of the listing was missing when it was read."""


class LogReader:
    """Reads one table's log. Immutable objects are cached; the pointer and listings never are."""

    def __init__(self, store: Store, resources: ReadResources) -> None:
        self.store = store
        self.resources = resources
        self._identity = LogIdentity(store.uri, resources)
        self._earlier_metadata: tuple[int, Metadata] | None = None
        self._histories = count(1)

    def pointer(self) -> Pointer | BrokenPointer | None:
        try:
            return parse_pointer(self.store.get(POINTER, max_bytes=MAX_POINTER_BYTES))
        except ObjectMissing:
            return None

    def find(self) -> SeenPointer:
        """Check that there is a log, by its pointer or its first version, and else by a listing. Raises
        `TableNotFound`.
        """
        pointer = self.pointer()
        is_found = pointer is not None or self.store.head(version_key(0)) is not None
        if not is_found and self._without_empty_folders(list_log(self.store)).is_empty:
            raise self._no_table(None)
        return SeenPointer(pointer)

    def latest(self, seen: SeenPointer | None = None) -> LoadedLog:
        """The newest version, by whichever of pointer, states and version files has the highest number.

        A pointer that was `seen` earlier also serves as the start, since the listing shows all later objects. If it
        leads nowhere by now, it is read again.
        """
        if seen is not None:
            with suppress(CorruptTable, TableNotFound, UnsupportedTable):
                return self._begun(self._latest(seen.pointer))
        return self._begun(_looking_again(lambda: self._latest(self.pointer())))

    def _begun(self, log: LoadedLog) -> LoadedLog:
        return replace(log, history=next(self._histories))

    def _latest(self, pointer: Pointer | BrokenPointer | None) -> LoadedLog:
        start = pointer.version if isinstance(pointer, Pointer) else 0
        listing = list_log(self.store, start)
        if start > 0 and start not in listing.states and start not in listing.checkpoints:
            listing = list_log(self.store)  # the pointer is ahead of the existing or remaining objects
        listing = _without_replaced_state(self._without_empty_folders(listing), pointer)
        if listing.is_empty:
            raise self._no_table(pointer)
        if isinstance(pointer, Pointer) and pointer.version > listing.highest:
            raise CorruptTable(
                f"the pointer of {self.store.uri} names version {pointer.version}, but neither its state "
                f"({state_key(pointer.version)}) nor its version file is there; the newest version left is {listing.highest}. "
                f"Read that one explicitly, restore the missing files, or rebuild the log with `headgate table repair`"
            )
        return self._load(listing, listing.highest)

    def at_version(self, version: int, listing: LogListing | None = None) -> LoadedLog:
        """An earlier version, exactly; `VersionNotRetained` if it can't be rebuilt completely.

        A fresh `listing` of the whole log saves one.
        """
        if listing is not None:
            with suppress(_GoneMeanwhile):
                return self._at_version(version, listing)
        return _looking_again(lambda: self._at_version(version, list_log(self.store)))

    def _at_version(self, version: int, listing: LogListing) -> LoadedLog:
        listing = self._without_empty_folders(listing)
        if listing.is_empty:
            raise self._no_table(None)
        if not 0 <= version <= listing.highest:
            raise self.not_retained(version, listing)
        return self._load(listing, version)

    def _without_empty_folders(self, listing: LogListing) -> LogListing:
        """A folder without `_manifest.avro` isn't a state: its writer died before writing it."""
        while listing.states and listing.states[-1] == listing.highest and self.state_or_none(listing.highest) is None:
            if listing.highest in listing.versions or listing.highest in listing.checkpoints:
                break
            listing = replace(listing, states=listing.states[:-1])
        return listing

    def full_listing(self) -> LogListing:
        return list_log(self.store)

    def retained(self, listing: LogListing) -> list[tuple[int, int]]:
        """The ranges of versions that can be rebuilt."""
        return retained_ranges(listing, self.states_in_order(listing))

    def states_in_order(self, listing: LogListing) -> tuple[int, ...]:
        """The states of the history; the time of a state reveals a number that was reused later (docs/format.md,
        section 5.4).
        """
        found = self.resources.each(self.state_or_none, listing.states)
        return tuple(states_in_history(dict(zip(listing.states, found, strict=True))))

    def not_retained(self, version: int, listing: LogListing) -> VersionNotRetained:
        """The error that explains why a version can't be read any more, or not yet; the listing is of the whole log."""
        lost = [each for each in self.lost(listing) if each.first <= version <= listing.highest]
        return not_retained(self.store.uri, version, self.retained(listing), lost[-1] if lost else None)

    def lost(self, listing: LogListing) -> list[Lost]:
        """The version files that are missing from the middle of the log."""
        return lost_versions(self, listing.versions, lambda: {*self.states_in_order(listing), *listing.checkpoints})

    def state(self, version: int) -> StateManifest:
        """The state of a version; `ObjectMissing` if its folder holds none."""
        key = state_key(version)
        cached = self.resources.cache.get(self.store.uri, key)
        if cached is not None:
            return cached  # type: ignore[no-any-return]  # only this method puts values under state keys
        with self.resources.measures.timing(STATE_READ_SECONDS, "list"):
            state, size = self._fetched_state(version, key)
        self.resources.remember(self.store.uri, key, state, 4 * size + 1024)
        return state

    def _fetched_state(self, version: int, key: str) -> tuple[StateManifest, int]:
        try:
            data = self.store.get(key, max_bytes=MAX_STATE_BYTES)
            return of_version(decode_state(data, key), version, key), len(data)
        except ObjectMissing as missing:
            legacy = state_key(version, LEGACY_STATE_MANIFEST)
            try:
                data = self.store.get(legacy, max_bytes=MAX_STATE_BYTES)
            except ObjectMissing:
                raise missing from None
            return of_version(decode_legacy_state(data, legacy), version, legacy), len(data)

    def actions(self, version: int) -> list[Action]:
        """The actions of one version file."""
        key = version_key(version)
        cached = self.resources.cache.get(self.store.uri, key)
        if cached is not None:
            return cached  # type: ignore[no-any-return]  # only this method puts values under version keys
        data = self.store.get(key, max_bytes=MAX_VERSION_FILE_BYTES)
        actions = decode_actions(data, key)
        self._remember_actions(version, actions, len(data))
        self._identity.read(version, len(data))
        return actions

    def actions_or_none(self, version: int) -> list[Action] | None:
        """The actions; None for a version file that doesn't exist (any more)."""
        try:
            return self.actions(version)
        except ObjectMissing:
            return None

    def forget_unlike(self, listing: LogListing, versions: Sequence[int]) -> None:
        """Read these versions again if one of them doesn't look as it did when it was read."""
        if not self._identity.check(listing, versions):
            self._earlier_metadata = None

    def remember_actions(self, version: int, actions: list[Action], size: int, seen_etag: str) -> Predecessor:
        """Keep the actions of a version that this process has just written. Returns how its file is recognised."""
        self._remember_actions(version, actions, size)
        self._identity.wrote(version, size)
        return Predecessor(ObjectInfo(version_key(version), size, 0, seen_etag), mark_of(actions))

    def _remember_actions(self, version: int, actions: list[Action], size: int) -> None:
        self.resources.remember(self.store.uri, version_key(version), actions, 20 * size + 500 * len(actions))

    def many_actions(self, versions: Sequence[int]) -> list[list[Action]]:
        return self.resources.each(self.actions, versions)

    def metadata(self, log: LoadedLog) -> Metadata:
        """The table's metadata, from any object of the log that still has it (docs/format.md, section 5.4)."""
        return without_floor(self._metadata(log))

    def _metadata(self, log: LoadedLog) -> Metadata:
        if log.known_metadata is not None:
            return log.known_metadata
        base = log.plan.base.version
        earlier = self._earlier_metadata  # read once: another thread may be asking for another version's
        if earlier is None or earlier[0] != base:
            earlier = base, self._find_metadata(log)
            self._earlier_metadata = earlier
        return earlier[1]

    def _find_metadata(self, log: LoadedLog) -> Metadata:
        listing = list_log(self.store)  # the log's listing may be old by now, and name files that were cleaned
        earlier = [version for version in reversed(listing.versions) if version <= log.plan.base.version]
        for start in range(0, len(earlier), _METADATA_BATCH):
            for actions in self.resources.each(self.actions_or_none, earlier[start : start + _METADATA_BATCH]):
                found = [action for action in actions or () if isinstance(action, Metadata)]
                if found:
                    return found[-1]
        for number in reversed(listing.states):
            state = self.state_or_none(number) if number < log.plan.base.version else None
            if state is not None and state.metadata is not None:
                return state.metadata
        raise CorruptTable(
            f"the log of {self.store.uri} holds no metadata any more: no state carries it and version file 0 is gone. "
            f"`headgate table repair` can rebuild the log"
        )

    def advance(self, log: LoadedLog) -> LoadedLog:
        """The newest version, starting from a loaded one: reads only new objects.

        It has another `history` if another table, or a copy of this one, has replaced the loaded one.
        """
        try:
            advanced = self._advanced(log)
        except (ObjectMissing, _GoneMeanwhile):
            advanced = self.latest()
        return self.latest() if advanced is None else replace(advanced, history=log.history)

    def _advanced(self, log: LoadedLog) -> LoadedLog | None:
        """None if another history has replaced the loaded one."""
        known_version, known = log.seen or (log.version, None)
        listing = list_log(self.store, known_version)
        now = listing.version_objects.get(known_version)
        tip = listing.version_objects.get(log.version)
        is_other = tip is not None and log.tip is not None and not is_known(self.store, log.tip, tip)
        if is_other or listing.highest < log.version:
            self.forget()
            return None
        if known is not None and now is None:
            return self.latest()  # the log was cleaned
        if known is not None and now is not None and not is_same(known, now):
            self.forget()
            return self.latest()
        listing = self._without_empty_folders(listing) if listing.highest > log.version else listing
        newest_state = listing.states[-1] if listing.states else -1
        if newest_state > log.plan.base.version:
            if newest_state < listing.complete_from:
                listing = list_log(self.store, newest_state)
            return self._load(listing, listing.highest)
        if listing.highest <= log.version:
            if tip is None or (known is not None and known_version == log.version):
                return log
            self._identity.saw(tip)
            return replace(log, seen=(log.version, tip), tip=None if log.tip is None else replace(log.tip, info=tip))
        newer = [version for version in listing.versions if version > log.version]
        if listing.highest != log.version + len(newer):
            return self.latest()
        delta = log.delta.copy()
        self.forget_unlike(listing, newer)
        applied = self.many_actions(newer)
        check_run(newer, applied)
        for version, actions in zip(newer, applied, strict=True):
            delta.apply(version, actions)
        newest = listing.version_objects[newer[-1]]
        extended = self.extended(log, newer[-1], delta, Predecessor(newest, mark_of(applied[-1])))
        return replace(extended, seen=(newer[-1], newest))

    def extended(self, log: LoadedLog, version: int, delta: Delta, tip: Predecessor | None) -> LoadedLog:
        """`log` with later versions applied: `delta` is its own delta plus theirs, `tip` the file of the newest."""
        plan = ReadPlan(version, log.plan.base, tuple(range(log.plan.base.version + 1, version + 1)))
        protocol = delta.protocol or log.protocol
        check_readable(protocol, self.store.uri)
        return LoadedLog(
            version=version,
            plan=plan,
            state=log.state,
            delta=delta,
            protocol=protocol,
            listing=log.listing,
            newest_version_file=version,
            seen=log.seen,
            tip=tip,
            history=log.history,
            version_files_read=log.version_files_read + version - log.version,
            time_ms=delta.last_time_ms or log.time_ms,
            known_metadata=delta.metadata or log.known_metadata,
            registry=log.registry | delta.registry,
        )

    def _load(self, listing: LogListing, target: int) -> LoadedLog:
        first_gap: CorruptTable | None = None
        missing_state: ObjectMissing | None = None
        newest = target == listing.highest
        for base in bases(listing, target):
            plan = plan_from(listing, base, target)
            if plan is None:
                if base.version + 1 >= listing.complete_from or listing.complete_from == 0:
                    missing = missing_versions(listing, base, target)
                    first_gap = first_gap or gap(self.store.uri, missing, base, target)
                else:
                    whole = self._without_empty_folders(list_log(self.store))
                    return self._load(whole, whole.highest if newest else target)
                continue
            try:
                if base.kind is BaseKind.STATE and not newest and self._is_reused(listing, base):
                    continue
                return self._read(listing, plan)
            except ObjectMissing as error:
                if base.kind is BaseKind.NOTHING:
                    raise _GoneMeanwhile(
                        f"{error}. It was listed a moment ago: is the table being cleaned? Try again"
                    ) from error
                missing_state = missing_state or error
        if missing_state is not None:
            raise _GoneMeanwhile(
                f"{missing_state}. No earlier state and no complete run of version files can replace it; "
                f"`headgate table verify` lists what is retained"
            )
        if not newest:
            raise self.not_retained(target, listing)
        assert first_gap is not None  # every base was refused for a gap
        raise first_gap

    def _is_reused(self, listing: LogListing, base: Base) -> bool:
        if self.state(base.version).has_coordinator:
            return False
        from_there = replace(listing, states=tuple(number for number in listing.states if number >= base.version))
        return base.version not in self.states_in_order(from_there)

    def forget(self) -> None:
        """Drop everything cached of the table, because another one has replaced it."""
        self._identity.forget()
        self._earlier_metadata = None

    def _read(self, listing: LogListing, plan: ReadPlan) -> LoadedLog:
        self.forget_unlike(listing, (plan.base.version, *plan.versions))
        state: StateManifest | None = None
        delta = Delta()
        protocol: Protocol | None = None
        match plan.base.kind:
            case BaseKind.STATE:
                state = self.state(plan.base.version)
                if state.version in listing.versions and may_be_by_states_alone(state):
                    check_not_overtaken(self.store, self.resources, state, self.actions(state.version))
                protocol = Protocol(state.protocol_version, state.protocol_version)
            case BaseKind.CHECKPOINT:
                delta.apply(plan.base.version, read_checkpoint(plan.base.version, self._checkpoint_bytes))
            case BaseKind.NOTHING:
                pass
        applied = self.many_actions(plan.versions)
        check_run(plan.versions, applied)
        self._check_last(listing, plan, applied)
        for version, actions in zip(plan.versions, applied, strict=True):
            delta.apply(version, actions)
        protocol = delta.protocol or protocol or Protocol(1, 1)
        check_readable(protocol, self.store.uri)
        known = delta.metadata or (state.metadata if state is not None else None)
        registry: dict[str, str] = {}
        if state is not None:
            registry |= {bare_hash(key): text for key, text in state.schema_registry.items()}
            if state.metadata is not None:
                registry |= split_registry(state.metadata.configuration)[0]
        tip = listing.version_objects.get(plan.version)
        newest = applied[-1] if applied else self.resources.cache.peek(self.store.uri, version_key(plan.version))
        return LoadedLog(
            version=plan.version,
            plan=plan,
            state=state,
            delta=delta,
            protocol=protocol,
            listing=listing,
            newest_version_file=max((v for v in listing.versions if v <= plan.version), default=-1),
            seen=None if tip is None else (plan.version, tip),
            tip=None if tip is None else Predecessor(tip, "" if newest is None else mark_of(newest)),
            version_files_read=len(plan.versions),
            time_ms=delta.last_time_ms or (0 if state is None else state.created_at),
            known_metadata=known,
            registry=registry | delta.registry,
        )

    def _check_last(self, listing: LogListing, plan: ReadPlan, applied: Sequence[Sequence[Action]]) -> None:
        """Raise `CorruptTable` where the version that is read was replaced. One of ours says in its seal which one it is."""
        if not applied or plan.version + 1 not in listing.version_objects or nonce_and_previous(applied[-1])[0]:
            return
        following: list[Action] = []
        with suppress(CorruptTable, ObjectMissing):
            following = self.actions(plan.version + 1)
        check_run((plan.version, plan.version + 1), (applied[-1], following))

    def _checkpoint_bytes(self, key: str) -> bytes:
        return self.store.get(key, max_bytes=MAX_VERSION_FILE_BYTES)

    def is_state(self, version: int) -> bool:
        """Whether the folder of this number holds a state. A killed writer may leave an empty one."""
        keys = state_key(version), state_key(version, LEGACY_STATE_MANIFEST)
        return any(self.store.head(key) is not None for key in keys)

    def state_or_none(self, version: int) -> StateManifest | None:
        try:
            return self.state(version)
        except ObjectMissing:
            return None

    def _no_table(self, pointer: Pointer | BrokenPointer | None) -> TableNotFound:
        if pointer is not None:
            return TableNotFound(
                f"{self.store.uri} has a pointer ({LOG}/_last_checkpoint) but neither states nor version files. "
                f"If data files are left, `headgate table repair --from-files` can rebuild the log"
            )
        return TableNotFound(
            f"there is no table at {self.store.uri}: it has no {LOG} folder with versions or states. "
            f"Check the address, or make one with `headgate table create`"
        )


def _looking_again(look: Callable[[], LoadedLog]) -> LoadedLog:
    for _ in range(_LOOKS - 1):
        with suppress(_GoneMeanwhile):
            return look()
    return look()


def without_floor(metadata: Metadata) -> Metadata:
    """The metadata alone: the committer's floor is written to states, never to version files."""
    return metadata if metadata.coordinator is None else replace(metadata, coordinator=None)


def _without_replaced_state(listing: LogListing, pointer: Pointer | BrokenPointer | None) -> LogListing:
    """If a version has both a state and a JSON checkpoint, the pointer names the later one."""
    if (
        isinstance(pointer, Pointer)
        and pointer.state_dir is None
        and not pointer.is_avro
        and pointer.version in listing.checkpoints
    ):
        return replace(listing, states=tuple(number for number in listing.states if number != pointer.version))
    return listing
