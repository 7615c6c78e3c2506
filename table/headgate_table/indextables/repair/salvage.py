"""Reads as much as possible of a damaged log: the newest live files that can be determined, and all damage found.

A sound log is simply read. Otherwise every state and checkpoint, and the very beginning, is tried as a base; the one
with the fewest missing pieces up to the newest version is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import Action, Metadata
from headgate_schemas.actions.doc_mapping import bare_hash, split_registry
from headgate_schemas.errors import InvalidInput, MalformedAction
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable
from headgate_table.indextables.format.added_files import added_files
from headgate_table.indextables.format.entries import ALL_COLUMNS, entry_schema
from headgate_table.indextables.format.json_checkpoint import read_checkpoint
from headgate_table.indextables.format.names import resolve_manifest, version_key
from headgate_table.indextables.format.replay import AddedFile, Delta
from headgate_table.indextables.format.state_manifest import MAX_STATE_BYTES, StateManifest
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES
from headgate_table.indextables.log.inventory import LogInventory, take_inventory
from headgate_table.indextables.log.predecessor import is_named, replaced_text
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.resolve import states_in_history
from headgate_table.indextables.manifests.reader import MAX_MANIFEST_BYTES, read_manifest
from headgate_table.indextables.read.entry_reader import last_of_each_path, read_entries
from headgate_table.store.interface import ObjectInfo

_DAMAGE = (CorruptTable, UnsupportedTable, ObjectMissing, InvalidInput, MalformedAction)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result. `version` is the newest one that was used."""

    version: int
    files: list[AddedFile]
    metadata: Metadata | None
    registry: dict[str, str]
    damage: tuple[str, ...] = ()
    is_complete: bool = True
    """Whether the way to the newest version had every piece, in spite of the damage."""


def salvage(reader: LogReader) -> Salvaged:
    """The newest live files of a log.

    Raises `TableNotFound` if there is no log at all, and `UnsupportedTable` for one that a newer Headgate must repair.
    """
    try:
        log = reader.latest()
        entries, _ = read_entries(reader.store, reader.resources, log, ALL_COLUMNS)
        return Salvaged(log.version, list(added_files(entries)), reader.metadata(log), dict(log.registry))
    except (CorruptTable, ObjectMissing, InvalidInput, MalformedAction) as error:
        return _Salvage(reader, take_inventory(reader.store), str(error)).run()


def readable_piece(reader: LogReader) -> str | None:
    """The key of a readable piece of the log with table content, newest first; None if there is none.

    Manifests alone don't count: they don't show which of them, and of their entries, are live. A piece for a newer
    Headgate counts as readable, since another release can read it. Raises `StoreError` if the store doesn't answer.
    """
    inventory = take_inventory(reader.store)
    pieces: list[tuple[int, ObjectInfo, int, Callable[[], object]]] = []
    for number, info in inventory.versions.items():
        pieces.append((number, info, MAX_VERSION_FILE_BYTES, partial(reader.actions, number)))
    for number, folder in inventory.states.items():
        if folder.manifest is not None:
            pieces.append((number, folder.manifest, MAX_STATE_BYTES, partial(reader.state, number)))
    for number, info in inventory.checkpoints.items():
        read = partial(reader.store.get, max_bytes=MAX_VERSION_FILE_BYTES)
        pieces.append((number, info, MAX_VERSION_FILE_BYTES, partial(read_checkpoint, number, read)))
    for _, info, limit, work in sorted(pieces, key=lambda piece: piece[0], reverse=True):
        if info.size <= limit and _says_something(work):
            return info.key
    return None


def _says_something(work: Callable[[], object]) -> bool:
    try:
        found = work()
    except UnsupportedTable:
        return True
    except (CorruptTable, ObjectMissing, InvalidInput, MalformedAction):
        return False
    # A version file may be sound and empty.
    return found != []


@dataclass(slots=True)
class _Attempt:
    """The way from one base to the newest version."""

    version: int
    entries: pa.Table
    delta: Delta = field(default_factory=Delta)
    lost: list[str] = field(default_factory=list)
    pieces_lost: int = 0


