"""Rows of any Arrow producer as one stream of batches, read once, in plain types. Other modules fit them to columns.

Arrow data isn't copied. Polars' lazy frames and DuckDB's relations run as their batches are requested, and frames of
pandas are converted slice by slice.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyarrow import types

from headgate_schemas.errors import InvalidInput
from headgate_table.rows.nested import with_leaves

BATCH_ROWS = 1 << 17
BATCH_BYTES = 32 << 20
"""Rows that are handed on together, at most, whichever comes first: larger batches are cut, which copies nothing."""

ArrowRows = Any
"""Whatever `incoming_rows` takes: most of it has no type in common."""

_TAKEN = (
    "a PyArrow table, batch or reader, a frame of pandas or Polars, a DuckDB relation, anything else with __arrow_c_stream__ or "
    "__arrow_c_array__, or an iterable of batches"
)


_CAST = "Cast its columns to types of Arrow that have numbers, texts or times, and drop rows that are null as a whole"
_FOREIGN = {"Object": "pl.String", "Int128": "pl.Decimal(38, 0)", "UInt128": "pl.Decimal(38, 0)"}
"""Types of Polars that Arrow doesn't have, and what to cast them to. Of objects it hands over addresses in memory."""


@dataclass(frozen=True, slots=True)
class IncomingRows:
    schema: pa.Schema
    """In plain types: without dictionaries, run ends, views and extensions."""
    batches: Iterator[pa.RecordBatch]
    """Of that schema. Asked for once; raises `InvalidInput` where a batch has other columns, and what their producer raises."""


def incoming_rows(rows: ArrowRows) -> IncomingRows:
    """Raises `InvalidInput` for an object without rows, and for types that no file holds."""
    try:
        schema, batches = _opened(rows)
    except pa.ArrowException as error:
        raise InvalidInput(
            f"rows is {_shown(rows)}, which can't be taken as columns of Arrow: {error}. {_CAST}"
        ) from error
    plain = pa.schema([_plain_field(field, f"column {field.name!r}") for field in schema])
    return IncomingRows(plain, _in_plain_types(batches, schema, plain))


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Combines small batches."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= BATCH_ROWS or size >= BATCH_BYTES:
            yield pa.Table.from_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.Table.from_batches(held)


