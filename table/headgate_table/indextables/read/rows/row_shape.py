"""Converts a data file's columns: to the table's types, with defaults or nulls for later columns, and partition values
as columns.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import ColumnKind, parse_date
from headgate_schemas.columns.column_names import name_key, stored_names
from headgate_schemas.predicates.partition_text import stored_value
from headgate_schemas.predicates.partition_values import exact_decimal
from headgate_table.errors import CorruptTable

_IsType = Callable[[pa.DataType], bool]


def _any_of(*tests: _IsType) -> _IsType:
    return lambda type_: any(test(type_) for test in tests)


_is_text = _any_of(
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_fixed_size_binary,
)
_is_number = _any_of(types.is_integer, types.is_floating, types.is_decimal)
_is_list = _any_of(types.is_list, types.is_large_list, types.is_fixed_size_list)

_CONVERSIONS: Sequence[tuple[_IsType, _IsType]] = (
    (types.is_null, lambda type_: True),
    (types.is_integer, _is_number),
    (types.is_floating, types.is_floating),
    (types.is_decimal, types.is_decimal),
    (types.is_boolean, types.is_boolean),
    (types.is_date, types.is_date),
    (types.is_timestamp, types.is_timestamp),
    (_is_text, _is_text),
    (_is_list, _is_list),
    (types.is_map, types.is_map),
    (types.is_struct, types.is_struct),
)
"""From and to. Within a pair a cast may still find a value that doesn't fit; a text never becomes a number."""


@dataclass(frozen=True, slots=True)
class RowShape:
    """The columns to read, in the table's types; those of `partition_kinds` come from the log, never from the file."""

    schema: pa.Schema
    partition_kinds: Mapping[str, ColumnKind]
    defaults: Mapping[str, pa.Scalar | None] = field(default_factory=dict)
    """Of columns that files may lack; without one, null. None for one that isn't understood."""
    table_names: Collection[str] = ()
    """All columns of the table, where only some are read."""

    def stored_columns(self, physical: pa.Schema, name: str) -> dict[str, str]:
        """The columns to read from the file `name` with this schema: each name in the table, and in the file."""
        held = tuple(physical.names)
        stored: dict[str, str] = {}
        for column in self.schema.names:
            if column in self.partition_kinds:
                continue
            found = stored_names(column, held, self.table_names or self.schema.names)
            if len(found) > 1:
                raise CorruptTable(
                    f"{name} has the columns {found[0]!r} and {found[1]!r}, and the table {column!r}: nobody can tell which one "
                    f"it is (case is ignored). Write the file again with the table's column"
                )
            if found:
                stored[column] = found[0]
        return stored

    def partition_scalars(self, values: Mapping[str, str | None], name: str) -> dict[str, pa.Scalar]:
        """The typed partition values of the file `name`."""
        return {
            field.name: _partition_scalar(values.get(field.name), field, self.partition_kinds[field.name], name)
            for field in self.schema
            if field.name in self.partition_kinds
        }

    def conform(self, batch: pa.RecordBatch, partition: Mapping[str, pa.Scalar], name: str) -> pa.RecordBatch:
        """A batch of the file `name` with exactly the columns and types of `schema`."""
        arrays = []
        for item in self.schema:
            if item.name in partition:
                array = pa.repeat(partition[item.name], batch.num_rows)
            elif item.name in batch.schema.names:
                array = _cast(batch.column(item.name), item, name)
            else:
                array = self._missing(item, batch.num_rows, name)
            if array.null_count and not item.nullable:
                raise CorruptTable(
                    f"{name} has no value for {item.name!r} in some row, but the table's schema says NOT NULL. "
                    f"Remove the file from the table, or write it again"
                )
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _missing(self, field: "pa.Field[Any]", rows: int, name: str) -> pa.Array:
        if field.name not in self.defaults:
            return pa.nulls(rows, field.type)
        default = self.defaults[field.name]
        if default is None:
            raise CorruptTable(
                f"{name} lacks {field.name!r}, whose default in the table's schema is no plain literal. "
                f"Read the file by Spark, or read the other columns"
            )
        return pa.repeat(default, rows)


def _misfit(source: Any, target: Any) -> str | None:
    """The reason why no value of one type can be read as the other.

    Casts report single values that don't fit, but they round floating point numbers.
    """
    if types.is_dictionary(source):
        return _misfit(source.value_type, target)
    if not any(is_from(source) and is_to(target) for is_from, is_to in _CONVERSIONS):
        return "the types don't go together"
    if types.is_floating(source) and types.is_floating(target) and source.bit_width > target.bit_width:
        return f"a {target} has fewer digits and a smaller range than a {source}"
    for inner, wanted in _inner(source, target):
        problem = _misfit(inner, wanted)
        if problem is not None:
            return f"{problem} ({inner} and {wanted})"
    return None


