"""Rows of a snapshot's Parquet files as a stream, in the order of their paths, in bounded memory.

The snapshot chooses the files; `row_shape` converts their columns, `row_filter` filters their rows.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.column_kinds import ColumnKind, kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds
from headgate_schemas.predicates.tree import Predicate
from headgate_schemas.predicates.tree import columns as columns_of
from headgate_table.caching.resources import ReadResources
from headgate_table.errors import CorruptTable, ObjectMissing, StoreError, UnsupportedTable
from headgate_table.indextables.read.rows.column_defaults import column_defaults
from headgate_table.indextables.read.rows.row_filter import row_filter, row_group_filter
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.interface.readable_rows import checked_columns
from headgate_table.store.arrow_files import arrow_file_system, system_failure
from headgate_table.store.interface import Store

FILES_AHEAD = 8
"""Files whose footers are fetched while the rows of an earlier one are read."""
WHOLE_FILE_BYTES = 4 << 20
"""A remote file up to this size is fetched by one request; with `FILES_AHEAD` this bounds what waits in memory."""
READ_AHEAD = 3
"""Files of up to `WHOLE_FILE_BYTES` whose rows are decoded while those of an earlier one are handed on: one by one, small files
would keep one processor busy."""
BATCH_ROWS = 65_536
BATCHES_AHEAD = 2

DAMAGE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowKeyError, OSError)
"""What PyArrow raises for bytes that are no Parquet file, or no longer: a damaged footer may ask for an encoding or codec
that nobody implements. Of an `OSError`, `system_failure` tells whose it is."""

_OPTIONS = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")
PARQUET = ds.ParquetFileFormat(
    read_options=_OPTIONS, default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True)
)
"""Checksums of pages are optional. Where a file has them, a changed bit is an error instead of a wrong row."""
_LOCAL_PARQUET = ds.ParquetFileFormat(
    read_options=_OPTIONS,
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False, page_checksum_verification=True),
)
"""Fetching ranges ahead holds the whole file in memory, and saves requests only where there are any."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    partition_values: Mapping[str, str | None]
    size: int


def scan_files(
    store: Store,
    resources: ReadResources,
    metadata: Metadata,
    files: pa.Table,
    columns: Sequence[str] | None,
    where: Predicate | None,
) -> pa.RecordBatchReader:
    """The rows of `files` (path, partition_values, size) for which `where` is true, with the table's types.

    Raises `InvalidInput` for an unknown column, `UnsupportedTable` if the files aren't Parquet. When the stream reaches
    it, a missing or damaged file is a `CorruptTable` that names it, and one that the system refuses to open a
    `StoreError`.
    """
    check_readable(store.uri, metadata, files)
    rows = _Rows(store, resources, metadata, columns, where)
    ordered = files.select(["path", "partition_values", "size"]).sort_by("path")
    return pa.RecordBatchReader.from_batches(rows.schema, rows.batches(_listed(ordered)))


def check_readable(uri: str, metadata: Metadata, files: pa.Table) -> None:
    """Raise `UnsupportedTable` unless the rows of these files (path) can be read."""
    split = pc.any(pc.ends_with(files.column("path"), ".split")).as_py()
    if split or metadata.format_provider != "parquet":
        kind = ".split files" if split or metadata.format_provider == "indextables" else metadata.format_provider
        raise UnsupportedTable(
            f"{uri} holds {kind}, and only rows of Parquet files can be read; snapshot.files() still works"
        )
    if not metadata.schema_string:
        raise UnsupportedTable(
            f"the log of {uri} knows no schema, so its rows have no shape; read the files of snapshot.paths()"
        )


def _listed(files: pa.Table) -> Iterator[_File]:
    for batch in files.to_batches(max_chunksize=1024):
        for row in batch.to_pylist():
            yield _File(row["path"], dict(row["partition_values"] or ()), row["size"])


@dataclass(slots=True)
class _Ahead:
    """A file that is read ahead of its turn."""

    file: _File
    opening: "Future[ds.ParquetFileFragment]"
    reading: "Future[list[pa.RecordBatch]] | None" = None

    def cancel(self) -> None:
        self.opening.cancel()
        if self.reading is not None:
            self.reading.cancel()