class _Salvage:
    def __init__(self, reader: LogReader, inventory: LogInventory, first: str) -> None:
        self._reader = reader
        self._inventory = inventory
        self._first = first
        self._damage: dict[str, str] = {}
        self._states = self._read_states()

    def run(self) -> Salvaged:
        starts = [(number, True) for number in states_in_history(self._states)]
        starts += [(number, False) for number in self._inventory.checkpoints]
        best: _Attempt | None = None
        for number, is_state in [*sorted(starts, reverse=True), (-1, False)]:
            attempt = self._from(number, is_state)
            if attempt is not None and (best is None or attempt.pieces_lost < best.pieces_lost):
                best = attempt
            if best is not None and not best.lost:
                break
        assert best is not None  # starting without a base always works
        hidden = pa.array([*best.delta.removed, *best.delta.added], pa.string())
        kept = best.entries.filter(pc.invert(pc.is_in(best.entries.column("path"), value_set=hidden)))
        return Salvaged(
            version=best.version,
            files=[*added_files(last_of_each_path(kept)), *best.delta.added.values()],
            metadata=self._metadata(),
            registry=self._registry(),
            is_complete=best.pieces_lost == 0,
            damage=tuple(dict.fromkeys([*(self._damage.values() or [self._first]), *best.lost])),
        )

    def _from(self, number: int, is_state: bool) -> _Attempt | None:
        attempt = _Attempt(number, entry_schema(ALL_COLUMNS).empty_table())
        if is_state:
            self._take_state(self._states[number], attempt)
        elif number >= 0:
            actions = self._checkpoint(number)
            if actions is None:
                return None
            attempt.delta.apply(number, actions)
        inventory = self._inventory
        highest = max([*inventory.versions, *inventory.states, *inventory.checkpoints], default=-1)
        later = [version for version in inventory.versions if version > number]
        gone = highest - number - len(later)
        for version in later:
            actions = self._version(version)
            if actions is None or self._is_replaced(version, actions):
                attempt.lost.append(f"what version {version} added and removed is lost")
            else:
                attempt.delta.apply(version, actions)
                attempt.version = version
        if gone:
            attempt.lost.append(f"{gone} versions after {number} have no version file; what they did is lost")
            attempt.pieces_lost += gone - 1
        attempt.pieces_lost += len(attempt.lost)
        return attempt

    def _is_replaced(self, version: int, actions: list[Action]) -> bool:
        """Whether the next version says that another file was here when it was written."""
        if version + 1 not in self._inventory.versions:
            return False
        if is_named(actions, self._version(version + 1) or ()) is not False:
            return False
        self._damage[version_key(version)] = replaced_text(version)
        return True

    def _take_state(self, state: StateManifest, attempt: _Attempt) -> None:
        tables = []
        for info in state.manifests:
            table = self._try(info.path, partial(self._manifest, info.path, state.version))
            if table is None:
                attempt.lost.append(
                    f"{info.num_entries} files that manifest {info.path} of state {state.version} lists are lost"
                )
            else:
                tables.append(table)
                if table.num_rows != info.num_entries:
                    attempt.lost.append(
                        f"manifest {info.path} holds {table.num_rows} files, but state {state.version} says {info.num_entries}; "
                        f"it is truncated or was replaced"
                    )
        if tables:
            entries = pa.concat_tables(tables)
            dead = pc.is_in(entries.column("path"), value_set=pa.array(state.tombstones, pa.string()))
            attempt.entries = entries.filter(pc.invert(dead))

    def _manifest(self, path: str, state_version: int) -> pa.Table:
        store = self._reader.store
        key = resolve_manifest(path, state_version, store.uri)
        listed = store.head(key)
        if listed is not None and listed.size > MAX_MANIFEST_BYTES:
            raise CorruptTable(f"{key} takes {listed.size} bytes; more than {MAX_MANIFEST_BYTES} are refused")
        return read_manifest(store, self._reader.resources, key, None, ALL_COLUMNS).table

    def _read_states(self) -> dict[int, StateManifest]:
        found = {}
        for number, folder in self._inventory.states.items():
            if folder.manifest is not None:
                state = self._sized(folder.manifest, MAX_STATE_BYTES, partial(self._reader.state, number))
                if state is not None:
                    found[number] = state
        return found

    def _version(self, version: int) -> list[Action] | None:
        return self._sized(
            self._inventory.versions[version], MAX_VERSION_FILE_BYTES, partial(self._reader.actions, version)
        )

    def _checkpoint(self, version: int) -> list[Action] | None:
        def read(key: str) -> bytes:
            return self._reader.store.get(key, max_bytes=MAX_VERSION_FILE_BYTES)

        return self._sized(
            self._inventory.checkpoints[version], MAX_VERSION_FILE_BYTES, partial(read_checkpoint, version, read)
        )

    def _sized(self, info: ObjectInfo, limit: int, work: Callable[[], _T]) -> _T | None:
        if info.size > limit:
            self._damage[info.key] = f"{info.key} takes {info.size} bytes; more than {limit} are refused"
            return None
        return self._try(info.key, work)

    def _try(self, name: str, work: Callable[[], _T]) -> _T | None:
        try:
            return work()
        except _DAMAGE as error:
            self._damage[name] = str(error)
            return None

    def _metadata(self) -> Metadata | None:
        """The newest metadata in any readable piece."""
        numbers = sorted({*self._inventory.versions, *self._inventory.checkpoints, *self._states}, reverse=True)
        for number in numbers:
            if number in self._inventory.versions:
                found = _last_metadata(self._version(number))
                if found is not None:
                    return found
            state = self._states.get(number)
            if state is not None and state.metadata is not None:
                return state.metadata
            if number in self._inventory.checkpoints:
                found = _last_metadata(self._checkpoint(number))
                if found is not None:
                    return found
        return None

    def _registry(self) -> dict[str, str]:
        """Every document mapping in any readable piece; they are named by their contents, so none is stale."""
        registry: dict[str, str] = {}
        for state in self._states.values():
            registry |= {bare_hash(key): text for key, text in state.schema_registry.items()}
            if state.metadata is not None:
                registry |= split_registry(state.metadata.configuration)[0]
        for version in self._inventory.versions:
            for action in self._version(version) or ():
                if isinstance(action, Metadata):
                    registry |= split_registry(action.configuration)[0]
        for version in self._inventory.checkpoints:
            for action in self._checkpoint(version) or ():
                if isinstance(action, Metadata):
                    registry |= split_registry(action.configuration)[0]
        return registry


def _last_metadata(actions: list[Action] | None) -> Metadata | None:
    found = [action for action in actions or () if isinstance(action, Metadata)]
    return found[-1] if found else None
