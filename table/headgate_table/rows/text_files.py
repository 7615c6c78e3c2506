"""CSV and JSON with one object a line as batches whose values are exactly what the text says, block by block.

What a text means is said by the columns of the table that it goes to; where there is none, by its first block. Which type holds a
text is decided in `text_values`, and for numbers of JSON in `json_lines`.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
from pyarrow import types

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.errors import InvalidInput
from headgate_table.rows.json_lines import REMEDY, JsonColumns
from headgate_table.rows.text_values import TextMisfit, is_readable, type_of, values_of

BLOCK_BYTES = 8 << 20
"""Of a text that is read at a time; the first block says of which types columns are."""
MAX_LINE_BYTES = 8 * BLOCK_BYTES
"""Of one object of JSON, which is held in memory."""


class ByteSource(Protocol):
    """Bytes that are read once."""

    def read(self, size: int, /) -> bytes: ...


def csv_batches(source: ByteSource, known: Mapping[str, pa.DataType], name: str) -> Iterator[pa.RecordBatch]:
    """Begins with a batch without rows. An empty cell is null, of texts, too: a table of texts would have no nulls otherwise.

    `known` are types by the names of columns, whatever their case. Raises `InvalidInput`, and what Arrow raises.
    """
    begin = _exactly(source, BLOCK_BYTES)
    wanted = {name_key(column): type_ for column, type_ in known.items()}
    names = _header(begin)
    stream = _Stoppable(begin, source)
    reader = arrow_csv.open_csv(
        pa.PythonFile(stream, mode="r"),
        read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={
                each: pa.binary() if wanted.get(name_key(each)) == pa.binary() else pa.string() for each in names
            },
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    )
    try:
        columns: pa.Schema | None = None
        row = 2  # the names are row 1
        for texts in reader:
            if columns is None:
                columns = pa.schema([_csv_field(texts, place, wanted, name) for place in range(texts.num_columns)])
                yield _empty(columns)
            yield _read_csv(texts, columns, name, row)
            row += texts.num_rows
        if columns is None:
            yield _empty(
                pa.schema([(column, wanted.get(name_key(column), pa.null())) for column in reader.schema.names])
            )
    finally:
        stream.stop()
        reader.close()


def _header(begin: bytes) -> list[str]:
    text = begin.decode("utf-8-sig", errors="replace")
    return next((row for row in csv.reader(io.StringIO(text, newline="")) if row), [])


def _csv_field(texts: pa.RecordBatch, place: int, wanted: Mapping[str, pa.DataType], name: str) -> "pa.Field[Any]":
    column, cells = texts.schema.names[place], texts.column(place)
    if not (types.is_string(cells.type) or types.is_binary(cells.type)):
        raise InvalidInput(f"{name} has a line of names that can't be read: {', '.join(texts.schema.names)[:300]}")
    type_ = wanted.get(name_key(column))
    if type_ is not None and not is_readable(type_):
        raise InvalidInput(
            f"column {column!r} is {type_}, which no cell of CSV holds; load {name} as NDJSON or Parquet"
        )
    return pa.field(column, type_ or type_of(pa.chunked_array([cells])))


def _read_csv(texts: pa.RecordBatch, columns: pa.Schema, name: str, first_row: int) -> pa.RecordBatch:
    arrays = []
    for cells, field in zip(texts.columns, columns, strict=True):
        if types.is_null(field.type):
            if cells.null_count < len(cells):
                row = pc.index(pc.is_valid(cells), True).as_py()
                raise _misfit(
                    name, f"row {first_row + row}", field.name, TextMisfit(row, cells[row].as_py(), field.type)
                )
            arrays.append(pa.nulls(len(cells)))
            continue
        try:
            arrays.append(values_of(cells, field.type))
        except TextMisfit as error:
            raise _misfit(name, f"row {first_row + error.row}", field.name, error) from None
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _misfit(name: str, place: str, column: str, error: object) -> InvalidInput:
    return InvalidInput(f"{name}, {place}, column {column!r}: {error}. {REMEDY}")


def ndjson_batches(source: ByteSource, known: Mapping[str, pa.DataType], name: str) -> Iterator[pa.RecordBatch]:
    """Begins with a batch without rows. `known` are types by the names of columns. Raises `InvalidInput`, and what Arrow raises."""
    columns: JsonColumns | None = None
    line = 1
    for block in _blocks_of_lines(source, name):
        if block.strip():
            if columns is None:
                columns = JsonColumns.of(block, known, name)
                yield _empty(columns.schema)
            yield from columns.read(block, line).to_batches()
        line += block.count(b"\n")
    if columns is None:
        raise InvalidInput(f"{name} has no line, so nobody knows its columns")


def _blocks_of_lines(source: ByteSource, name: str) -> Iterator[bytes]:
    held = b""
    while block := _exactly(source, BLOCK_BYTES):
        whole, newline, rest = block.rpartition(b"\n")
        if newline:
            yield held + whole + newline
            held = rest
        else:
            held += block
            if len(held) > MAX_LINE_BYTES:
                raise InvalidInput(
                    f"{name} has a line of more than {MAX_LINE_BYTES >> 20} MB (MAX_LINE_BYTES); NDJSON has an object on each line"
                )
    if held:
        yield held


def _exactly(source: ByteSource, size: int) -> bytes:
    """As many bytes, or all that are left: a pipe hands over less at a time."""
    parts = []
    while size > 0 and (part := source.read(size)):
        parts.append(bytes(part))
        size -= len(part)
    return b"".join(parts)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    """So that a file without rows has columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


class _Stoppable:
    """A stream with its beginning put back. Arrow reads ahead on a thread of its own; once stopped, that finds an end."""

    closed = False

    def __init__(self, begin: bytes, rest: ByteSource) -> None:
        self._begin = io.BytesIO(begin)
        self._rest = rest
        self._is_stopped = False

    def stop(self) -> None:
        self._is_stopped = True

    def read(self, size: int) -> bytes:
        return b"" if self._is_stopped else self._begin.read(size) or bytes(self._rest.read(size))
