"""Verifies one state: its manifests decode and hold what the state says, and no path is live twice."""

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.actions.doc_mapping import bare_hash
from headgate_schemas.columns.column_kinds import parse_floating, parse_integer
from headgate_table.indextables.format.bounds import Bounds
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.format.map_column import map_values
from headgate_table.indextables.format.names import resolve_manifest
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.manifests.reader import MAX_MANIFEST_BYTES, read_manifest
from headgate_table.interface.findings import Findings, examples
from headgate_table.store.interface import ObjectInfo
from headgate_table.store.paths import check_key
from headgate_table.totals import as_total, exact_sum

_DAMAGED = "restore it, or save what is readable with `headgate table repair`"


class ManifestVerifier:
    """Checks the manifests of states; each manifest is checked once for each claim about it."""

    def __init__(self, reader: LogReader, objects: dict[str, ObjectInfo], findings: Findings) -> None:
        self._reader = reader
        self._objects = objects
        self._findings = findings
        self._checked: dict[str, list[ManifestInfo]] = {}
        self.referenced: set[str] = set()

    def verify(self, state: StateManifest, name: str, mappings: Collection[str]) -> set[str] | None:
        """Check all claims of the state, and return its live paths; None if a manifest can't be read.

        `mappings` are the hashes of the document mappings that can be looked up.
        """
        tombstones = pa.array(state.tombstones, pa.string())
        live: set[str] = set()
        twice: set[str] = set()
        hidden: set[str] = set()
        total_bytes = 0
        complete = True
        for info in state.manifests:
            table = self._manifest(state, info, name, mappings)
            if table is None:
                complete = False
                continue
            is_dead = pc.is_in(table.column("path"), value_set=tombstones)
            alive = table.filter(pc.invert(is_dead))
            total_bytes += exact_sum(alive.column("size"))
            hidden.update(table.column("path").filter(is_dead).to_pylist())
            for path in alive.column("path").to_pylist():
                if path in live:
                    twice.add(path)
                live.add(path)
        if twice:
            self._findings.error(
                name,
                f"{len(twice)} paths are live twice: {examples(twice)}; some readers count their rows twice",
                "`headgate table compact` keeps each once",
            )
        if not complete:
            return None
        self._totals(state, name, len(live), as_total(total_bytes), len(set(state.tombstones) - hidden))
        return live

    def _totals(self, state: StateManifest, name: str, files: int, total_bytes: int, idle: int) -> None:
        compact = "nothing reads wrongly; a full `headgate table compact` corrects it"
        if state.num_files != files:
            self._findings.warning(name, f"it says numFiles {state.num_files}, but {files} files are live", compact)
        if state.total_bytes != total_bytes:
            self._findings.warning(
                name, f"it says totalBytes {state.total_bytes}, but its live files take {total_bytes}", compact
            )
        if idle:
            self._findings.note(name, f"{idle} tombstones hide nothing", compact)

    def _manifest(
        self, state: StateManifest, info: ManifestInfo, name: str, mappings: Collection[str]
    ) -> pa.Table | None:
        uri = self._reader.store.uri
        key = self._findings.attempt(name, lambda: check_key(resolve_manifest(info.path, state.version, uri)), _DAMAGED)
        if key is None:
            return None
        first_time = key not in self.referenced
        self.referenced.add(key)
        listed = self._objects.get(key)
        if listed is None and self._reader.store.head(key) is None:
            self._findings.error(key, f"it is missing, but state {state.version} refers to it", _DAMAGED)
            return None
        if listed is not None and listed.size > MAX_MANIFEST_BYTES:
            self._findings.error(
                key, f"it takes {listed.size} bytes; more than {MAX_MANIFEST_BYTES} are refused", _DAMAGED
            )
            return None
        table = self._read(key, first_time)
        if table is None:
            return None
        said = replace(info, path=key)
        if said not in self._checked.setdefault(key, []):
            self._checked[key].append(said)
            if first_time:
                self._findings.manifests += 1
                self._findings.entries += table.num_rows
            self._compare(key, said, table, state.version)
        unknown = {
            bare_hash(ref) for ref in table.column("doc_mapping_ref").unique().to_pylist() if ref is not None
        } - set(mappings)
        if unknown:
            self._findings.error(
                key,
                f"its entries refer to document mappings that nothing defines: {examples(unknown)}",
                "these files can be listed but not searched; restore the schema registry from an earlier state",
            )
        return table

    def _read(self, key: str, first_time: bool) -> pa.Table | None:
        def read() -> pa.Table:
            return read_manifest(self._reader.store, self._reader.resources, key, None, ALL_COLUMNS).table

        if first_time:
            return self._findings.attempt(key, read, _DAMAGED)
        return Findings().attempt(key, read, _DAMAGED)  # it was reported the first time

    def _compare(self, key: str, said: ManifestInfo, table: pa.Table, version: int) -> None:
        if said.num_entries != table.num_rows:
            self._findings.error(
                key, f"it holds {table.num_rows} entries, but state {version} says {said.num_entries}", _DAMAGED
            )
        for column, bounds in (said.partition_bounds or {}).items():
            self._bounds(key, version, column, bounds, table)
        if (said.min_added_at_version, said.max_added_at_version) != (0, 0) and table.num_rows:
            found = pc.min_max(table.column("added_at_version")).as_py()
            if found["min"] < said.min_added_at_version or found["max"] > said.max_added_at_version:
                self._findings.warning(
                    key,
                    f"its entries were added in versions {found['min']} to {found['max']}, but state {version} says "
                    f"{said.min_added_at_version} to {said.max_added_at_version}",
                    "`headgate table compact` corrects it",
                )

    def _bounds(self, key: str, version: int, column: str, bounds: Bounds, table: pa.Table) -> None:
        texts = map_values(table.column("partition_values"), column).unique().to_pylist()
        values = {text for text in texts if text is not None and text not in ("", NULL_PARTITION)}
        if bounds.min is None and bounds.max is None:
            if values:
                self._findings.warning(
                    key,
                    f"state {version} gives {column} null bounds, as if it had no values, but there is {examples(values)}",
                    "other implementations may skip it for IS NOT NULL; `headgate table compact` writes new bounds",
                )
            return
        outside = {text for text in values if not _inside(text, bounds)}
        if outside:
            self._findings.error(
                key,
                f"state {version} says that {column} lies between {bounds.min!r} and {bounds.max!r}, but there is "
                f"{examples(outside)}; readers with a filter miss these files",
                "`headgate table compact` writes new bounds",
            )


def _inside(text: str, bounds: Bounds) -> bool:
    """Whether the value lies within, by some order that writers have used (docs/format.md, section 7)."""
    low, high = bounds.min, bounds.max
    if low is None or high is None:
        return True  # no reader can skip by a single bound
    if low <= text <= high:
        return True
    whole = [parse_integer(item) for item in (low, text, high)]
    if whole[0] is not None and whole[1] is not None and whole[2] is not None:
        return whole[0] <= whole[1] <= whole[2]
    # One bound may be a text beside numbers: then the two are compared as texts, the others as numbers.
    return _at_most(low, text) and _at_most(text, high)


def _at_most(left: str, right: str) -> bool:
    first, second = parse_floating(left), parse_floating(right)
    return first <= second if first is not None and second is not None else left <= right
