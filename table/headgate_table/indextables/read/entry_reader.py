"""The live entries of a loaded log as Arrow: manifests pruned, read in parallel, tombstones and later versions applied.

Skipping is always sound: a pruned read equals a filtered full read (docs/format.md, section 7).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.tree import Predicate, columns
from headgate_table.avro.decode import KeepBlock
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.format.entries import added_table, entry_schema, ordered
from headgate_table.indextables.format.names import has_numeric_bounds
from headgate_table.indextables.format.state_manifest import ManifestInfo
from headgate_table.indextables.log.reader import LoadedLog
from headgate_table.indextables.manifests.pruning import may_contain
from headgate_table.indextables.manifests.reader import ManifestPart, read_manifests
from headgate_table.indextables.read.distinct_texts import all_distinct
from headgate_table.indextables.read.entry_filter import candidate_texts, columns_needed, entry_mask
from headgate_table.interface.snapshot import ReadStatistics
from headgate_table.store.interface import Store


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """A predicate, and the values that its evaluation on entries needs."""

    predicate: Predicate
    kinds: Mapping[str, ColumnKind]
    partition_columns: Sequence[str]

    @property
    def is_exact(self) -> bool:
        """Whether it is true for all rows of the files that are kept."""
        return columns(self.predicate) <= frozenset(self.partition_columns)


class ReadManifests(Protocol):
    """Reads the entries of a state's manifests with the given columns, in order; it may keep entries that `where`
    excludes.
    """

    def __call__(
        self,
        store: Store,
        resources: ReadResources,
        state_version: int,
        infos: Sequence[ManifestInfo],
        columns: Sequence[str],
        where: EntryFilter | None,
    ) -> list[ManifestPart]: ...


def read_here(
    store: Store,
    resources: ReadResources,
    state_version: int,
    infos: Sequence[ManifestInfo],
    columns: Sequence[str],
    where: EntryFilter | None,
) -> list[ManifestPart]:
    """Reads in this process."""
    keep = _block_test(where) if where is not None else None
    return read_manifests(store, resources, state_version, infos, columns, keep)


def read_entries(
    store: Store,
    resources: ReadResources,
    log: LoadedLog,
    columns: Iterable[str],
    where: EntryFilter | None = None,
    read_parts: ReadManifests = read_here,
) -> tuple[pa.Table, ReadStatistics]:
    """The live entries with the given columns (and perhaps more), and the cost."""
    asked = ordered(columns)
    wanted = {"path", *asked}
    if where is not None:
        wanted |= columns_needed(where.predicate, where.partition_columns)
    read = ordered(wanted)
    infos = log.state.manifests if log.state is not None else ()
    kept = [info for info in infos if where is None or _may_contain(info, where)]
    parts = read_parts(store, resources, log.state.version, kept, read, where) if log.state is not None else []
    base = _live(log, [part.table for part in parts], read)
    added = added_table(log.delta.added.values(), read)
    entries = pa.concat_tables([base, added]) if added.num_rows else base
    if where is not None:
        entries = entries.filter(entry_mask(where.predicate, entries, where.kinds, where.partition_columns))
    entries = entries.select(list(asked))
    statistics = ReadStatistics(
        manifests_read=sum(not part.cached for part in parts),
        manifests_skipped=len(infos) - len(kept),
        manifests_cached=sum(part.cached for part in parts),
        version_files_read=log.version_files_read,
        entries_decoded=sum(part.table.num_rows for part in parts),
        entries_skipped=sum(info.num_entries for info in infos) - sum(part.table.num_rows for part in parts),
        entries_returned=entries.num_rows,
        bytes_fetched=sum(part.fetched for part in parts),
    )
    return entries, statistics


def _may_contain(info: ManifestInfo, where: EntryFilter) -> bool:
    return may_contain(where.predicate, info.partition_bounds, where.kinds, has_numeric_bounds(info.path))


def _block_test(where: EntryFilter) -> KeepBlock | None:
    texts = candidate_texts(where.predicate, where.kinds, where.partition_columns)
    if texts is None:
        return None
    return lambda block: any(text in block for text in texts)


def _live(log: LoadedLog, tables: Sequence[pa.Table], columns: Sequence[str]) -> pa.Table:
    if not tables:
        return entry_schema(columns).empty_table()
    base = pa.concat_tables(tables)
    tombstones = log.state.tombstones if log.state is not None else ()
    hidden = [*tombstones, *log.delta.removed, *log.delta.added]
    if hidden:
        base = base.filter(pc.invert(pc.is_in(base.column("path"), value_set=pa.array(hidden, pa.string()))))
    return last_of_each_path(base)


def last_of_each_path(base: pa.Table) -> pa.Table:
    """A path in two manifests counts once, by the entry of the later manifest (docs/format.md, section 5.3)."""
    rows = last_rows(base.column("path"))
    return base if rows is None else base.take(rows)


def last_rows(paths: pa.ChunkedArray) -> pa.Array | None:
    """The last row of each path, ascending; None if no path occurs twice."""
    if all_distinct(paths):
        return None
    rows = pa.table({"path": paths, "row": pa.array(range(len(paths)), pa.int64())})
    last = rows.group_by("path").aggregate([("row", "max")]).column("row_max").combine_chunks()
    return last.take(pc.sort_indices(last))
