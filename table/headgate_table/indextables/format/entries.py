"""File entries as Arrow tables with our column names and types: from manifests of any writer, and from add actions."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, FIELD_BY_COLUMN, FIELD_BY_NAME, EntryField, FieldKind
from headgate_schemas.columns.near_names import damaged_name
from headgate_table.avro.container import Container
from headgate_table.avro.decode import KeepBlock, decode_columns, decode_together
from headgate_table.avro.records import checked_schema
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.replay import AddedFile

_TYPES: dict[FieldKind, pa.DataType] = {
    FieldKind.STRING: pa.string(),
    FieldKind.LONG: pa.int64(),
    FieldKind.INT: pa.int32(),
    FieldKind.BOOLEAN: pa.bool_(),
    FieldKind.STRING_MAP: pa.map_(pa.string(), pa.string()),
    FieldKind.STRING_LIST: pa.list_(pa.string()),
}

_REQUIRED = frozenset({"path", "size", "modification_time"})
"""Fields without which an entry means nothing; every other field has a default (docs/format.md, section 2.4)."""

_DEFAULTS: Mapping[str, Any] = {
    "data_change": True,
    "has_footer_offsets": False,
    "added_at_version": 0,
    "added_at_timestamp": 0,
}


def column_type(column: str) -> pa.DataType:
    return _TYPES[FIELD_BY_COLUMN[column].kind]


def entry_schema(columns: Sequence[str]) -> pa.Schema:
    return pa.schema([pa.field(column, column_type(column)) for column in columns])


ALL_COLUMNS: tuple[str, ...] = tuple(field.column for field in ENTRY_FIELDS)


def ordered(columns: Iterable[str]) -> tuple[str, ...]:
    """The columns in the order of the format, each once."""
    wanted = set(columns)
    return tuple(column for column in ALL_COLUMNS if column in wanted)


def decode_entries(
    container: Container, columns: Sequence[str], executor: Executor | None = None, keep: KeepBlock | None = None
) -> pa.Table:
    """The entries of a manifest with exactly these columns; `keep` may leave out blocks."""
    names = _writers_names(container, columns)
    raw = decode_columns(container, [name for name in names.values() if name is not None], executor, keep)
    return _conformed(raw, names, columns, container.name)


def decode_entries_together(
    containers: Sequence[Container], columns: Sequence[str], executor: Executor | None = None
) -> list[pa.Table]:
    """`decode_entries` of several small manifests, in order."""
    named = [_writers_names(container, columns) for container in containers]
    wanted = dict.fromkeys(name for names in named for name in names.values() if name is not None)
    raws = decode_together(containers, list(wanted), executor)
    return [
        _conformed(raw, names, columns, container.name)
        for raw, names, container in zip(raws, named, containers, strict=True)
    ]


def _conformed(raw: pa.Table, names: Mapping[str, str | None], columns: Sequence[str], source: str) -> pa.Table:
    arrays = []
    for column in columns:
        field = FIELD_BY_COLUMN[column]
        name = names[column]
        if name is not None and name in raw.column_names:
            arrays.append(_conform(raw.column(name), field, source))
        else:
            arrays.append(_absent(field, raw.num_rows))
    return pa.Table.from_arrays(arrays, schema=entry_schema(columns))


def added_table(files: Iterable[AddedFile], columns: Sequence[str]) -> pa.Table:
    """Add actions as entries."""
    rows = list(files)
    arrays = []
    for column in columns:
        match column:
            case "added_at_version":
                values: list[Any] = [row.version for row in rows]
            case "added_at_timestamp":
                values = [row.timestamp for row in rows]
            case _:
                values = [getattr(row.add, column) for row in rows]
        if FIELD_BY_COLUMN[column].kind is FieldKind.STRING_MAP:
            values = [None if value is None else list(value.items()) for value in values]
        arrays.append(pa.array(values, type=column_type(column)))
    return pa.Table.from_arrays(arrays, schema=entry_schema(columns))


def _writers_names(container: Container, columns: Sequence[str]) -> dict[str, str | None]:
    """The file's name of each column: our name or, if a field was renamed, the name of the field with the column's id.

    A field with a known name is never taken for another one, whatever its id: old texts list wrong ids (docs/format.md,
    section 2.1).
    """
    fields = checked_schema(container)["fields"]
    present = {field["name"] for field in fields}
    renamed = {
        field["field-id"]: field["name"]
        for field in fields
        if field["name"] not in FIELD_BY_NAME and isinstance(field.get("field-id"), int)
    }
    names: dict[str, str | None] = {}
    for column in sorted({*columns, *_REQUIRED}):
        known = FIELD_BY_COLUMN[column]
        names[column] = known.name if known.name in present else renamed.get(known.field_id)
        if names[column] is None and column in _REQUIRED:
            raise CorruptTable(f"{container.name}: its entries have no field {known.name}; the manifest can't be read")
    if None in names.values():
        _refuse_damaged(present, renamed, container.name)
    return {column: names[column] for column in columns}


def _refuse_damaged(present: set[str], renamed: Mapping[int, str], name: str) -> None:
    """A damaged field name must not count as an absent field. A field that is found by its id is renamed on purpose."""
    by_id = {field.name for field in ENTRY_FIELDS if field.field_id in renamed}
    found = damaged_name(present, FIELD_BY_NAME.keys() - by_id)
    if found is not None:
        raise CorruptTable(
            f"{name} is damaged: its schema has the field {found[0]!r} where {found[1]!r} belongs; the manifest can't be read"
        )


def _conform(column: pa.ChunkedArray, field: EntryField, name: str) -> pa.ChunkedArray:
    wanted = _TYPES[field.kind]
    if column.type != wanted:
        column = _cast(column, wanted, field, name)
    if column.null_count and not field.optional:
        if field.column in _REQUIRED:
            raise CorruptTable(f"{name}: an entry has no {field.name}; the manifest can't be trusted")
        column = _fill(column, field)
    if field.kind in (FieldKind.STRING_MAP, FieldKind.STRING_LIST):
        column = _without_nulls(column, field)
    return column


def _cast(column: pa.ChunkedArray, wanted: pa.DataType, field: EntryField, name: str) -> pa.ChunkedArray:
    try:
        if field.kind in (FieldKind.STRING_MAP, FieldKind.STRING_LIST):
            # Nested types differ in names and nullability of their children; only the values count.
            chunks = [_nested(chunk, wanted) for chunk in column.chunks]
            return pa.chunked_array(chunks, type=wanted)
        return column.cast(wanted)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise CorruptTable(f"{name}: the field {field.name} has type {column.type}, not {wanted}: {error}") from error


def _nested(chunk: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_map(chunk.type) and pa.types.is_map(wanted) and chunk.null_count == 0 and chunk.offset == 0:
        items = chunk.items
        if pa.types.is_string(chunk.keys.type) and pa.types.is_string(items.type):
            return pa.MapArray.from_arrays(chunk.offsets, chunk.keys, items)
    if pa.types.is_map(wanted) and pa.types.is_list(chunk.type):
        # Decoded record by record: pairs in lists, whose type is null if every map is empty.
        rows = [None if row is None else [tuple(pair) for pair in row] for row in chunk.to_pylist()]
        return pa.array(rows, type=wanted)
    return chunk.cast(wanted)


def _without_nulls(column: pa.ChunkedArray, field: EntryField) -> pa.ChunkedArray:
    """Maps and lists of texts, as actions have them: a null is left out, or means that a file has no partition value."""
    if not any(_texts(chunk).null_count for chunk in column.chunks):
        return column
    is_partition = field.column == "partition_values"
    rows: list[list[Any] | None] = []
    for row in column.to_pylist():
        if row is None or field.kind is FieldKind.STRING_LIST:
            rows.append(row and [text for text in row if text is not None])
        elif is_partition:
            rows.append([(key, NULL_PARTITION if text is None else text) for key, text in row])
        else:
            rows.append([(key, text) for key, text in row if text is not None])
    return pa.chunked_array([pa.array(rows, type=_TYPES[field.kind])])


def _texts(chunk: pa.Array) -> pa.Array:
    return chunk.items if pa.types.is_map(chunk.type) else chunk.values


def _fill(column: pa.ChunkedArray, field: EntryField) -> pa.ChunkedArray:
    if field.kind is FieldKind.STRING_MAP:
        values = [[] if value is None else value for value in column.to_pylist()]
        return pa.chunked_array([pa.array(values, type=_TYPES[field.kind])])
    return pc.fill_null(column, _DEFAULTS[field.column])


def _absent(field: EntryField, rows: int) -> pa.Array:
    wanted = _TYPES[field.kind]
    if field.optional:
        return pa.nulls(rows, type=wanted)
    if field.kind is FieldKind.STRING_MAP:
        offsets = pa.array([0] * (rows + 1), type=pa.int32())
        return pa.MapArray.from_arrays(offsets, pa.array([], pa.string()), pa.array([], pa.string()))
    return pa.repeat(pa.scalar(_DEFAULTS[field.column], type=wanted), rows)
