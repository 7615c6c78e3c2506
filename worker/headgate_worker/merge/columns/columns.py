"""Chooses the columns of an output, and checks whether a source's columns can be converted without loss. No I/O.

`rows.row_shape` does the conversion itself, as for every reader. This module is stricter than readers, because a merge
is final.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import types

from headgate_schemas.columns.spark_types import Struct, parse_schema, print_schema
from headgate_schemas.columns.table_schema import arrow_schema
from headgate_table.indextables.read.rows.column_defaults import column_defaults
from headgate_table.indextables.read.rows.row_shape import RowShape

_FIELD_ID = b"PARQUET:field_id"
_SPARK_ROWS = b"org.apache.spark.sql.parquet.row.metadata"
_NOT_CARRIED = frozenset({b"ARROW:schema", b"pandas", _SPARK_ROWS})
"""Metadata that describe the columns of one file: Arrow's and Spark's are written anew, pandas' is about its index."""


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """The columns of a source, from its footer."""

    path: str
    schema: pa.Schema
    int96: frozenset[str]
    """Those that hold the old timestamps, which are in UTC."""
    repeating: frozenset[str] = frozenset()
    """Texts whose values repeat in each of its row groups."""


@dataclass(frozen=True, slots=True)
class OutputColumns:
    """The columns of an output, in the table's order and types."""

    shape: RowShape
    schema: pa.Schema
    """The same with field ids, and metadata for the file."""
    repeating: frozenset[str]
    """Those that every source can be read with as dictionaries of the table's own type."""


def contradiction(source: SourceColumns, schema_string: str, partition_columns: Collection[str]) -> str | None:
    """The reason why the source can't be written in the table's schema without loss; None if it can."""
    schema = arrow_schema(schema_string)
    seen: set[str] = set()
    for field in source.schema:
        if field.name in seen:
            return f"it has two columns {field.name!r}"
        seen.add(field.name)
        if field.name not in schema.names:
            return f"it has a column {field.name!r} that the table's schema doesn't name, and that a merge would lose"
        if field.name in partition_columns:
            continue  # the log has its values
        problem = _loss(field.type, schema.field(field.name).type, is_int96=field.name in source.int96)
        if problem is not None:
            return f"its column {field.name!r} {problem}"
    defaults = column_defaults(schema_string, schema)
    for field in schema:
        if field.name in seen or field.name in partition_columns:
            continue
        if field.name not in defaults:
            if not field.nullable:
                return f"it has no column {field.name!r}, which the table's schema says is NOT NULL"
        elif defaults[field.name] is None:
            return f"it has no column {field.name!r}, whose default in the table's schema is no plain literal"
    return None


def output_columns(
    sources: Sequence[SourceColumns], schema_string: str, partition_columns: Collection[str]
) -> OutputColumns:
    """The table's columns. Partition columns are in the output if they are in every source.

    Their values come from the log anyway, so nothing is lost if only some sources hold them.
    """
    table = arrow_schema(schema_string)
    held = [set(source.schema.names) for source in sources]
    names = [name for name in table.names if name not in partition_columns or all(name in one for one in held)]
    fields = [table.field(name) for name in names]
    plain = pa.schema([field.remove_metadata() for field in fields])
    defaults = column_defaults(schema_string, plain)
    ids = _agreed_ids(sources)
    shown = pa.schema([_with_ids(field.remove_metadata(), (), ids) for field in fields])
    return OutputColumns(
        RowShape(plain, {}, defaults),
        shown.with_metadata(_metadata(sources, schema_string, names)),
        _repeating(sources, plain, defaults),
    )


def _repeating(sources: Sequence[SourceColumns], schema: pa.Schema, defaults: Collection[str]) -> frozenset[str]:
    """The columns to keep as dictionaries.

    A source without the column doesn't count, because all its values are null; it does count if the column has a
    default.
    """
    return frozenset(
        field.name
        for field in schema
        if field.name not in defaults or all(field.name in source.schema.names for source in sources)
        if types.is_string(field.type) or types.is_binary(field.type)
        if any(field.name in source.repeating for source in sources)
        and all(
            field.name in source.repeating and source.schema.field(field.name).type == field.type
            for source in sources
            if field.name in source.schema.names
        )
    )


