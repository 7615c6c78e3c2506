"""The task of an executor in a read of a table's log: it decodes some manifests and returns the entries that may match."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headgate_schemas.ambient import SystemAmbient
from headgate_table.caching.resources import lean_resources
from headgate_table.indextables.format.state_manifest import ManifestInfo
from headgate_table.indextables.read.entry_filter import entry_mask
from headgate_table.indextables.read.entry_reader import EntryFilter, read_here
from headgate_table.store.interface import Store

PLACE, FETCHED, ENTRIES = "place", "fetched", "entries"
COLUMNS = f"{PLACE} long, {FETCHED} long, {ENTRIES} binary"

_PACKING = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class ManifestTask:
    """The list of manifests; each row of a task is an index into it."""

    store: Store
    state_version: int
    infos: Sequence[ManifestInfo]
    columns: Sequence[str]
    where: EntryFilter | None

    def as_map(self) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        """For `DataFrame.mapInArrow`. All of this travels in the function and not in rows, because Spark shows plans to
        people.
        """
        task = self

        def headgate_manifests(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield from task.decoded(batch.column(0).to_pylist())

        return headgate_manifests

    def decoded(self, places: Sequence[int]) -> Iterator[pa.RecordBatch]:
        # This process belongs to Spark, so the parts are composed here.
        resources = lean_resources(SystemAmbient().monotonic_s)
        try:
            for place in places:
                part = read_here(
                    self.store, resources, self.state_version, [self.infos[place]], self.columns, self.where
                )[0]
                yield pa.record_batch(
                    [
                        pa.array([place], pa.int64()),
                        pa.array([part.fetched], pa.int64()),
                        pa.array([packed(self._kept(part.table))], pa.binary()),
                    ],
                    names=[PLACE, FETCHED, ENTRIES],
                )
        finally:
            resources.fetchers.shutdown()
            resources.splitters.shutdown()

    def _kept(self, entries: pa.Table) -> pa.Table:
        """The entries that may match. A path always names one file, so both entries of a path in two manifests match,
        or none.
        """
        if self.where is None:
            return entries
        return entries.filter(entry_mask(self.where.predicate, entries, self.where.kinds, self.where.partition_columns))


def packed(entries: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, entries.schema, options=_PACKING) as writer:
        writer.write_table(entries)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def unpacked(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
