"""Writes a state: incrementally, one new manifest with the added files, tombstones for the removed ones, then the
pointer.

Old manifests stay unchanged, except if a path came back (docs/format.md, section 5.3).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import Metadata, Protocol
from headgate_schemas.actions.doc_mapping import bare_hash, registry_key
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import CompactState
from headgate_table.coordination.memory_text import KeptMemory
from headgate_table.errors import CorruptTable, ObjectMissing, OutcomeUnknown, StoreError
from headgate_table.indextables.format.doc_mappings import renormalise_entries
from headgate_table.indextables.format.entries import ALL_COLUMNS, added_table
from headgate_table.indextables.format.names import POINTER, carried_path, resolve_manifest, state_key, version_key
from headgate_table.indextables.format.pointer import (
    MAX_POINTER_BYTES,
    Pointer,
    format_pointer,
    parse_pointer,
    state_pointer,
)
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest, encode_state
from headgate_table.indextables.log.listing import list_log
from headgate_table.indextables.log.predecessor import is_known
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import Base, BaseKind, ReadPlan
from headgate_table.indextables.manifests.path_index import find_entries
from headgate_table.indextables.manifests.reader import read_manifest
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.rules.swap import apply_swap, manifest_info
from headgate_table.indextables.write.manifest_writer import write_manifest
from headgate_table.settings.options import TableOptions
from headgate_table.store.backoff import trying_again
from headgate_table.store.interface import AlreadyExists, Created, ObjectInfo, Unknown
from headgate_table.totals import as_total, exact_sum

_log = get_logger("headgate.state")

MAX_ATTEMPT_S = 600
"""After it a state is planned anew: half of the age below which cleaning keeps every manifest."""
_PLANS = 3
_POINTER_ATTEMPTS = 10


class StateOvertaken(StoreError):
    """Another writer has written a newer state than the base of this one."""


class _Unanswered(Exception):
    """The store gave no answer to the create of a state, and the state isn't there."""


@dataclass(frozen=True, slots=True)
class _Planned:
    """A state whose manifests are written, and the time when that began."""

    state: StateManifest
    data: bytes
    began_s: float


@dataclass(frozen=True, slots=True)
class WrittenState:
    state: StateManifest
    log: LoadedLog
    """The same version as before, now with this state as its base."""