def _loss(source: pa.DataType, target: pa.DataType, *, is_int96: bool) -> str | None:
    """The loss of a conversion that casts don't report. Casts find values that don't fit by themselves."""
    if types.is_dictionary(source):
        return _loss(source.value_type, target, is_int96=is_int96)
    if types.is_struct(source) and types.is_struct(target):
        return _struct_loss(source, target, is_int96)
    if _is_list(source) and types.is_list(target):
        return _loss(source.value_type, target.value_type, is_int96=is_int96)
    if types.is_map(source) and types.is_map(target):
        return _loss(source.key_type, target.key_type, is_int96=is_int96) or _loss(
            source.item_type, target.item_type, is_int96=is_int96
        )
    if types.is_floating(source) and types.is_floating(target) and source.bit_width > target.bit_width:
        return f"is {source}, which loses digits as the table's {target}"
    if types.is_timestamp(source) and types.is_timestamp(target) and (source.tz is None) != (target.tz is None):
        # Local times and instants are different types; only the old 96-bit timestamps don't say which of them they
        # are.
        return None if is_int96 else f"is {source}, and the table's {target}: one is local time, the other isn't"
    return None


def _struct_loss(source: Any, target: Any, is_int96: bool) -> str | None:
    inner = {field.name: field.type for field in target}
    names = [field.name for field in source]
    if len(set(names)) < len(names):
        return "has two fields of one name"
    for field in source:
        if field.name not in inner:
            return f"has a field {field.name!r} that the table's schema doesn't name, and that a merge would lose"
        problem = _loss(field.type, inner[field.name], is_int96=is_int96)
        if problem is not None:
            return f"has a field {field.name!r} that {problem}"
    return None


def _is_list(type_: pa.DataType) -> bool:
    return bool(types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_))


# ---- field ids and metadata

_Place = tuple[str, ...]


def _agreed_ids(sources: Sequence[SourceColumns]) -> Mapping[_Place, bytes]:
    """The field ids on which all sources agree."""
    agreed: dict[_Place, bytes] = {}
    disputed: set[_Place] = set()
    for source in sources:
        for place, number in _ids(source.schema, ()):
            if agreed.setdefault(place, number) != number:
                disputed.add(place)
    used = list(agreed.values())
    return {place: number for place, number in agreed.items() if place not in disputed and used.count(number) == 1}


def _ids(fields: Any, above: _Place) -> list[tuple[_Place, bytes]]:
    found = []
    for field in fields:
        place = (*above, field.name)
        number = (field.metadata or {}).get(_FIELD_ID)
        if number is not None and re.fullmatch(rb"[0-9]{1,9}", number):
            found.append((place, number))
        found += _ids(_children(field.type), place)
    return found


def _children(type_: Any) -> list["pa.Field[Any]"]:
    if types.is_struct(type_):
        return list(type_)
    if _is_list(type_):
        return [type_.value_field.with_name("element")]
    if types.is_map(type_):
        return [type_.key_field.with_name("key"), type_.item_field.with_name("value")]
    return []


def _with_ids(field: "pa.Field[Any]", above: _Place, ids: Mapping[_Place, bytes]) -> "pa.Field[Any]":
    place = (*above, field.name)
    inner = [_with_ids(child, place, ids) for child in _children(field.type)]
    type_: pa.DataType = field.type
    if types.is_struct(type_):
        type_ = pa.struct(inner)
    elif types.is_list(type_):
        type_ = pa.list_(inner[0])
    elif types.is_map(type_):
        type_ = pa.map_(inner[0], inner[1])
    number = ids.get(place)
    return pa.field(field.name, type_, field.nullable, None if number is None else {_FIELD_ID: number})


def _metadata(sources: Sequence[SourceColumns], schema_string: str, names: Sequence[str]) -> dict[bytes, bytes]:
    """The metadata on which all sources agree; and for sources from Spark, Spark's schema of the output's columns."""
    said = [source.schema.metadata or {} for source in sources]
    first = said[0] if said else {}
    common = {
        key: value
        for key, value in first.items()
        if key not in _NOT_CARRIED and all(other.get(key) == value for other in said)
    }
    if any(_SPARK_ROWS in one for one in said):
        kept = set(names)
        struct = Struct(tuple(field for field in parse_schema(schema_string).fields if field.name in kept))
        common[_SPARK_ROWS] = print_schema(struct).encode("utf-8")
    return common
