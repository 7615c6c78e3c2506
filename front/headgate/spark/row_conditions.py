"""A predicate as a condition of Spark: true for a row exactly where `headgate_table.indextables.row_filter` says so.

Literals have the column's own type, so that Spark never converts a column to compare it, and pushes the condition down. Works on
Spark Connect as well.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, assert_never

import pyarrow as pa
from pyarrow import types

from headgate_schemas.column_kinds import ColumnKind, Value, is_nan, literal_value
from headgate_schemas.partition_text import check_prefix_kind, kind_of
from headgate_schemas.predicates import (
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Literal,
    NotIn,
    NotStartsWith,
    Op,
    Predicate,
    StartsWith,
    fold,
)
from headgate_table.indextables.row_filter import nearest

if TYPE_CHECKING:
    from pyspark.sql import Column


def row_condition(predicate: Predicate, schema: pa.Schema, kinds: Mapping[str, ColumnKind]) -> "Column":
    """Raises `PredicateError` for an unknown column, and for a literal that doesn't go with its column."""
    from pyspark.sql import functions

    return fold(
        predicate,
        lambda leaf: _leaf(leaf, schema, kinds),
        lambda parts: reduce(lambda left, right: left & right, parts),
        lambda parts: reduce(lambda left, right: left | right, parts),
        functions.lit,
    )


def column_named(name: str) -> "Column":
    """The column itself, whatever is in its name."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def _leaf(leaf: Leaf, schema: pa.Schema, kinds: Mapping[str, ColumnKind]) -> "Column":
    kind = kind_of(leaf.column, kinds)
    column = column_named(leaf.column)
    type_ = schema.field(leaf.column).type
    match leaf:
        case IsNull():
            return column.isNull()
        case IsNotNull():
            return column.isNotNull()
        case Comparison(name, op, literal):
            return _comparison(column, type_, op, literal_value(name, kind, literal))
        case In(name, values):
            return _is_among(column, type_, kind, name, values)
        case NotIn(name, values):
            return column.isNotNull() & ~_is_among(column, type_, kind, name, values)
        case StartsWith(name, prefix):
            check_prefix_kind(name, kind)
            return _text(column, type_).startswith(prefix)
        case NotStartsWith(name, prefix):
            check_prefix_kind(name, kind)
            return ~_text(column, type_).startswith(prefix)
        case _:
            assert_never(leaf)


def _comparison(column: "Column", type_: pa.DataType, op: Op, value: Value) -> "Column":
    from pyspark.sql import functions

    if is_nan(value):  # which to Spark equals itself, and is above everything else
        return _compared(column, op, functions.lit(float("nan")).cast(_spark_name(type_)))
    near, side = nearest(value, type_)
    literal = _literal(near)
    if side == 0:
        return _compared(column, op, literal)
    match op:
        case Op.EQ:
            return functions.lit(False)
        case Op.NE:
            return column.isNotNull()
        case Op.LT | Op.LE:
            return column <= literal if side > 0 else column < literal
        case Op.GT | Op.GE:
            return column > literal if side > 0 else column >= literal
        case _:
            assert_never(op)


def _compared(column: "Column", op: Op, literal: "Column") -> "Column":
    match op:
        case Op.EQ:
            return column == literal
        case Op.NE:
            return column != literal
        case Op.LT:
            return column < literal
        case Op.LE:
            return column <= literal
        case Op.GT:
            return column > literal
        case Op.GE:
            return column >= literal
        case _:
            assert_never(op)


def _is_among(
    column: "Column", type_: pa.DataType, kind: ColumnKind, name: str, literals: Sequence[Literal]
) -> "Column":
    from pyspark.sql import functions

    members: list[Any] = []
    for literal in literals:
        value = literal_value(name, kind, literal)
        if is_nan(value):
            members.append(functions.lit(float("nan")).cast(_spark_name(type_)))
            continue
        near, side = nearest(value, type_)
        if side == 0:
            members.append(_literal(near))
    return column.isin(members) if members else functions.lit(False)


def _literal(scalar: pa.Scalar) -> "Column":
    """A literal of exactly the scalar's type."""
    from pyspark.sql import functions

    type_ = scalar.type
    if types.is_timestamp(type_):
        if type_.tz is None:
            return functions.lit(scalar.as_py().isoformat(sep=" ")).cast("timestamp_ntz")
        return functions.timestamp_micros(functions.lit(scalar.value))
    value = scalar.as_py()
    if types.is_integer(type_) or types.is_floating(type_):
        return functions.lit(value).cast(_spark_name(type_))
    if types.is_decimal(type_):
        return functions.lit(f"{value:f}").cast(_spark_name(type_))
    return functions.lit(value)


def _spark_name(type_: pa.DataType) -> str:
    names = {"int8": "byte", "int16": "short", "int32": "int", "int64": "long", "float": "float", "double": "double"}
    return f"decimal({type_.precision},{type_.scale})" if types.is_decimal(type_) else names[str(type_)]


def _text(column: "Column", type_: pa.DataType) -> "Column":
    """What LIKE sees: times in UTC, whatever zone the session is set to."""
    from pyspark.sql import functions

    if types.is_string(type_):
        return column
    if types.is_timestamp(type_) and type_.tz is not None:
        epoch = functions.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        column = functions.timestamp_add("MICROSECOND", functions.unix_micros(column), epoch)
    return column.cast("string")
