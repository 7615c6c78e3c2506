"""Finding paths in manifests without looking at every entry: per manifest, hashes in order, built once and cached.

Hashes only narrow the search; what is found is compared as text.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headgate_schemas.actions import NULL_PARTITION
from headgate_schemas.column_kinds import ColumnKind
from headgate_schemas.partition_text import escape_partition_text
from headgate_schemas.predicates import Comparison, Op
from headgate_table.indextables.entry_reader import read_manifest
from headgate_table.indextables.manifest_pruning import may_contain
from headgate_table.indextables.names import has_numeric_bounds, resolve_manifest
from headgate_table.indextables.resources import ReadResources
from headgate_table.indextables.state_manifest import ManifestInfo, StateManifest
from headgate_table.store.interface import Store

FACT_COLUMNS = ("path", "partition_values", "size", "num_records")


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry of a manifest, dead or alive, by its place."""

    manifest: ManifestInfo
    path: str
    partition_values: Mapping[str, str]
    size: int
    num_records: int | None


@dataclass(frozen=True, slots=True)
class _HashOrder:
    hashes: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]

    def candidates(self, wanted: npt.NDArray[np.int64]) -> Iterable[tuple[int, int]]:
        """Pairs (position in `wanted`, row) whose hashes agree."""
        low = np.searchsorted(self.hashes, wanted, side="left")
        high = np.searchsorted(self.hashes, wanted, side="right")
        for position in np.flatnonzero(high > low):
            for index in range(int(low[position]), int(high[position])):
                yield int(position), int(self.rows[index])


def find_entries(
    store: Store,
    resources: ReadResources,
    state: StateManifest | None,
    paths: Sequence[str],
    partitions: Mapping[str, Mapping[str, str]] | None = None,
) -> dict[str, list[FoundEntry]]:
    """Every entry, tombstoned ones too, that has one of the paths; in the order of the manifests.

    `partitions` may name the partition values of paths that spell them out as folders: manifests whose bounds exclude
    these are not opened.
    """
    found: dict[str, list[FoundEntry]] = {}
    if state is None or not paths:
        return found
    distinct = list(dict.fromkeys(paths))

    def search(info: ManifestInfo) -> list[FoundEntry]:
        wanted = [path for path in distinct if partitions is None or _may_hold(info, path, partitions.get(path))]
        return _search(store, resources, state.version, info, wanted) if wanted else []

    for entries in resources.each(search, state.manifests):
        for entry in entries:
            found.setdefault(entry.path, []).append(entry)
    return found


def _search(
    store: Store, resources: ReadResources, state_version: int, info: ManifestInfo, wanted: list[str]
) -> list[FoundEntry]:
    key = resolve_manifest(info.path, state_version, store.uri)
    order = _hash_order(store, resources, key, info.num_entries)
    hashes = np.fromiter(map(hash, wanted), np.int64, len(wanted))
    pairs = list(order.candidates(hashes))
    if not pairs:
        return []
    table = read_manifest(store, resources, key, info.num_entries, FACT_COLUMNS).table
    facts = table.take(pa.array([row for _, row in pairs], pa.int64())).to_pylist()
    return [
        FoundEntry(info, fact["path"], dict(fact["partition_values"]), fact["size"], fact["num_records"])
        for (position, _), fact in zip(pairs, facts, strict=True)
        if fact["path"] == wanted[position]
    ]


def _hash_order(store: Store, resources: ReadResources, key: str, num_entries: int) -> _HashOrder:
    cached = resources.cache.get(store.uri, f"{key}#paths")
    if cached is not None:
        return cached  # type: ignore[no-any-return]  # only this function puts values under such keys
    # All fact columns at once: whoever looks up paths asks for the facts of what is found next.
    table = read_manifest(store, resources, key, num_entries, FACT_COLUMNS).table
    paths = table.column("path").to_pylist()
    hashes = np.fromiter(map(hash, paths), np.int64, len(paths))
    rows = np.argsort(hashes, kind="stable").astype(np.int32)
    order = _HashOrder(hashes[rows], rows)
    resources.remember(store.uri, f"{key}#paths", order, order.hashes.nbytes + order.rows.nbytes)
    return order


def _may_hold(info: ManifestInfo, path: str, values: Mapping[str, str] | None) -> bool:
    """False only when the path spells out a partition value that lies outside of the manifest's bounds."""
    if values is None or info.partition_bounds is None:
        return True
    folders = set(path.split("/")[:-1])
    for column, text in values.items():
        if text == NULL_PARTITION or not text:
            continue
        spelled = f"{column}={text}" in folders or f"{column}={escape_partition_text(text)}" in folders
        equal = Comparison(column, Op.EQ, text)
        if spelled and not may_contain(
            equal, info.partition_bounds, {column: ColumnKind.STRING}, has_numeric_bounds(info.path)
        ):
            return False
    return True