def _inner(source: Any, target: Any) -> Iterator[tuple[Any, Any]]:
    """The inner types, side by side."""
    if types.is_struct(source) and types.is_struct(target):
        for field in target:
            if source.get_all_field_indices(field.name):
                yield source.field(field.name).type, field.type
    elif types.is_map(source) and types.is_map(target):
        yield source.key_type, target.key_type
        yield source.item_type, target.item_type
    elif _is_list(source) and _is_list(target):
        yield source.value_type, target.value_type


def _cast(array: pa.Array, field: "pa.Field[Any]", name: str) -> pa.Array:
    if array.type == field.type:
        return array
    as_stored = _stored_type(array.type)
    if as_stored != array.type:
        array = array.cast(as_stored)
    source = array.type.value_type if types.is_dictionary(array.type) else array.type
    problem = _respelled(source, field.type) or _misfit(source, field.type)
    if problem is None:
        try:
            return array.cast(field.type)
        except pa.ArrowException as error:
            problem = _too_fine(source, field.type) or str(error)
    raise CorruptTable(
        f"{name} holds {field.name!r} as {array.type}, which can't be read as the table's {field.type}: {problem}. "
        f"Write the file again in the table's types, or read it by itself"
    )


def _too_fine(source: pa.DataType, target: pa.DataType) -> str | None:
    if not (isinstance(source, pa.TimestampType) and isinstance(target, pa.TimestampType) and source.unit == "ns"):
        return None
    return (
        "some are finer than a microsecond, and none of them is rounded in silence (PyArrow writes microseconds with "
        "coerce_timestamps='us', allow_truncated_timestamps=True)"
    )


def _stored_type(type_: Any) -> pa.DataType:
    """The type in Parquet: Arrow's duration is a whole number to all other readers, footers included."""
    if types.is_duration(type_):
        return pa.int64()
    if types.is_struct(type_):
        return pa.struct([item.with_type(_stored_type(item.type)) for item in type_])
    if types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_stored_type(type_.value_type)))
    if types.is_large_list(type_):
        return pa.large_list(type_.value_field.with_type(_stored_type(type_.value_type)))
    if types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(_stored_type(type_.value_type)), type_.list_size)
    if types.is_map(type_):
        key, item = type_.key_field, type_.item_field
        return pa.map_(key.with_type(_stored_type(key.type)), item.with_type(_stored_type(item.type)))
    return type_


def _respelled(source: pa.DataType, target: pa.DataType) -> str | None:
    """An inner field with another spelling than the table's, which a cast would take for another field; None without
    one.
    """
    if types.is_struct(source) and types.is_struct(target):
        held, wanted = [item.name for item in source], [item.name for item in target]
        for name in wanted:
            others = [] if name in held else [other for other in held if name_key(other) == name_key(name)]
            if others and others[0] not in wanted:
                return f"it spells the field {name!r} as {others[0]!r}"
        pairs = [(source.field(name).type, target.field(name).type) for name in wanted if held.count(name) == 1]
    elif _is_list(source) and _is_list(target):
        pairs = [(source.value_type, target.value_type)]
    elif types.is_map(source) and types.is_map(target):
        pairs = [(source.key_type, target.key_type), (source.item_type, target.item_type)]
    else:
        return None
    return next((found for pair in pairs if (found := _respelled(*pair)) is not None), None)


def _partition_scalar(stored: str | None, field: "pa.Field[Any]", kind: ColumnKind, name: str) -> pa.Scalar:
    if stored is None or stored in ("", NULL_PARTITION):
        return pa.scalar(None, field.type)
    value: Any = stored_value(stored, kind)
    match value:
        case str() if kind is ColumnKind.DATE:
            value = parse_date(value)
        case (is_nan, number):
            value = float("nan") if is_nan else number
        case Decimal() if isinstance(field.type, pa.Decimal128Type):
            value = exact_decimal(stored, field.type.precision, field.type.scale)
        case Decimal() | date() | str() | bool() | int() | None:
            pass
    if value is not None:
        try:
            scalar = pa.scalar(value, field.type)
        except (pa.ArrowException, ValueError, OverflowError):
            scalar = None  # reported below, with the stored text
        if scalar is not None and not (types.is_floating(field.type) and _is_beyond(scalar, stored)):
            return scalar
    raise CorruptTable(
        f"{name} has the partition value {stored[:200]!r} for {field.name!r}, which is no {field.type}. "
        f"Remove the file from the table and add it with a value that fits"
    )


def _is_beyond(scalar: pa.Scalar, stored: str) -> bool:
    """Whether a text of digits has become infinite."""
    return math.isinf(scalar.as_py()) and any(character.isdigit() for character in stored)
