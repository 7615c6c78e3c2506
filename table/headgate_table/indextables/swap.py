"""Checking and applying a swap of manifests: what `compact_state` does to a state."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.operations import CompactState, NewManifest
from headgate_table.errors import CorruptTable, StoreError
from headgate_table.indextables.bounds import Bounds
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.manifest_reader import read_manifest
from headgate_table.indextables.names import carried_path, resolve_manifest
from headgate_table.indextables.state_manifest import ManifestInfo, StateManifest

_COLUMNS = ("path", "size")


def swap_difference(reader: LogReader, state: StateManifest, operation: CompactState) -> str | None:
    """What differs between the new manifests and the live entries of those they replace; None when nothing does."""
    replaced = [info for info in state.manifests if carried_path(info.path, state.version) in set(operation.removes)]
    try:
        old = _paths(reader, state.version, replaced)
        new = _paths(reader, state.version, [manifest_info(manifest) for manifest in operation.adds])
    except (CorruptTable, StoreError) as error:
        return str(error)
    dropped = pa.array(operation.tombstones, pa.string())
    unknown = set(operation.tombstones) - set(state.tombstones)
    if unknown:
        return f"{min(unknown)} is no tombstone of state {state.version}"
    old_live = old.filter(pc.invert(pc.is_in(old, value_set=dropped))).unique()
    if len(old_live) != len(new):
        return f"{len(old_live)} live entries became {len(new)}"
    missing = old_live.filter(pc.invert(pc.is_in(old_live, value_set=new)))
    if len(missing):
        return f"{missing[0].as_py()} is missing"
    if pc.count_distinct(new).as_py() != len(new):
        return "a path is listed twice"
    if len(replaced) < len(state.manifests):
        return _listed_elsewhere(reader, state, operation, pa.concat_arrays([new, dropped]))
    return None


def _listed_elsewhere(reader: LogReader, state: StateManifest, operation: CompactState, paths: pa.Array) -> str | None:
    """A path that a manifest which stays lists as well: its entry there would come to life, or come to count."""
    removes = set(operation.removes)
    kept = [info for info in state.manifests if carried_path(info.path, state.version) not in removes]
    others = _paths(reader, state.version, kept)
    both = others.filter(pc.is_in(others, value_set=paths))
    return f"{both[0].as_py()} is listed in another manifest, too; compact the whole state" if len(both) else None


def apply_swap(state: StateManifest, operation: CompactState) -> StateManifest:
    """The state with the swap in it. Tombstones that came after the operation's base stay."""
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
    # All is new: estimates that earlier writers carried from state to state end here.
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


def _paths(reader: LogReader, state_version: int, infos: Sequence[ManifestInfo]) -> pa.Array:
    def paths(info: ManifestInfo) -> pa.ChunkedArray:
        key = resolve_manifest(info.path, state_version, reader.store.uri)
        return read_manifest(reader.store, reader.resources, key, info.num_entries, _COLUMNS).table.column("path")

    chunks = [chunk for column in reader.resources.each(paths, infos) for chunk in column.chunks]
    return pa.chunked_array(chunks, type=pa.string()).combine_chunks() if chunks else pa.array([], pa.string())