class StateWriter:
    """Writes states of one table."""

    def __init__(self, reader: LogReader, ambient: Ambient, options: TableOptions) -> None:
        self._reader = reader
        self._store = reader.store
        self._ambient = ambient
        self._options = options

    def write(
        self, log: LoadedLog, metadata: Metadata, memory: KeptMemory, swap: CompactState | None = None
    ) -> WrittenState:
        """Write the state of the loaded version. An existing one with the same content is used, whoever wrote it.

        Raises `StateOvertaken` if the log has a newer state than the base: cleaning may delete the base's manifests.
        """
        assert memory.through <= log.version, "a state must not remember what comes after it"
        key = state_key(log.version)
        planned = first = self._planned(log, metadata, memory, swap)
        state = planned.state
        attempts = trying_again(
            self._ambient,
            _Unanswered,
            attempts=self._options.state_max_attempts,
            first_pause_s=self._options.state_base_delay_ms / 1000,
            longest_pause_s=self._options.state_max_delay_ms / 1000,
        )
        is_ours = True
        try:
            for attempt in attempts:
                with attempt:
                    if self._is_late(planned):
                        planned = self._planned(log, metadata, memory, swap)
                        state = planned.state
                    is_ours = self._create(key, planned.data)
                    if not is_ours:
                        state = self._existing(log, may_be_void=self._is_late(first))
        except _Unanswered as unanswered:
            raise OutcomeUnknown(
                f"{key} of {self._store.uri} could not be written: {unanswered}. The version itself is committed"
            ) from None
        if is_ours and self._is_late(planned):
            self._check_manifests(key, state)
        if is_ours and not self._stands(log, self._store.head(version_key(log.version))):
            self._store.delete([key])
            raise StoreError(f"{self._gone(log)}, so that state was taken back; read the table again")
        self.advance_pointer(state_pointer(state.version, state.num_files, state.total_bytes, state.created_at))
        return WrittenState(state, rebased(log, state))

    def _planned(self, log: LoadedLog, metadata: Metadata, memory: KeptMemory, swap: CompactState | None) -> _Planned:
        """The state. Its new manifests are written, under names that nobody has seen before."""
        for _ in range(_PLANS):
            began_s = self._ambient.monotonic_s()
            self._check_base(log)
            state = self._plan(log, metadata, memory, swap)
            data = encode_state(
                state,
                bytes.fromhex(self._ambient.new_id()),
                codec=self._options.codec,
                level=self._options.state_compression_level,
            )
            planned = _Planned(state, data, began_s)
            if not self._is_late(planned):
                return planned
            _log.warning("state_started_again", table=self._store.uri, version=log.version)
        raise StoreError(
            f"the manifests of state {log.version} of {self._store.uri} took more than {MAX_ATTEMPT_S} s to write, {_PLANS} times "
            f"in a row, so the state was given up. The version itself is committed; look at the connection to the store"
        )

    def _check_base(self, log: LoadedLog) -> None:
        """Check that the base is the newest state, and that the version is still there.

        From now on, the state has `MAX_ATTEMPT_S` to be written. Cleaning keeps a state, and the manifests that it names,
        until a later state has been there for twice as long.
        """
        base = log.plan.base.version
        listing = list_log(self._store, max(base, 0))
        if not self._stands(log, listing.version_objects.get(log.version)):
            raise StoreError(f"{self._gone(log)}; read the table again")
        later = [
            number for number in (*listing.states, *listing.checkpoints) if number > base and number != log.version
        ]
        for number in later:
            if number in listing.checkpoints or self._reader.is_state(number):
                raise StateOvertaken(
                    f"the state of version {log.version} of {self._store.uri} would be based on version {base}, and version {number} has a "
                    f"state by now. The version itself is committed; read the table again"
                )

    def _stands(self, log: LoadedLog, seen: ObjectInfo | None) -> bool:
        """Whether the file of the loaded version is still the one that was read or written. `seen` is what is there."""
        return log.tip is None or (seen is not None and is_known(self._store, log.tip, seen))

    def _gone(self, log: LoadedLog) -> str:
        return (
            f"version {log.version} of {self._store.uri} is not there any more, while its state is written: the log was truncated "
            f"beyond it, or another copy of the table took its place"
        )

    def _is_late(self, planned: _Planned) -> bool:
        """Whether cleaning may take its new manifests for orphans before the state refers to them."""
        return self._ambient.monotonic_s() - planned.began_s > MAX_ATTEMPT_S

    def _check_manifests(self, key: str, state: StateManifest) -> None:
        """Check that the manifests exist. The state exists now, so cleaning keeps them; it may have deleted some
        before.
        """
        for info in state.manifests:
            manifest = resolve_manifest(info.path, state.version, self._store.uri)
            if self._store.head(manifest) is None:
                self._store.delete([key])
                self._reader.resources.invalidate(self._store.uri)
                raise StoreError(
                    f"{manifest} of {self._store.uri} was cleaned up before the state of version {state.version} referred to it, "
                    f"because that took more than {MAX_ATTEMPT_S} s; the state was taken back. The version itself is committed"
                )

    def _create(self, key: str, data: bytes) -> bool:
        """Whether the state is ours now; False if one exists already (maybe ours, if the answer was lost)."""
        match self._store.create(key, data):
            case Created():
                return True
            case AlreadyExists():
                return False
            case Unknown(reason):
                if self._store.head(key) is None:
                    raise _Unanswered(reason)
                return False

    def advance_pointer(self, pointer: Pointer) -> int:
        """Move `_last_checkpoint` forward to this state; never back (docs/format.md, section 1.3). Returns its final
        target.
        """
        data = format_pointer(pointer)
        for _ in range(_POINTER_ATTEMPTS):
            try:
                found, etag = self._store.get_with_etag(POINTER, max_bytes=MAX_POINTER_BYTES)
            except ObjectMissing:
                outcome = self._store.create(POINTER, data)
            else:
                current = parse_pointer(found)
                if isinstance(current, Pointer) and current.is_as_new_as(pointer):
                    return current.version
                outcome = self._store.swap(POINTER, data, etag)
            match outcome:
                case Created():
                    return pointer.version
                case AlreadyExists() | Unknown():
                    continue  # read the present pointer again
        # Readers look beyond the pointer, and the next state moves it.
        _log.warning("pointer_not_moved", table=self._store.uri, version=pointer.version, attempts=_POINTER_ATTEMPTS)
        return pointer.version

    def _plan(self, log: LoadedLog, metadata: Metadata, memory: KeptMemory, swap: CompactState | None) -> StateManifest:
        base = log.state
        if base is not None and swap is not None:
            base = apply_swap(base, swap)
        delta = log.delta
        touched = [*delta.added, *delta.removed]
        partitions = {path: file.add.partition_values for path, file in delta.added.items()}
        partitions |= {path: file.partition_values for path, file in delta.removed.items() if file.partition_values}
        found = find_entries(self._store, self._reader.resources, base, touched, partitions)
        # A tombstone may outlive its entry, when the manifest was rewritten for another path that came back.
        hidden = set(base.tombstones) if base is not None else set()
        back = [path for path in delta.added if path in found or path in hidden]
        manifests: list[ManifestInfo] = []
        tombstones: list[str] = []
        num_files = 0
        total_bytes = 0
        if base is not None:
            manifests = [replace(info, path=carried_path(info.path, base.version)) for info in base.manifests]
            died = [path for path in delta.removed if path in found and path not in hidden]
            tombstones = [*base.tombstones, *died]
            num_files, total_bytes = base.num_files, base.total_bytes
            num_files -= len(died)
            total_bytes -= sum(found[path][-1].size for path in died)
            if back:
                manifests, tombstones = self._without(base, manifests, tombstones, back, metadata)
                alive = [path for path in back if path not in hidden]
                num_files -= len(alive)
                total_bytes -= sum(found[path][-1].size for path in alive)
        added = added_table(delta.added.values(), ALL_COLUMNS)
        registry = dict(base.schema_registry) if base is not None else {}
        registry = {bare_hash(key): text for key, text in registry.items()} | log.registry
        if base is None:  # every entry of the table is written here
            added, named = renormalise_entries(added, registry, self._options.schema_renormalize_threshold)
            registry |= named
        manifests.extend(self._new_manifests(added, metadata))
        num_files += added.num_rows
        total_bytes += exact_sum(added.column("size"))
        return StateManifest(
            version=log.version,
            created_at=log.time_ms or self._ambient.now_ms(),
            num_files=as_total(num_files),
            total_bytes=as_total(total_bytes),
            manifests=tuple(manifests),
            tombstones=tuple(tombstones),
            schema_registry=registry,
            protocol_version=max(4, log.protocol.min_reader_version),
            metadata=replace(with_registry(metadata, registry), coordinator=memory.floor),
            coordinator=memory.field,
        )

    def _new_manifests(self, added: pa.Table, metadata: Metadata) -> list[ManifestInfo]:
        step = self._options.state_entries_per_manifest
        return [
            manifest_info(write_manifest(self._store, self._ambient, self._options, added.slice(start, step), metadata))
            for start in range(0, added.num_rows, step)
        ]

    def _without(
        self,
        base: StateManifest,
        manifests: Sequence[ManifestInfo],
        tombstones: Sequence[str],
        back: Sequence[str],
        metadata: Metadata,
    ) -> tuple[list[ManifestInfo], list[str]]:
        """Manifests that list a path which came back, rewritten without it, so that its tombstone can be dropped."""
        returning = pa.array(back, pa.string())
        dead = pa.array(tombstones, pa.string())
        kept: list[ManifestInfo] = []
        for old, carried in zip(base.manifests, manifests, strict=True):
            key = resolve_manifest(old.path, base.version, self._store.uri)
            paths = read_manifest(self._store, self._reader.resources, key, old.num_entries, ("path",)).table
            if not pc.any(pc.is_in(paths.column("path"), value_set=returning)).as_py():
                kept.append(carried)
                continue
            entries = read_manifest(self._store, self._reader.resources, key, old.num_entries, ALL_COLUMNS).table
            gone = pc.or_(
                pc.is_in(entries.column("path"), value_set=returning), pc.is_in(entries.column("path"), value_set=dead)
            )
            kept.extend(self._new_manifests(entries.filter(pc.invert(gone)), metadata))
        gone_paths = set(back)
        return kept, [path for path in tombstones if path not in gone_paths]

    def _existing(self, log: LoadedLog, *, may_be_void: bool) -> StateManifest:
        """The existing state of this version, if it lists the same files.

        It may be from an attempt whose answer was lost. It doesn't count if that was long ago.
        """
        there = self._reader.state(log.version)
        if may_be_void:
            self._check_manifests(state_key(log.version), there)
        ours, _ = read_entries(self._store, self._reader.resources, log, ("path",))
        theirs, _ = read_entries(self._store, self._reader.resources, rebased(log, there), ("path",))
        if set(ours.column("path").to_pylist()) != set(theirs.column("path").to_pylist()):
            raise CorruptTable(
                f"{state_key(log.version)} of {self._store.uri} was written by another program over version {log.version} and "
                f"lists other files. Stop that writer; `headgate table verify` shows what differs"
            )
        return there


def rebased(log: LoadedLog, state: StateManifest) -> LoadedLog:
    """The loaded log with this state, which must be of the same version, as its base."""
    plan = ReadPlan(state.version, Base(BaseKind.STATE, state.version), ())
    return replace(
        log,
        plan=plan,
        state=state,
        delta=Delta(),
        protocol=Protocol(state.protocol_version, state.protocol_version),
        known_metadata=state.metadata or log.known_metadata,
        registry=log.registry | {bare_hash(key): text for key, text in state.schema_registry.items()},
        version_files_read=0,
    )


def with_registry(metadata: Metadata, registry: Mapping[str, str]) -> Metadata:
    """States hold the document mappings twice: other writers keep only the copy in the configuration (section 13)."""
    mappings = {registry_key(hash_): text for hash_, text in registry.items()}
    return replace(metadata, configuration={**metadata.configuration, **mappings})
