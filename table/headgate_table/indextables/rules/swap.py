"""Checks and applies a swap of manifests, the effect of `compact_state` on a state."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.messages.operations import CompactState, NewManifest
from headgate_table.errors import CorruptTable, StoreError
from headgate_table.indextables.format.bounds import Bounds
from headgate_table.indextables.format.names import carried_path, resolve_manifest
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.manifests.path_index import find_entries
from headgate_table.indextables.manifests.runs import ManifestRun, ManifestRuns
from headgate_table.indextables.read.distinct_texts import same_texts
from headgate_table.store.interface import Store

LOOKED_UP_AT_ONCE = 50_000
"""Paths that are looked up in other manifests at a time, for the memory that they take."""
MAX_UNPROPOSED_MS = 10 * 60_000
"""Between writing a manifest and the bus taking the proposal that names it: half of the age below which cleaning keeps every
manifest. A cleaner that looked at the bus before that knows nothing of the proposal, and may delete older ones at any time."""


def swap_difference(reader: LogReader, state: StateManifest, operation: CompactState) -> str | None:
    """The difference between the new manifests and the live entries of those that they replace; None without one."""
    unknown = set(operation.tombstones) - set(state.tombstones)
    if unknown:
        return f"{min(unknown)} is no tombstone of state {state.version}"
    removes = set(operation.removes)
    replaced = [info for info in state.manifests if carried_path(info.path, state.version) in removes]
    dropped = pa.array(operation.tombstones, pa.string())
    try:
        old = _paths(reader, state.version, replaced, dropped)
        new = _paths(reader, state.version, [manifest_info(manifest) for manifest in operation.adds])
        difference = None if same_texts(old, new) else _difference(old, new)
        if difference is not None or len(replaced) == len(state.manifests):
            return difference
        # The entry of such a path in a remaining manifest would become live, or would count.
        kept = [info for info in state.manifests if carried_path(info.path, state.version) not in removes]
        paths = pa.chunked_array([new, dropped.cast(pa.large_string())])
        elsewhere = listed_in(reader, state, kept, paths)
    except (CorruptTable, StoreError) as error:
        return str(error)
    return None if elsewhere is None else f"{elsewhere} is listed in another manifest, too; compact the whole state"


def unsafe_manifest(store: Store, operation: CompactState, taken_ms: int) -> str | None:
    """A new manifest that a cleaner may be about to delete, because the bus took its proposal so late; None without
    one.
    """
    for manifest in operation.adds:
        info = store.head(resolve_manifest(manifest.path, operation.base, store.uri))
        if info is None:
            return f"{manifest.path} is not there"
        if taken_ms - info.modified_ms > MAX_UNPROPOSED_MS:
            minutes = (taken_ms - info.modified_ms) // 60_000
            return f"{manifest.path} was proposed {minutes} minutes after it was written, and may be cleaned up by now"
    return None


def listed_in(
    reader: LogReader,
    state: StateManifest,
    manifests: Sequence[ManifestInfo],
    paths: pa.ChunkedArray,
    partitions: Mapping[str, Mapping[str, str]] | None = None,
) -> str | None:
    """One of the paths that these manifests of the state list, dead or alive; None without one."""
    for start in range(0, len(paths), LOOKED_UP_AT_ONCE):
        wanted = paths.slice(start, LOOKED_UP_AT_ONCE).to_pylist()
        found = find_entries(reader.store, reader.resources, state, wanted, partitions, among=manifests)
        if found:
            return next(iter(found))
    return None


def _difference(old: pa.LargeStringArray, new: pa.LargeStringArray) -> str | None:
    """The difference, by hash tables, which find the path."""
    old = old.unique()
    if len(old) != len(new):
        return f"{len(old)} live entries became {len(new)}"
    missing = old.filter(pc.invert(pc.is_in(old, value_set=new)))
    if len(missing):
        return f"{missing[0].as_py()} is missing"
    if pc.count_distinct(new).as_py() != len(new):
        return "a path is listed twice"
    return None


def apply_swap(state: StateManifest, operation: CompactState) -> StateManifest:
    """The state after the swap. Tombstones that came after the operation's base stay."""
    gone = set(operation.removes)
    settled = set(operation.tombstones)
    kept = [
        replace(info, path=carried_path(info.path, state.version))
        for info in state.manifests
        if carried_path(info.path, state.version) not in gone
    ]
    tombstones = tuple(path for path in state.tombstones if path not in settled)
    swapped = replace(
        state,
        manifests=(*(manifest_info(manifest) for manifest in operation.adds), *kept),
        tombstones=tombstones,
    )
    if kept or tombstones:
        return swapped
    # Everything is new: estimates that earlier writers carried from state to state end here.
    return replace(
        swapped,
        num_files=sum(manifest.num_entries for manifest in operation.adds),
        total_bytes=sum(manifest.total_bytes for manifest in operation.adds),
    )


def manifest_info(manifest: NewManifest) -> ManifestInfo:
    bounds = manifest.partition_bounds
    return ManifestInfo(
        path=manifest.path,
        num_entries=manifest.num_entries,
        min_added_at_version=manifest.min_added_at_version,
        max_added_at_version=manifest.max_added_at_version,
        partition_bounds=None if bounds is None else {column: Bounds(*pair) for column, pair in bounds.items()},
        live_entry_count=manifest.num_entries,
    )


def _paths(
    reader: LogReader, state_version: int, infos: Sequence[ManifestInfo], without: pa.Array | None = None
) -> pa.LargeStringArray:
    """The paths in these manifests, in any order."""
    store, resources = reader.store, reader.resources
    columns: list[pa.ChunkedArray] = []
    unread: list[ManifestInfo] = []
    for info in infos:
        known = resources.cache.get(store.uri, resolve_manifest(info.path, state_version, store.uri))
        if known is not None and "path" in known.column_names:
            columns.append(known.column("path"))
        else:
            unread.append(info)

    def read(run: ManifestRun, tables: Iterator[pa.Table]) -> list[pa.ChunkedArray]:
        return [table.column("path") for table in tables]

    for found in ManifestRuns(reader.store, reader.resources, state_version, unread).each(read, ("path",)):
        columns.extend(found)
    if without is not None and len(without):
        columns = [column.filter(pc.invert(pc.is_in(column, value_set=without))) for column in columns]
    # Together they may exceed the offsets of plain Arrow strings.
    chunks = [chunk.cast(pa.large_string()) for column in columns for chunk in column.chunks]
    return pa.concat_arrays(chunks) if chunks else pa.array([], pa.large_string())