class _Rows:
    """The plan of one scan: the same for every file."""

    def __init__(
        self,
        store: Store,
        resources: ReadResources,
        metadata: Metadata,
        columns: Sequence[str] | None,
        where: Predicate | None,
    ) -> None:
        self._store = store
        self._resources = resources
        self._files = arrow_file_system(store)
        table = arrow_schema(metadata.schema_string)
        kinds = kinds_of(column_kinds(metadata.schema_string))
        names = checked_columns(columns, table.names)
        needed = dict.fromkeys([*names, *sorted(columns_of(where) if where is not None else ())])
        self._where = where
        self._kinds: Mapping[str, ColumnKind] = kinds
        self._filter = None if where is None else row_filter(where, table, kinds)
        partition_kinds = {name: kinds[name] for name in metadata.partition_columns if name in needed}
        needed_schema = pa.schema([table.field(name) for name in needed])
        defaults = column_defaults(metadata.schema_string, needed_schema)
        self._shape = RowShape(needed_schema, partition_kinds, defaults, frozenset(table.names))
        self.schema = pa.schema([table.field(name) for name in names])

    def batches(self, files: Iterator[_File]) -> Iterator[pa.RecordBatch]:
        ahead: deque[_Ahead] = deque()
        try:
            while True:
                while len(ahead) < FILES_AHEAD and (file := next(files, None)) is not None:
                    ahead.append(_Ahead(file, self._resources.fetchers.submit(self._opened, file)))
                if not ahead:
                    return
                first = ahead.popleft()
                self._read_ahead(ahead)
                if first.reading is not None:
                    yield from first.reading.result()
                else:
                    yield from self._rows(first.file, first.opening.result())
        finally:
            for each in ahead:
                each.cancel()

    def _read_ahead(self, ahead: "deque[_Ahead]") -> None:
        for each in islice(ahead, READ_AHEAD):
            is_opened = each.opening.done() and not each.opening.cancelled() and each.opening.exception() is None
            if each.reading is None and is_opened and each.file.size <= WHOLE_FILE_BYTES:
                each.reading = self._resources.splitters.submit(self._all_rows, each.file, each.opening.result())

    def _all_rows(self, file: _File, fragment: ds.ParquetFileFragment) -> list[pa.RecordBatch]:
        return list(self._rows(file, fragment))

    def _opened(self, file: _File) -> ds.ParquetFileFragment:
        return opened_fragment(self._store, file.path, lambda: self._fragment(file))

    def _fragment(self, file: _File) -> ds.ParquetFileFragment:
        if self._store.local_path(file.path) is None and file.size <= WHOLE_FILE_BYTES:
            # The size in the log may be wrong; a file that turns out larger is read by ranges.
            data = self._store.get_range(file.path, 0, file.size + 1)
            source = self._files.open_input_file(file.path) if len(data) > file.size else pa.BufferReader(data)
        else:
            source = self._files.open_input_file(file.path)
        form = PARQUET if self._store.local_path(file.path) is None else _LOCAL_PARQUET
        return form.make_fragment(source)

    def _rows(self, file: _File, fragment: ds.ParquetFileFragment) -> Iterator[pa.RecordBatch]:
        name = f"the data file {file.path} of {self._store.uri}"
        physical = fragment.physical_schema
        stored = self._shape.stored_columns(physical, name)
        repeated = [column for column in stored.values() if physical.names.count(column) > 1]
        if repeated:
            raise CorruptTable(f"{name} has two columns {repeated[0]!r}; write it again with one")
        partition = self._shape.partition_scalars(file.partition_values, name)
        try:
            for batch in self._stored_batches(fragment, stored):
                conformed = self._shape.conform(batch, partition, name)
                if self._filter is not None:
                    conformed = conformed.filter(self._filter)
                if conformed.num_rows:
                    yield conformed.select(self.schema.names)
        except DAMAGE as error:
            raise _unread(self._store, file.path, error) from error

    def _stored_batches(self, fragment: ds.ParquetFileFragment, stored: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
        physical = fragment.physical_schema
        if self._where is not None:
            same = {
                name
                for name, held in stored.items()
                if name == held and physical.field(name).type == self._shape.schema.field(name).type
            }
            may_match = row_group_filter(self._where, self._shape.schema, self._kinds, same)
            fragment = fragment.subset(filter=may_match, schema=physical)
        if not stored:
            yield from _counted(sum(group.num_rows for group in fragment.row_groups))
            return
        yield from fragment.to_batches(
            columns={name: pc.field(held) for name, held in stored.items()},
            batch_size=BATCH_ROWS,
            batch_readahead=BATCHES_AHEAD,
            fragment_readahead=1,
        )


def opened_fragment(store: Store, path: str, make: Callable[[], ds.ParquetFileFragment]) -> ds.ParquetFileFragment:
    """A data file with its footer read. The errors name it."""
    try:
        fragment = make()
        fragment.ensure_complete_metadata()
    except (FileNotFoundError, ObjectMissing) as error:
        raise CorruptTable(
            f"the data file {path} of {store.uri} is missing, though the log lists it. Restore the file, or remove it from the "
            f"table; `headgate table verify` finds all that are missing"
        ) from error
    except DAMAGE as error:
        raise _unread(store, path, error) from error
    return fragment


def _unread(store: Store, path: str, error: Exception) -> CorruptTable | StoreError:
    return system_failure(store, path, error) or CorruptTable(
        f"the data file {path} of {store.uri} can't be read as Parquet: {error}. Restore the file, or remove it from the "
        f"table"
    )


def _counted(rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of so many rows without a stored column: all requested columns come from the log."""
    for start in range(0, rows, BATCH_ROWS):
        yield pa.record_batch({"": pa.nulls(min(BATCH_ROWS, rows - start))})
