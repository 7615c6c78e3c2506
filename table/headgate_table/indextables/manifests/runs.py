"""Reads manifests from end to end, some thousand entries at a time: for work on whole states of any size.

It keeps only bytes, up to a bound, and nothing decoded. `reader` reads the entries for a query.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

import pyarrow as pa

from headgate_table.avro.container import Block, Container
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.format.entries import decode_entries_together
from headgate_table.indextables.format.names import resolve_manifest
from headgate_table.indextables.format.state_manifest import ManifestInfo
from headgate_table.indextables.manifests.reader import fetch_manifest
from headgate_table.store.interface import Store

RUN_ENTRIES = 50_000
"""Entries that are decoded together: one full manifest, or many small ones. Larger manifests are read in parts."""
HELD_BYTES = 128 << 20
"""Bytes of manifests, as they are stored, that are held for a second look: a state of two million files. Those beyond are
fetched again."""

_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class ManifestRun:
    """Manifests that are read together."""

    place: int
    infos: tuple[ManifestInfo, ...]


class ManifestRuns:
    """Manifests of a state in runs, in order; each may be read several times."""

    def __init__(
        self, store: Store, resources: ReadResources, state_version: int, infos: Sequence[ManifestInfo]
    ) -> None:
        self._store = store
        self._resources = resources
        self._state_version = state_version
        self._runs = tuple(_in_runs(infos))
        self._held: dict[int, list[Container]] = {}
        self._held_bytes = 0
        self._lock = Lock()

    def each(
        self, work: Callable[[ManifestRun, Iterator[pa.Table]], _R], columns: Sequence[str], *, is_last: bool = True
    ) -> list[_R]:
        """`work` on the entries of each run, which come in parts; results in order.

        Several runs are fetched at a time, but at most as many as there are cores are worked on. After the last pass
        nothing is kept.
        """
        resources = self._resources

        def one(run: ManifestRun) -> _R:
            containers = self._fetched(run, keep=not is_last)
            return resources.splitters.submit(lambda: work(run, _tables(containers, columns))).result()

        return resources.each(one, self._runs)

    def key(self, info: ManifestInfo) -> str:
        """The key of a manifest."""
        return resolve_manifest(info.path, self._state_version, self._store.uri)

    def _fetched(self, run: ManifestRun, *, keep: bool) -> list[Container]:
        with self._lock:
            held = self._held.get(run.place) if keep else self._held.pop(run.place, None)
        if held is not None:
            return held
        fetched = [fetch_manifest(self._store, self.key(info), info.num_entries) for info in run.infos]
        containers = [container for _, container in fetched]
        size = sum(taken for taken, _ in fetched)
        with self._lock:
            if keep and self._held_bytes + size <= HELD_BYTES:
                self._held[run.place] = containers
                self._held_bytes += size
        return containers


def _in_runs(infos: Sequence[ManifestInfo]) -> Iterator[ManifestRun]:
    run: list[ManifestInfo] = []
    entries = place = 0
    for info in infos:
        if run and entries + info.num_entries > RUN_ENTRIES:
            yield ManifestRun(place, tuple(run))
            run, entries, place = [], 0, place + 1
        run.append(info)
        entries += info.num_entries
    if run:
        yield ManifestRun(place, tuple(run))


def _tables(containers: Sequence[Container], columns: Sequence[str]) -> Iterator[pa.Table]:
    for part in _parts(containers):
        yield pa.concat_tables(decode_entries_together(part, columns))


def _parts(containers: Sequence[Container]) -> Iterator[list[Container]]:
    """All entries at once, or pieces of a single manifest that is too large for that."""
    if len(containers) > 1 or containers[0].num_records <= RUN_ENTRIES:
        yield list(containers)
        return
    blocks: list[Block] = []
    entries = 0
    for block in containers[0].blocks:
        if blocks and entries + block.count > RUN_ENTRIES:
            yield [replace(containers[0], blocks=tuple(blocks))]
            blocks, entries = [], 0
        blocks.append(block)
        entries += block.count
    yield [replace(containers[0], blocks=tuple(blocks))]
