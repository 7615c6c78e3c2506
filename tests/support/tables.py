"""Builders for tests of tables that we write: files, entries and whole tables on a store. Each says only what matters.

What lies on the store afterwards is read by `raw_log`, which knows nothing of our code.
"""

import hashlib
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pyarrow as pa

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.actions.avro_schemas import schema_text
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, EntryField, FieldKind
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Create
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.resources import ReadResources, new_resources
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.commit import DirectCommitter
from headgate_table.indextables.write.create import create_table
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.stores.memory import MemoryStore

START_MS = 1_780_000_000_000
SYNC = bytes(range(16))

_processes = itertools.count(1)
"""Two processes never draw the same ids."""
COLUMNS = "id BIGINT, text STRING, date DATE, region STRING, month INT"

SCHEMA_A: tuple[EntryField, ...] = tuple(field for field in ENTRY_FIELDS if field.in_schema_a)
SCHEMA_B: tuple[EntryField, ...] = ENTRY_FIELDS

ARROW_TYPES: Mapping[FieldKind, pa.DataType] = {
    FieldKind.STRING: pa.string(),
    FieldKind.LONG: pa.int64(),
    FieldKind.INT: pa.int32(),
    FieldKind.BOOLEAN: pa.bool_(),
    FieldKind.STRING_MAP: pa.map_(pa.string(), pa.string()),
    FieldKind.STRING_LIST: pa.list_(pa.string()),
}


class SteadyAmbient:
    """A clock that moves by a second whenever it is asked, ids that repeat from run to run, and sleep in no time."""

    def __init__(self, seed: str = "steady") -> None:
        self._seed = seed
        self._drawn = 0
        self.time_ms = START_MS

    def now_ms(self) -> int:
        self.time_ms += 1000
        return self.time_ms

    def monotonic_s(self) -> float:
        return self.time_ms / 1000

    def new_id(self) -> str:
        self._drawn += 1
        return hashlib.sha256(f"{self._seed}/{self._drawn}".encode()).hexdigest()[:32]

    def jitter(self) -> float:
        return 0.5

    def sleep(self, seconds: float) -> None:
        pass

    def wait_for_any(self, work: Collection[Future[Any]], timeout_s: float) -> None:
        pass


def fresh_resources(parallelism: int = 8, *, caches: bool = True) -> ReadResources:
    """Threads and an empty cache of their own, or a cache that holds nothing."""
    return new_resources(ObjectCache(lambda: 0.0) if caches else ObjectCache(lambda: 0.0, max_bytes=0), parallelism)


def new_table(
    store: Store | None = None,
    *partition_by: str,
    interval: int = 10,
    settings: Mapping[str, str] | None = None,
    configuration: Mapping[str, str] | None = None,
    ambient: Ambient | None = None,
) -> Table:
    """A table at version 0 on the store (in memory, without one)."""
    place = MemoryStore() if store is None else store
    chosen = ambient or SteadyAmbient(f"process {next(_processes)}")
    create = Create(schema_string_of(COLUMNS), partition_columns=partition_by, configuration=dict(configuration or {}))
    create_table(LogReader(place, fresh_resources()), chosen, create)
    return opened(place, interval=interval, settings=settings, ambient=chosen)


def opened(
    store: Store,
    *,
    interval: int = 10,
    settings: Mapping[str, str] | None = None,
    ambient: Ambient | None = None,
    resources: ReadResources | None = None,
) -> Table:
    """The table on a store, as a process sees it that has read nothing yet."""
    chosen = {"checkpoint.interval": str(interval), **(settings or {})}
    return Table(store, ambient or SteadyAmbient(f"process {next(_processes)}"), resources or fresh_resources(), chosen)


def committer_of(table: Table) -> DirectCommitter:
    """The one by which the table commits, for ids, times and read sets that a table's methods don't take."""
    return table._log("a log of versions").committer


def add_file(name: str, size: int = 1000, /, **values: Any) -> AddFile:
    """A file in the folder of its partition. Keywords that name columns of the test schema are partition values."""
    partition: dict[str, str] = {key: str(values.pop(key)) for key in ("date", "region", "month") if key in values}
    folder = "".join(f"{column}={text}/" for column, text in partition.items())
    found: dict[str, Any] = {"modification_time": START_MS, "num_records": 10, **values}
    return AddFile(path=f"{folder}{name}.parquet", partition_values=partition, size=size, **found)


def files(prefix: str, count: int, **values: Any) -> list[AddFile]:
    return [add_file(f"{prefix}-{number:05d}", 1000 + number, **values) for number in range(count)]


def arrow_entries(rows: Sequence[Mapping[str, Any]], fields: Sequence[EntryField] = SCHEMA_A) -> pa.Table:
    """Rows keyed by our column names, with dicts for maps, as the Arrow table of entries that our writer takes."""
    arrays = []
    for field in fields:
        values = [row.get(field.column) for row in rows]
        if field.kind is FieldKind.STRING_MAP:
            values = [None if value is None else list(value.items()) for value in values]
        arrays.append(pa.array(values, ARROW_TYPES[field.kind]))
    return pa.Table.from_arrays(arrays, names=[field.column for field in fields])


def entries(
    count: int, partition: Callable[[int], Mapping[str, str]] = lambda number: {}, *, first: int = 0
) -> pa.Table:
    """Entries as tables usually have them: every field set that real writers set, the others null."""
    numbers = range(first, first + count)
    return arrow_entries(
        [
            {
                "path": f"part-{number:08d}.parquet",
                "partition_values": partition(number),
                "size": 10_000 + number,
                "modification_time": START_MS + number,
                "data_change": True,
                "min_values": {"id": str(number)},
                "max_values": {"id": str(number + 9)},
                "num_records": 10,
                "footer_start_offset": 9_000,
                "footer_end_offset": 10_000,
                "has_footer_offsets": True,
                "num_merge_ops": 0,
                "doc_mapping_ref": "gC45RGOqJ_Grt0xH",
                "uncompressed_size_bytes": 9_000,
                "added_at_version": 1,
                "added_at_timestamp": START_MS,
            }
            for number in numbers
        ]
    )


def text_of(fields: Sequence[EntryField]) -> bytes:
    """The schema text that belongs to the fields of schema A or B."""
    return schema_text("file_entry_a" if len(fields) == len(SCHEMA_A) else "file_entry_b")
