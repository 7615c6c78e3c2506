"""The files that are live at one place of a log and not at another; reads only the manifests that differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headgate_table.indextables.format.entries import added_table, entry_schema
from headgate_table.indextables.format.names import resolve_manifest
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.manifests.reader import read_manifest
from headgate_table.indextables.read.entry_reader import last_of_each_path

_IDENTITY = ("path", "size", "modification_time")
"""A path that stays, but with another size or time, is another file: it went, and came."""

REMOVED_FACTS = ("path", "partition_values", "size", "modification_time", "num_records")


class Live(Protocol):
    """A state and what versions after it changed, as a `LoadedLog` has them."""

    @property
    def state(self) -> StateManifest | None: ...

    @property
    def delta(self) -> Delta: ...


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two places: its manifests by key, in order, and the paths in its manifests that aren't live."""

    log: Live
    manifests: dict[str, ManifestInfo]
    dead: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """The entries of one manifest that could make a difference."""

    key: str
    rows: pa.Table


def difference(reader: LogReader, before: Live, after: Live, columns: Sequence[str]) -> tuple[pa.Table, pa.Table]:
    """The files that only `after` has, with these columns, and those that only `before` has, with `REMOVED_FACTS`.

    A manifest in both logs is opened only if tombstones or later adds differ. So a file that a writer lists a second
    time, in a new manifest beside the old one, counts as added again.
    """
    old, new = _side(reader, before), _side(reader, after)
    shared = old.manifests.keys() & new.manifests.keys()
    # An add hides the manifest's entry of its path, without a tombstone.
    on_top = {
        path for path in before.delta.added.keys() | after.delta.added.keys() if not _adds_same(before, after, path)
    }
    searched = pa.array(sorted((old.dead ^ new.dead) | on_top), pa.string())
    only_appended = old.manifests.keys() <= shared
    old_parts = _parts(reader, old, shared, searched, REMOVED_FACTS, REMOVED_FACTS)
    new_parts = _parts(reader, new, shared, searched, columns if only_appended else _IDENTITY, _IDENTITY)
    gone = _live(old, old_parts, REMOVED_FACTS)
    came = _live(new, new_parts, _IDENTITY)
    removed = gone.take(_missing_rows(gone, came))
    added_paths = came.column("path").take(_missing_rows(came, gone)).combine_chunks()
    return _whole(reader, new, new_parts, added_paths, columns), removed


def _adds_same(before: Live, after: Live, path: str) -> bool:
    return path in before.delta.added and before.delta.added[path] == after.delta.added.get(path)


def _side(reader: LogReader, log: Live) -> _Side:
    state = log.state
    if state is None:
        return _Side(log, {}, frozenset(log.delta.removed))
    uri = reader.store.uri
    manifests = {resolve_manifest(info.path, state.version, uri): info for info in state.manifests}
    return _Side(log, manifests, frozenset({*state.tombstones, *log.delta.removed}))


def _parts(
    reader: LogReader,
    side: _Side,
    shared: set[str],
    searched: pa.Array,
    own_columns: Sequence[str],
    shared_columns: Sequence[str],
) -> list[_Part]:
    """Whole manifests that only this side has; of shared ones, the entries with a searched path."""

    def part(key: str) -> _Part:
        columns = shared_columns if key in shared else own_columns
        rows = read_manifest(reader.store, reader.resources, key, side.manifests[key].num_entries, columns).table
        if key in shared:
            rows = rows.filter(pc.is_in(rows.column("path"), value_set=searched))
        return _Part(key, rows)

    keys = [key for key in side.manifests if key not in shared or len(searched)]
    return reader.resources.each(part, keys)


def _live(side: _Side, parts: Sequence[_Part], columns: Sequence[str]) -> pa.Table:
    """The live entries among the parts, and the files that later versions added."""
    tables = [part.rows.select(list(columns)) for part in parts]
    base = pa.concat_tables([entry_schema(columns).empty_table(), *tables])
    return pa.concat_tables([_without_hidden(side, base), added_table(side.log.delta.added.values(), columns)])


def _without_hidden(side: _Side, base: pa.Table) -> pa.Table:
    hidden = pa.array([*side.dead, *side.log.delta.added], pa.string())
    if len(hidden):
        base = base.filter(pc.invert(pc.is_in(base.column("path"), value_set=hidden)))
    return last_of_each_path(base)


def _missing_rows(left: pa.Table, right: pa.Table) -> pa.Array:
    """The rows of `left` whose file `right` lacks, ascending."""
    numbered = left.select(list(_IDENTITY)).append_column("row", pa.array(range(left.num_rows), pa.int64()))
    missing = numbered.join(right.select(list(_IDENTITY)), keys=list(_IDENTITY), join_type="left anti")
    rows = missing.column("row")
    return rows.take(pc.sort_indices(rows)).combine_chunks()


def _whole(reader: LogReader, side: _Side, parts: Sequence[_Part], paths: pa.Array, columns: Sequence[str]) -> pa.Table:
    """The entries of these live paths with all columns; opens only the manifests that hold one."""

    def entries(key: str) -> pa.Table:
        table = read_manifest(reader.store, reader.resources, key, side.manifests[key].num_entries, columns).table
        return table.filter(pc.is_in(table.column("path"), value_set=paths))

    holding = [part.key for part in parts if pc.any(pc.is_in(part.rows.column("path"), value_set=paths)).as_py()]
    found = pa.concat_tables([entry_schema(columns).empty_table(), *reader.resources.each(entries, holding)])
    wanted = set(paths.to_pylist())
    added = [file for path, file in side.log.delta.added.items() if path in wanted]
    return pa.concat_tables([_without_hidden(side, found), added_table(added, columns)])