def _opened(rows: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    kind = type(rows)
    library = kind.__module__.partition(".")[0].lstrip("_")
    if library == "pandas" and kind.__name__ == "DataFrame":
        return _of_pandas(rows)
    if library == "polars" and kind.__name__ == "LazyFrame":
        _check_polars(rows.collect_schema())
        return _of_stream(_collected(rows))
    if library == "polars" and kind.__name__ == "DataFrame":
        _check_polars(rows.schema)
    if library == "duckdb" and hasattr(rows, "to_arrow_reader"):
        reader = rows.to_arrow_reader(BATCH_ROWS)
        return reader.schema, iter(reader)
    if isinstance(rows, pa.Table | pa.RecordBatch):
        return rows.schema, iter(rows.to_batches() if isinstance(rows, pa.Table) else [rows])
    if hasattr(rows, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(rows)
        return reader.schema, iter(reader)
    if hasattr(rows, "__arrow_c_array__"):
        batch = pa.record_batch(rows)
        return batch.schema, iter([batch])
    if library == "pyarrow" and hasattr(rows, "scanner"):
        rows = rows.scanner(batch_size=BATCH_ROWS)
    if library == "pyarrow" and hasattr(rows, "to_reader"):
        reader = rows.to_reader()
        return reader.schema, iter(reader)
    if isinstance(rows, Iterable) and not isinstance(rows, str | bytes | bytearray | Mapping):
        return _of_stream(rows)
    hint = "; of a dict of columns, pyarrow.table(rows) makes a table" if isinstance(rows, Mapping) else ""
    raise InvalidInput(f"rows is {_shown(rows)}; give {_TAKEN}{hint}")


def _of_stream(parts: Iterable[Any]) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """The batches of several producers, one after the other. The first one gives the columns."""
    left = iter(parts)
    try:
        schema, first = _opened_part(next(left), 0)
    except StopIteration:
        raise InvalidInput(
            "rows is an iterable without any batch, so nobody knows its columns; give at least one, which may be empty"
        ) from None
    rest = (batch for number, part in enumerate(left, 1) for batch in _same_columns(part, number, schema))
    return schema, chain(first, rest)


def _opened_part(part: Any, number: int) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    if not (hasattr(part, "__arrow_c_stream__") or hasattr(part, "__arrow_c_array__")):
        hint = (
            "; of a list of dicts, pyarrow.Table.from_pylist(rows) makes a table" if isinstance(part, Mapping) else ""
        )
        raise InvalidInput(f"item {number} of rows is {_shown(part)}, and no batch of Arrow{hint}")
    return _opened(part)


def _same_columns(part: Any, number: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    found, batches = _opened_part(part, number)
    if found.names != schema.names or found.types != schema.types:
        pairs = (f"{name} {type_}" for name, type_ in zip(found.names, found.types, strict=True))
        raise InvalidInput(
            f"item {number} of rows has other columns than the first: {', '.join(pairs)[:300]}. Nothing was written; cast "
            f"them all to one schema"
        )
    return batches


def _of_pandas(frame: Any) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """A named level of the index becomes a column; one without a name only counts rows, or gives their former places."""
    levels = [place for place, name in enumerate(frame.index.names) if name is not None]
    names = [str(frame.index.names[place]) for place in levels] + [str(name) for name in frame.columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise InvalidInput(f"the frame of pandas has two columns {twice!r}, of which one may be its index; rename one")
    if levels:
        frame = frame.reset_index(level=levels)
    frame = frame.set_axis(names, axis=1)
    try:
        schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"the frame of pandas can't become Arrow: {error}. Give its column one type") from error
    return schema, _slices_of_pandas(frame, schema)


def _check_polars(columns: Mapping[str, Any]) -> None:
    for name, type_ in columns.items():
        for inner in _inner_polars(type_):
            cast = _FOREIGN.get(type(inner).__name__)
            if cast is not None:
                raise InvalidInput(
                    f"column {name!r} is {type_} of Polars, which Arrow doesn't have; cast it, as to {cast}"
                )


def _inner_polars(type_: Any) -> Iterator[Any]:
    yield type_
    inner = [type_.inner] if hasattr(type_, "inner") else []
    for each in [*inner, *(field.dtype for field in getattr(type_, "fields", ()))]:
        yield from _inner_polars(each)


def _slices_of_pandas(frame: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(frame), BATCH_ROWS):
        part = frame.iloc[start : start + BATCH_ROWS]
        yield pa.RecordBatch.from_pandas(part, schema=schema, preserve_index=False).replace_schema_metadata(None)


def _collected(frame: Any) -> Iterator[Any]:
    """A lazy frame of Polars, run by its streaming engine. An empty frame of its columns comes first: a result may have
    no batch.
    """
    yield frame.collect_schema().to_frame()
    if hasattr(frame, "collect_batches"):
        yield from frame.collect_batches(chunk_size=BATCH_ROWS)
    else:  # an older Polars, which returns the whole result
        yield frame.collect(engine="streaming")


def _in_plain_types(batches: Iterator[pa.RecordBatch], schema: pa.Schema, plain: pa.Schema) -> Iterator[pa.RecordBatch]:
    is_plain = schema.types == plain.types
    for batch in _taken(batches):
        step = max(1, min(BATCH_ROWS, batch.num_rows * BATCH_BYTES // max(1, batch.nbytes)))
        for start in range(0, batch.num_rows, step):
            part = batch.slice(start, step)
            arrays = (
                part.columns if is_plain else [_cast(array, field) for array, field in zip(part, plain, strict=True)]
            )
            yield pa.RecordBatch.from_arrays(arrays, schema=plain)


def _taken(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except pa.ArrowException as error:
        raise InvalidInput(f"the rows can't be taken as columns of Arrow: {error}. {_CAST}") from error


def _cast(array: Any, field: "pa.Field[Any]") -> Any:
    try:
        return with_leaves(array, field.type, lambda inner, type_: inner.cast(type_))
    except pa.ArrowException as error:
        raise InvalidInput(
            f"column {field.name!r} is {array.type}, which can't become {field.type}: {error}"
        ) from error


def _plain_field(field: "pa.Field[Any]", place: str) -> "pa.Field[Any]":
    return field.with_type(_plain(field.type, place)).remove_metadata()


def _plain(type_: Any, place: str) -> pa.DataType:
    """The type without Arrow's own encodings: files hold values, and readers see no dictionaries."""
    if isinstance(type_, pa.BaseExtensionType):
        return _plain(type_.storage_type, place)
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _plain(type_.value_type, place)
    if types.is_string_view(type_):
        return pa.string()
    if types.is_binary_view(type_):
        return pa.binary()
    if types.is_struct(type_):
        if not type_.num_fields:
            raise InvalidInput(f"{place} is a struct without fields, which no file holds; leave it out")
        return pa.struct(
            [
                _plain_field(type_.field(number), f"{place}.{type_.field(number).name}")
                for number in range(type_.num_fields)
            ]
        )
    if types.is_map(type_):
        key, item = type_.key_field, type_.item_field
        return pa.map_(_plain_field(key, f"{place}.key"), _plain_field(item, f"{place}.value"))
    if any(is_kind(type_) for is_kind in _LISTS):
        return pa.list_(_plain_field(type_.value_field, f"{place}.element"))
    return type_


_LISTS = (
    *(types.is_list, types.is_large_list, types.is_fixed_size_list),
    *(types.is_list_view, types.is_large_list_view),
)


def _shown(given: object) -> str:
    text = repr(given)
    return f"{text[:80]} ({type(given).__name__})"
