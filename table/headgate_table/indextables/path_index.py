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
from headgate_table.indextables.manifest_pruning import may_contain
from headgate_table.indextables.manifest_reader import read_manifest, read_manifests
from headgate_table.indextables.names import has_numeric_bounds, resolve_manifest
from headgate_table.indextables.resources import ReadResources
from headgate_table.indextables.state_manifest import ManifestInfo, StateManifest
from headgate_table.store.interface import Store

_Spelled = tuple[tuple[str, str], ...]

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
    groups: dict[_Spelled, list[str]] = {}
    for path in dict.fromkeys(paths):
        groups.setdefault(_spelled(path, (partitions or {}).get(path)), []).append(path)
    wanted_of = [
        [path for spelled, members in groups.items() if _may_hold(info, spelled) for path in members]
        for info in state.manifests
    ]
    searched = [(info, wanted) for info, wanted in zip(state.manifests, wanted_of, strict=True) if wanted]
    unknown = [info for info, _ in searched if not _has_order(resources, _key(store, state, info), store.uri)]
    # Together, since a state may have many small manifests; what stays in memory is found there by the search.
    read_manifests(store, resources, state.version, unknown, FACT_COLUMNS)
    for entries in resources.each(lambda pair: _search(store, resources, _key(store, state, pair[0]), *pair), searched):
        for entry in entries:
            found.setdefault(entry.path, []).append(entry)
    return found


def _key(store: Store, state: StateManifest, info: ManifestInfo) -> str:
    return resolve_manifest(info.path, state.version, store.uri)


def _search(
    store: Store, resources: ReadResources, key: str, info: ManifestInfo, wanted: list[str]
) -> list[FoundEntry]:
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


def _has_order(resources: ReadResources, key: str, uri: str) -> bool:
    return resources.cache.peek(uri, f"{key}#paths") is not None


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


def _spelled(path: str, values: Mapping[str, str] | None) -> _Spelled:
    """The partition values that a path spells out as folders."""
    if not values:
        return ()
    folders = set(path.split("/")[:-1])
    return tuple(
        (column, text)
        for column, text in values.items()
        if text
        and text != NULL_PARTITION
        and (f"{column}={text}" in folders or f"{column}={escape_partition_text(text)}" in folders)
    )


def _may_hold(info: ManifestInfo, spelled: _Spelled) -> bool:
    """False only when a spelled-out partition value lies outside of the manifest's bounds."""
    if info.partition_bounds is None:
        return True
    return all(
        may_contain(
            Comparison(column, Op.EQ, text),
            info.partition_bounds,
            {column: ColumnKind.STRING},
            has_numeric_bounds(info.path),
        )
        for column, text in spelled
    )
