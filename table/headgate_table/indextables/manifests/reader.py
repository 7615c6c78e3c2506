"""Reads manifests of a state: from memory, from the disk cache, or from the store, many at once.

`read.entry_reader` chooses the manifests, and combines their entries.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from headgate_schemas.metrics import STATE_READ_FILES, STATE_READ_MANIFESTS, STATE_READ_SECONDS
from headgate_table.avro.container import Container, parse_container
from headgate_table.avro.decode import KeepBlock
from headgate_table.avro.seal import check_place
from headgate_table.caching.resources import ReadResources
from headgate_table.errors import CorruptTable, ManifestMissing, ObjectMissing
from headgate_table.indextables.format.entries import decode_entries, decode_entries_together, ordered
from headgate_table.indextables.format.names import resolve_manifest
from headgate_table.indextables.format.state_manifest import ManifestInfo
from headgate_table.store.interface import Store

MAX_MANIFEST_BYTES = 512 << 20
SMALL_MANIFEST = 5_000
"""Entries up to which decoding a manifest by itself costs more than its entries do."""


@dataclass(frozen=True, slots=True)
class ManifestPart:
    """Entries of one manifest, and the cost of reading them."""

    table: pa.Table
    fetched: int
    cached: bool


def read_manifests(
    store: Store,
    resources: ReadResources,
    state_version: int,
    infos: Sequence[ManifestInfo],
    columns: Sequence[str],
    keep: KeepBlock | None = None,
) -> list[ManifestPart]:
    """The entries of several manifests of a state, in order. `keep` may leave out blocks."""
    measures = resources.measures
    with measures.timing(STATE_READ_SECONDS, "entries"):
        parts = _read_manifests(store, resources, state_version, infos, columns, keep)
    measures.observe(STATE_READ_MANIFESTS, len(parts))
    measures.observe(STATE_READ_FILES, sum(part.table.num_rows for part in parts))
    return parts


def _read_manifests(
    store: Store,
    resources: ReadResources,
    state_version: int,
    infos: Sequence[ManifestInfo],
    columns: Sequence[str],
    keep: KeepBlock | None,
) -> list[ManifestPart]:
    found: dict[int, ManifestPart] = {}
    small: list[int] = []
    large: list[int] = []
    for place, info in enumerate(infos):
        key = resolve_manifest(info.path, state_version, store.uri)
        known = _known(store, resources, key, info.num_entries, columns)
        if known is not None and set(columns) <= set(known.column_names):
            found[place] = ManifestPart(known.select(list(columns)), 0, True)
        elif keep is None and known is None and info.num_entries <= SMALL_MANIFEST:
            small.append(place)
        else:
            large.append(place)
    few = len(large) <= 2  # more manifests than that keep all cores busy by themselves

    def read_large(place: int) -> ManifestPart:
        key = resolve_manifest(infos[place].path, state_version, store.uri)
        if keep is None:
            return read_manifest(store, resources, key, infos[place].num_entries, columns, split=few)
        fetched, container = fetch_manifest(store, key, infos[place].num_entries)
        return ManifestPart(_decoded(resources, container, columns, keep, split=few), fetched, False)

    found |= dict(
        zip(small, _read_small(store, resources, state_version, [infos[i] for i in small], columns), strict=True)
    )
    found |= dict(zip(large, resources.each(read_large, large), strict=True))
    return [found[place] for place in range(len(infos))]


def _read_small(
    store: Store, resources: ReadResources, state_version: int, infos: Sequence[ManifestInfo], columns: Sequence[str]
) -> list[ManifestPart]:
    """Small manifests that are not cached: fetched in parallel, decoded together."""
    keys = [resolve_manifest(info.path, state_version, store.uri) for info in infos]
    pairs = list(zip(keys, [info.num_entries for info in infos], strict=True))
    fetched = resources.each(lambda pair: fetch_manifest(store, *pair), pairs)
    needed = ordered({"path", *columns})
    tables = decode_entries_together([container for _, container in fetched], needed, resources.splitters)
    parts = []
    for key, (size, _), table in zip(keys, fetched, tables, strict=True):
        if resources.disk is not None:
            resources.disk.put(store.uri, key, table)
        resources.remember(store.uri, key, table, table.nbytes)
        parts.append(ManifestPart(table.select(list(columns)), size, False))
    return parts


def read_manifest(
    store: Store,
    resources: ReadResources,
    key: str,
    num_entries: int | None,
    columns: Sequence[str],
    *,
    split: bool = False,
) -> ManifestPart:
    """One whole manifest with at least the given columns; decoded columns are cached and added to."""
    known = _known(store, resources, key, num_entries, columns)
    missing = [column for column in columns if known is None or column not in known.column_names]
    if known is not None and not missing:
        return ManifestPart(known.select(list(columns)), 0, True)
    # Every manifest has paths: fields that this writer lacks can't be read alone.
    fetched, container = fetch_manifest(store, key, num_entries)
    table = _decoded(resources, container, ordered({"path", *missing}), None, split=split).select(missing)
    if resources.disk is not None:
        resources.disk.put(store.uri, key, table)
    whole = table if known is None else _joined(known, table)
    resources.remember(store.uri, key, whole, whole.nbytes)
    return ManifestPart(whole.select(list(columns)), fetched, False)


def _decoded(
    resources: ReadResources, container: Container, columns: Sequence[str], keep: KeepBlock | None, *, split: bool
) -> pa.Table:
    """The entries of one manifest, decoded by all cores; or by one, if enough other manifests wait for their turn.

    More decodings at a time than there are cores would only take memory.
    """
    if split:
        return decode_entries(container, columns, resources.splitters, keep)
    return resources.splitters.submit(decode_entries, container, columns, None, keep).result()


def _known(
    store: Store, resources: ReadResources, key: str, num_entries: int | None, columns: Sequence[str]
) -> pa.Table | None:
    """The cached columns of a manifest: in memory, or else on disk; some columns may be missing."""
    known: pa.Table | None = resources.cache.get(store.uri, key)
    missing = [column for column in columns if known is None or column not in known.column_names]
    if not missing or resources.disk is None:
        return known
    found = resources.disk.get(store.uri, key, missing, num_entries if known is None else known.num_rows)
    if found is None:
        return known
    known = found if known is None else _joined(known, found)
    resources.remember(store.uri, key, known, known.nbytes)
    return known


def _joined(left: pa.Table, right: pa.Table) -> pa.Table:
    """The columns of both, which have the same rows."""
    for column in right.column_names:
        left = left.append_column(column, right.column(column))
    return left


def fetch_manifest(store: Store, key: str, num_entries: int | None) -> tuple[int, Container]:
    """The size and the bytes of a manifest, which must have as many entries as its state says."""
    try:
        data = store.get(key, max_bytes=MAX_MANIFEST_BYTES)
    except ObjectMissing as error:
        raise ManifestMissing(
            f"manifest {key} of {store.uri} is missing, so the files it lists can't be known. "
            f"`headgate table verify` shows which versions still read"
        ) from error
    container = parse_container(data, key)
    check_place(container.header, key)
    if num_entries is not None and container.num_records != num_entries:
        raise CorruptTable(
            f"{key} holds {container.num_records} entries but its state says {num_entries}; it is truncated or was replaced. "
            f"Run `headgate table verify {store.uri}`"
        )
    return len(data), container
