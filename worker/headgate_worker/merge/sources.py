"""Reads a merge's sources: first the footers, which show most faults, then the rows in batches.

Memory is bounded by `BATCH_BYTES` and the buffers below, however large a file or its row groups are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CorruptTable, ObjectMissing
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.parquet.footer import Footer, read_footer
from headgate_table.store.arrow_files import arrow_file_system, system_failure
from headgate_table.store.interface import Store
from headgate_worker.merge.columns.columns import SourceColumns
from headgate_worker.merge.columns.dictionaries import repeating_texts
from headgate_worker.merge.columns.inner_nulls import inner_null
from headgate_worker.merge.orders import Gone, Unreadable

WHOLE_FILE_BYTES = 8 << 20
"""A remote file up to this size is fetched by one request."""
BATCH_BYTES = 8 << 20
"""Of decoded rows at a time, as far as the footer tells how long rows are."""
MIN_BATCH_ROWS, MAX_BATCH_ROWS = 64, 65_536
BUFFERS_BYTES = 64 << 20
"""All columns together read ahead so much of a file, within these bounds for each."""
MIN_BUFFER_BYTES, MAX_BUFFER_BYTES = 64 << 10, 4 << 20

_INT96_UNIT = "us"
_DAMAGE = (pa.ArrowException, OSError, ValueError, MemoryError)
"""What PyArrow raises for bytes that are no Parquet file, or no longer. A size that nobody can allocate is damage, too."""
_CODECS = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 5: "lz4", 6: "zstd", 7: "lz4"}
"""By the numbers that the format gives them."""


class BadSource(Exception):
    """Ends the reading of a group because of this source."""

    def __init__(self, problem: Unreadable | Gone) -> None:
        self.problem = problem
        super().__init__(str(problem))


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """A source with a consistent footer."""

    file: AddFile
    size: int
    num_rows: int
    columns: SourceColumns
    codec: str | None
    bytes_per_row: int
    leaves: int


class SourceReader:
    """Reads the files of one table. Raises `BadSource` for a fault of the source, `StoreError` for one of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files = arrow_file_system(store)

    def check(self, source: AddFile) -> CheckedSource:
        """The source's footer. Our own bounded reader reads it first, because some footers crash PyArrow's."""
        key = source.path
        info = self._store.head(key)
        if info is None:
            raise BadSource(Gone(key))
        tail = b""

        def read(start: int, length: int) -> bytes:
            nonlocal tail
            tail = self._store.get_range(key, start, length)
            return tail

        try:
            footer = read_footer("it", info.size, read)
        except ObjectMissing as error:
            raise BadSource(Gone(key)) from error
        except InvalidInput as error:
            raise BadSource(Unreadable(key, str(error))) from error
        if source.num_records is not None and source.num_records != footer.num_rows:
            reason = f"it has {footer.num_rows} rows, and the log says {source.num_records}"
            raise BadSource(Unreadable(key, reason))
        try:
            # The end of the file is enough for its schema.
            file = pq.ParquetFile(
                pa.BufferReader(tail), coerce_int96_timestamp_unit=_INT96_UNIT, arrow_extensions_enabled=False
            )
            schema = file.schema_arrow
            leaves = [file.schema.column(number) for number in range(len(file.schema))]
        except _DAMAGE as error:
            raise BadSource(Unreadable(key, f"its schema can't be read: {error}")) from error
        old = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
        int96 = frozenset(
            name for name in schema.names if any(path == name or path.startswith(f"{name}.") for path in old)
        )
        return CheckedSource(
            file=source,
            size=info.size,
            num_rows=footer.num_rows,
            columns=SourceColumns(key, schema, int96, repeating_texts(footer)),
            codec=_codec(footer),
            bytes_per_row=_bytes_per_row(footer),
            leaves=len(leaves),
        )

    def batches(self, source: CheckedSource, shape: RowShape) -> Iterator[pa.RecordBatch]:
        """All rows in order, with the columns and types of `shape`. Its dictionaries must be columns that repeat."""
        key = source.file.path
        rows = 0
        try:
            for batch in self._stored(source, shape):
                rows += batch.num_rows
                conformed = shape.conform(batch, {}, "it")
                column = inner_null(conformed)
                if column is not None:
                    reason = f"its column {column!r} holds a null inside, where the table's schema says there is none"
                    raise BadSource(Unreadable(key, reason))
                yield conformed
        except (FileNotFoundError, ObjectMissing) as error:
            raise BadSource(Gone(key)) from error
        except CorruptTable as error:
            raise BadSource(Unreadable(key, str(error))) from error
        except _DAMAGE as error:
            failure = system_failure(self._store, key, error)
            if failure is not None:
                raise failure from error
            raise BadSource(Unreadable(key, f"its rows can't be read: {error}")) from error
        if rows != source.num_rows:
            raise BadSource(Unreadable(key, f"it holds {rows} rows, and its footer says {source.num_rows}"))

    def _stored(self, source: CheckedSource, shape: RowShape) -> Iterator[pa.RecordBatch]:
        if not source.columns.schema.names:
            yield from _counted(source.num_rows)
            return
        whole = source.size <= WHOLE_FILE_BYTES
        if whole and self._store.local_path(source.file.path) is None:
            opened: Any = pa.BufferReader(self._store.get_range(source.file.path, 0, source.size))
        else:
            opened = self._files.open_input_file(source.file.path)
        buffer = BUFFERS_BYTES // max(1, source.leaves)
        names = source.columns.schema.names
        encoded = [field.name for field in shape.schema if types.is_dictionary(field.type) and field.name in names]
        with opened:
            file = pq.ParquetFile(
                opened,
                buffer_size=0 if whole else max(MIN_BUFFER_BYTES, min(MAX_BUFFER_BYTES, buffer)),
                pre_buffer=False,
                read_dictionary=encoded,
                coerce_int96_timestamp_unit=_INT96_UNIT,
                page_checksum_verification=True,
                arrow_extensions_enabled=False,
            )
            # One thread reads while another one writes; more threads would each keep the memory that they freed.
            yield from file.iter_batches(
                max(MIN_BATCH_ROWS, min(MAX_BATCH_ROWS, BATCH_BYTES // max(1, source.bytes_per_row))), use_threads=False
            )


def _counted(rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of a file without columns: all values are null."""
    for start in range(0, rows, MAX_BATCH_ROWS):
        yield pa.record_batch({"": pa.nulls(min(MAX_BATCH_ROWS, rows - start))})


def _codec(footer: Footer) -> str | None:
    """The codec of the first column of the first row group."""
    for group in footer.row_groups:
        chunks: Any = group.get(1)
        metadata = chunks[0].get(3) if chunks else None
        if isinstance(metadata, dict):
            return _CODECS.get(metadata.get(4, -1))
    return None


def _bytes_per_row(footer: Footer) -> int:
    """The uncompressed bytes per row, in the row group with the longest rows."""
    longest = 0
    for group in footer.row_groups:
        size, rows = group.get(2), group.get(3)
        if type(size) is int and type(rows) is int and rows > 0:
            longest = max(longest, -(-size // rows))
    return longest
