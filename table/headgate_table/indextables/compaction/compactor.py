"""Runs a compaction plan: it reads the chosen manifests twice, writes new ones, and returns the swap. Commits nothing.

The first pass finds the live entries and their order, the second one moves them. Its memory grows with a dozen bytes
and the packed size of each entry; decoded entries of only a few manifests are in memory at a time.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.actions.doc_mapping import bare_hash, split_registry
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.column_kinds import ColumnKind, kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.messages.operations import CompactState, NewManifest
from headgate_table.indextables.compaction.entry_layout import SURVEYED_COLUMNS, EntrySurvey, Places, arranged, survey
from headgate_table.indextables.compaction.entry_pieces import Piece, cut, joined
from headgate_table.indextables.compaction.plan import CompactionPlan, compaction_due, plan_compaction
from headgate_table.indextables.format.doc_mappings import rename_refs, renaming
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.format.names import carried_path, log_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.manifests.path_index import find_entries
from headgate_table.indextables.manifests.runs import ManifestRun, ManifestRuns
from headgate_table.indextables.rules.swap import listed_in
from headgate_table.indextables.write.manifest_writer import NewName, encode_named, new_name
from headgate_table.settings.options import TableOptions

FEW_PATHS = 50_000
"""Up to which partition values are looked at one by one."""


class Compactor:
    """Plans and prepares compactions of one table's states."""

    def __init__(self, reader: LogReader, ambient: Ambient, options: TableOptions) -> None:
        self._reader = reader
        self._ambient = ambient
        self._options = options

    def plan(self, state: StateManifest, *, full: bool = False) -> CompactionPlan:
        """The manifests to rewrite; for a part of the state, with dead entries counted exactly."""
        if full or compaction_due(state, self._options) is None:
            return plan_compaction(state, (), self._options, full=full)
        places = {info.path: place for place, info in enumerate(state.manifests)}
        dead = [0] * len(state.manifests)
        found = find_entries(self._reader.store, self._reader.resources, state, state.tombstones)
        for entries in found.values():
            for entry in entries:
                dead[places[entry.manifest.path]] += 1
        idle = tuple(path for path in state.tombstones if path not in found)
        plan = plan_compaction(state, dead, self._options, idle=idle)
        is_part = plan.is_needed and len(plan.rewrite) < len(state.manifests)
        if is_part and (any(len(entries) > 1 for entries in found.values()) or self._is_listed_elsewhere(state, plan)):
            everything = tuple(range(len(state.manifests)))
            return CompactionPlan(everything, f"{plan.reason}; a path is in several manifests")
        return plan

    def _is_listed_elsewhere(self, state: StateManifest, plan: CompactionPlan) -> bool:
        """Whether a remaining manifest also lists a path that is to be rewritten: the order of manifests decides which
        entry counts.
        """
        chosen = set(plan.rewrite)
        rewritten = [state.manifests[place] for place in plan.rewrite]
        stays = [info for place, info in enumerate(state.manifests) if place not in chosen]
        runs = ManifestRuns(self._reader.store, self._reader.resources, state.version, rewritten)
        # For few paths their partitions help: most manifests can't hold them, and are not opened.
        are_few = sum(info.num_entries for info in rewritten) <= FEW_PATHS
        columns = ("path", "partition_values") if are_few else ("path",)
        return any(
            listed_in(self._reader, state, stays, table.column("path"), _partitions(table) if are_few else None)
            for tables in runs.each(lambda run, tables: list(tables), columns)
            for table in tables
        )

    def prepare(self, state: StateManifest, plan: CompactionPlan, metadata: Metadata) -> CompactState:
        """Write the new manifests and return the operation that swaps them in."""
        chosen = [state.manifests[place] for place in plan.rewrite]
        is_whole = len(chosen) == len(state.manifests)
        kinds = kinds_of(column_kinds(metadata.schema_string))
        runs = ManifestRuns(self._reader.store, self._reader.resources, state.version, chosen)
        surveys = self._surveyed(runs, metadata.partition_columns, state.tombstones)
        counts = [len(found.is_alive) for found in surveys]
        firsts = np.cumsum([0, *counts])
        places = arranged(
            surveys,
            [kinds.get(column, ColumnKind.OTHER) for column in metadata.partition_columns],
            lambda rows: _paths_at(runs, firsts.tolist(), rows),
        )
        # After a full rewrite, tombstones of paths that no manifest lists hide nothing.
        settled = dict.fromkeys(path for found in surveys for path in found.settled) | dict.fromkeys(plan.idle)
        renamed: Mapping[str, str] = {}
        mappings: Mapping[str, str] = {}
        if is_whole:
            known = {bare_hash(key): text for key, text in state.schema_registry.items()}
            known |= split_registry(metadata.configuration)[0]
            refs = [ref for found in surveys for ref in found.refs]
            renamed, mappings = renaming(refs, known, self._options.schema_renormalize_threshold)
        del surveys
        shares = self._shared_out(runs, firsts.tolist(), places, renamed)
        return CompactState(
            base=state.version,
            removes=tuple(carried_path(info.path, state.version) for info in chosen),
            adds=self._written(shares, metadata),
            tombstones=tuple(state.tombstones if is_whole else settled),
            mappings=dict(mappings),
        )

    def _surveyed(
        self, runs: ManifestRuns, partition_columns: Sequence[str], tombstones: Sequence[str]
    ) -> list[EntrySurvey]:
        dead = pa.array(tombstones, pa.string())

        def look(run: ManifestRun, tables: Iterator[pa.Table]) -> EntrySurvey:
            return survey(self._noting_paths(runs, run, tables), partition_columns, dead)

        return runs.each(look, SURVEYED_COLUMNS, is_last=False)

    def _noting_paths(self, runs: ManifestRuns, run: ManifestRun, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Remembers paths as far as there is room: a direct commit compares them next."""
        store, resources = self._reader.store, self._reader.resources
        for table in tables:
            yield table
            if table.num_rows != sum(info.num_entries for info in run.infos):
                continue  # a part of a large manifest
            first = 0
            for info in run.infos:
                paths = table.select(["path"]).slice(first, info.num_entries)
                first += info.num_entries
                if resources.cache.peek(store.uri, runs.key(info)) is None:
                    resources.remember(store.uri, runs.key(info), paths, paths.nbytes)

    def _shared_out(
        self, runs: ManifestRuns, firsts: Sequence[int], places: Places, renamed: Mapping[str, str]
    ) -> list[list[Piece]]:
        """The pieces of each new manifest."""
        step = self._options.state_entries_per_manifest
        shares: list[list[Piece]] = [[] for _ in range(0, int(places.max(initial=-1)) + 1, step)]

        def cut_up(run: ManifestRun, tables: Iterator[pa.Table]) -> list[tuple[int, Piece]]:
            found: list[tuple[int, Piece]] = []
            first = firsts[run.place]
            for table in tables:
                part = places[first : first + table.num_rows]
                found.extend(cut(rename_refs(table, renamed), part, step))
                first += table.num_rows
            return found

        for pieces in runs.each(cut_up, ALL_COLUMNS):
            for number, piece in pieces:
                shares[number].append(piece)
        return shares

    def _written(self, shares: list[list[Piece]], metadata: Metadata) -> tuple[NewManifest, ...]:
        store, resources = self._reader.store, self._reader.resources
        names = [new_name(self._ambient) for _ in shares]

        def encoded(name: NewName, pieces: list[Piece]) -> tuple[bytes, NewManifest]:
            return encode_named(name, self._options, joined(pieces), metadata)

        def write(number: int) -> NewManifest:
            pieces, shares[number] = shares[number], []  # freed as soon as they are joined
            data, manifest = resources.splitters.submit(encoded, names[number], pieces).result()
            store.put(log_key(manifest.path), data)
            return manifest

        return tuple(resources.each(write, range(len(shares))))


def _partitions(table: pa.Table) -> dict[str, dict[str, str]]:
    values = table.column("partition_values").to_pylist()
    return {path: dict(pairs) for path, pairs in zip(table.column("path").to_pylist(), values, strict=True)}


def _paths_at(runs: ManifestRuns, firsts: Sequence[int], rows: Places) -> pa.ChunkedArray:
    """The paths of these rows, which ascend."""

    def paths(run: ManifestRun, tables: Iterator[pa.Table]) -> list[pa.Array]:
        first, end = firsts[run.place], firsts[run.place + 1]
        found: list[pa.Array] = []
        if np.searchsorted(rows, first) == np.searchsorted(rows, end):
            return found
        for table in tables:
            low, high = np.searchsorted(rows, [first, first + table.num_rows])
            found.append(table.column("path").combine_chunks().take(pa.array(rows[low:high] - first)))
            first += table.num_rows
        return found

    pieces = [piece for found in runs.each(paths, ("path",), is_last=False) for piece in found]
    return pa.chunked_array(pieces, pa.string())
