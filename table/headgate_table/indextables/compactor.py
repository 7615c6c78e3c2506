"""Running a compaction plan: read the chosen manifests, drop dead entries, sort, write new manifests. Commits nothing."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions import Metadata
from headgate_schemas.ambient import Ambient
from headgate_schemas.doc_mapping import bare_hash, split_registry
from headgate_schemas.operations import CompactState
from headgate_schemas.table_schema import column_kinds
from headgate_table.indextables.compaction import CompactionPlan, partition_order, plan_compaction
from headgate_table.indextables.doc_mappings import renormalise_entries
from headgate_table.indextables.entries import ALL_COLUMNS
from headgate_table.indextables.entry_reader import last_rows
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.manifest_reader import read_manifest
from headgate_table.indextables.manifest_writer import write_manifest
from headgate_table.indextables.names import carried_path, resolve_manifest
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.path_index import find_entries
from headgate_table.indextables.state_manifest import ManifestInfo, StateManifest


class Compactor:
    """Plans and prepares compactions of one table's states."""

    def __init__(self, reader: LogReader, ambient: Ambient, options: TableOptions) -> None:
        self._reader = reader
        self._ambient = ambient
        self._options = options

    def plan(self, state: StateManifest, *, full: bool = False) -> CompactionPlan:
        """What to rewrite, with dead entries counted exactly."""
        places = {info.path: place for place, info in enumerate(state.manifests)}
        dead = [0] * len(state.manifests)
        duplicates = False
        if full and state.tombstones:
            # All will be rewritten: fetched with every column now, no manifest is fetched again for the rest later.
            self._read(state, state.manifests)
        found = find_entries(self._reader.store, self._reader.resources, state, state.tombstones)
        for entries in found.values():
            duplicates = duplicates or len(entries) > 1
            for entry in entries:
                dead[places[entry.manifest.path]] += 1
        plan = plan_compaction(state, dead, self._options, full=full)
        if plan.is_needed and (duplicates or self._is_listed_elsewhere(state, plan)):
            return CompactionPlan(tuple(range(len(state.manifests))), f"{plan.reason}; a path is in several manifests")
        return plan

    def _is_listed_elsewhere(self, state: StateManifest, plan: CompactionPlan) -> bool:
        """Whether a path to rewrite is in a manifest that stays, too: which entry counts depends on their order."""
        chosen = set(plan.rewrite)
        stays = [info for place, info in enumerate(state.manifests) if place not in chosen]
        if not stays:
            return False
        paths = pa.concat_tables(self._read(state, [state.manifests[place] for place in plan.rewrite]))
        others = pa.concat_tables(self._read(state, stays, ("path",)))
        return bool(pc.any(pc.is_in(others.column("path"), value_set=paths.column("path"))).as_py())

    def prepare(self, state: StateManifest, plan: CompactionPlan, metadata: Metadata) -> CompactState:
        """Write the new manifests and return the operation that swaps them in."""
        chosen = [state.manifests[place] for place in plan.rewrite]
        entries = pa.concat_tables(self._read(state, chosen))
        dead = pa.array(state.tombstones, pa.string())
        is_dead = pc.is_in(entries.column("path"), value_set=dead)
        settled = entries.column("path").filter(is_dead).unique().to_pylist()
        # With everything rewritten, tombstones of paths that no manifest lists have nothing left to hide.
        if len(chosen) == len(state.manifests):
            settled = list(state.tombstones)
        # Rows are chosen and ordered by number, and taken a manifest at a time: entries are never copied as a whole.
        rows = pc.indices_nonzero(pc.invert(is_dead))
        last = last_rows(entries.column("path").take(rows))
        rows = rows if last is None else rows.take(last)
        mappings: dict[str, str] = {}
        if len(chosen) == len(state.manifests):
            known = {bare_hash(key): text for key, text in state.schema_registry.items()}
            known |= split_registry(metadata.configuration)[0]
            entries, mappings = renormalise_entries(entries, known, self._options.schema_renormalize_threshold)
        kinds = column_kinds(metadata.schema_string)
        rows = rows.take(
            partition_order(entries.select(["partition_values"]).take(rows), metadata.partition_columns, kinds)
        )
        entries = entries.select([name for name in entries.column_names if _has_values(entries.column(name))])
        step = self._options.state_entries_per_manifest
        adds = tuple(
            write_manifest(
                self._reader.store,
                self._ambient,
                self._options,
                entries.take(rows.slice(start, step)),
                metadata,
            )
            for start in range(0, len(rows), step)
        )
        return CompactState(
            base=state.version,
            removes=tuple(carried_path(info.path, state.version) for info in chosen),
            adds=adds,
            tombstones=tuple(settled),
            mappings=mappings,
        )

    def _read(
        self, state: StateManifest, infos: Sequence[ManifestInfo], columns: Sequence[str] = ALL_COLUMNS
    ) -> list[pa.Table]:
        store, resources = self._reader.store, self._reader.resources

        def entries(info: ManifestInfo) -> pa.Table:
            key = resolve_manifest(info.path, state.version, store.uri)
            return read_manifest(store, resources, key, info.num_entries, columns).table

        return resources.each(entries, infos)


def _has_values(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count < len(column))
