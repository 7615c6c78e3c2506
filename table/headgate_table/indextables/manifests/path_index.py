"""Finds paths in the manifests of a state without looking at every entry.

`caching.path_orders` shows by hashes where a path may be; only there the manifest is read, and texts are compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.partition_text import escape_partition_text
from headgate_schemas.predicates.tree import Comparison, Op
from headgate_table.caching.path_orders import PathOrder, path_hashes
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.format.names import has_numeric_bounds, resolve_manifest
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest
from headgate_table.indextables.manifests.pruning import may_contain
from headgate_table.indextables.manifests.reader import read_manifests
from headgate_table.store.interface import Store

_Spelled = tuple[tuple[str, str], ...]

_Pairs = list[tuple[int, int]]

FACT_COLUMNS = ("path", "partition_values", "size", "num_records")

ENTRIES_AT_ONCE = 50_000
"""Entries in memory at a time while paths are looked for in manifests that nothing is known of: one full manifest."""
ENTRY_BYTES = 12
"""What an order takes for an entry."""


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An entry of a manifest, dead or alive, by its place."""

    manifest: ManifestInfo
    path: str
    partition_values: Mapping[str, str]
    size: int
    num_records: int | None


def find_entries(
    store: Store,
    resources: ReadResources,
    state: StateManifest | None,
    paths: Sequence[str],
    partitions: Mapping[str, Mapping[str, str]] | None = None,
    among: Sequence[ManifestInfo] | None = None,
) -> dict[str, list[FoundEntry]]:
    """Every entry, tombstoned ones too, that has one of the paths; in the order of the manifests.

    `partitions` may give the partition values of paths that contain them as folders: manifests whose bounds exclude
    these are not opened. `among` may restrict the search to some of the state's manifests.
    """
    found: dict[str, list[FoundEntry]] = {}
    if state is None or not paths:
        return found
    needed_bytes = ENTRY_BYTES * sum(info.num_entries for info in state.manifests)
    if among is not None:
        state = replace(state, manifests=tuple(among))
    asked = sorted(dict.fromkeys(paths), key=hash)  # the searches of one manifest are then close together
    hashes = path_hashes(asked)
    keys = [_key(store, state, info) for info in state.manifests]
    orders = [resources.orders.get(store.uri, key) for key in keys]
    entries: dict[int, list[FoundEntry]] = {}
    hits: list[tuple[int, _Pairs]] = []
    for place, order in enumerate(orders):
        if order is not None and (pairs := order.candidates(hashes)):
            hits.append((place, pairs))
    unread = [place for place, order in enumerate(orders) if order is None]
    for batch in _batches(_that_may_hold(state, unread, asked, partitions or {}), state):
        infos = [state.manifests[place] for place in batch]
        # All fact columns at once: callers need the facts of the found entries next.
        parts = read_manifests(store, resources, state.version, infos, FACT_COLUMNS)
        for place, part in zip(batch, parts, strict=True):
            order = PathOrder.of(part.table.column("path"))
            resources.orders.put(store.uri, keys[place], order)
            entries[place] = _found(state.manifests[place], part.table, order.candidates(hashes), asked)
    pairs_of = dict(hits)
    for batch in _batches(list(pairs_of), state):
        infos = [state.manifests[place] for place in batch]
        parts = read_manifests(store, resources, state.version, infos, FACT_COLUMNS)
        for place, part in zip(batch, parts, strict=True):
            entries[place] = _found(state.manifests[place], part.table, pairs_of[place], asked)
    resources.orders.trim(store.uri, needed_bytes)
    for place in sorted(entries):
        for entry in entries[place]:
            found.setdefault(entry.path, []).append(entry)
    return found


def index_new(store: Store, resources: ReadResources, state: StateManifest, before: StateManifest | None) -> None:
    """Prepare the search in manifests that the state before didn't have, so that the first search needn't wait."""
    known = set() if before is None else {_key(store, before, info) for info in before.manifests}
    new = [
        place
        for place, info in enumerate(state.manifests)
        if (key := _key(store, state, info)) not in known and resources.orders.get(store.uri, key) is None
    ]
    for batch in _batches(new, state):
        infos = [state.manifests[place] for place in batch]
        for info, part in zip(infos, read_manifests(store, resources, state.version, infos, FACT_COLUMNS), strict=True):
            resources.orders.put(store.uri, _key(store, state, info), PathOrder.of(part.table.column("path")))


def _key(store: Store, state: StateManifest, info: ManifestInfo) -> str:
    return resolve_manifest(info.path, state.version, store.uri)


def _that_may_hold(
    state: StateManifest, places: Sequence[int], paths: Sequence[str], partitions: Mapping[str, Mapping[str, str]]
) -> list[int]:
    """The manifests among these that may hold one of the paths, by their bounds."""
    if not places:
        return []
    spelled = dict.fromkeys(_spelled(path, partitions.get(path)) for path in paths)
    return [place for place in places if any(_may_hold(state.manifests[place], each) for each in spelled)]


def _batches(places: Sequence[int], state: StateManifest) -> Iterator[list[int]]:
    """As many manifests at a time as fit in memory together, in order."""
    batch: list[int] = []
    entries = 0
    for place in places:
        if batch and entries + state.manifests[place].num_entries > ENTRIES_AT_ONCE:
            yield batch
            batch, entries = [], 0
        batch.append(place)
        entries += state.manifests[place].num_entries
    if batch:
        yield batch


def _found(info: ManifestInfo, table: pa.Table, pairs: _Pairs, paths: Sequence[str]) -> list[FoundEntry]:
    if not pairs:
        return []
    facts = table.take(pa.array([row for _, row in pairs], pa.int64())).to_pylist()
    return [
        FoundEntry(info, fact["path"], dict(fact["partition_values"]), fact["size"], fact["num_records"])
        for (position, _), fact in zip(pairs, facts, strict=True)
        if fact["path"] == paths[position]
    ]


def _spelled(path: str, values: Mapping[str, str] | None) -> _Spelled:
    """The partition values in the folders of a path."""
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
    """False only if a partition value in the path lies outside of the manifest's bounds."""
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
