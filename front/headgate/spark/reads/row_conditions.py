"""A predicate as a Spark condition: true for the same rows as in `headgate_table.indextables.read.rows.row_filter`.

Literals have the column's own type, so that Spark never converts a column for a comparison, and pushes the condition
down; except for conditions that would lose rows there (`unpushed_columns`). Works on Spark Connect as well.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date
from functools import reduce
from typing import TYPE_CHECKING, assert_never

import pyarrow as pa
from pyarrow import types

from headgate.spark.reads.unpushed_columns import column_named, unpushed_number
from headgate_schemas.columns.column_kinds import ColumnKind, Value, is_nan, literal_value
from headgate_schemas.predicates.partition_text import check_prefix_kind, kind_of
from headgate_schemas.predicates.tree import (
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
from headgate_table.indextables.read.rows.row_filter import nearest

if TYPE_CHECKING:
    from pyspark.sql import Column


_EPOCH = date(1970, 1, 1).toordinal()
_NO_DAYS = range(date(1582, 10, 5).toordinal() - _EPOCH, date(1582, 10, 15).toordinal() - _EPOCH)
_OLD_MICROS = (date(1900, 1, 1).toordinal() - _EPOCH) * 86_400_000_000


def row_condition(predicate: Predicate, schema: pa.Schema, kinds: Mapping[str, ColumnKind]) -> "Column":
    """Raises `PredicateError` for an unknown column, and for a literal that doesn't fit its column."""
    from pyspark.sql import functions

    return fold(
        predicate,
        lambda leaf: _leaf(leaf, schema, kinds),
        lambda parts: reduce(lambda left, right: left & right, parts),
        lambda parts: reduce(lambda left, right: left | right, parts),
        functions.lit,
    )


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

    if is_nan(value):  # in Spark, NaN equals itself and is above everything else
        return _compared(unpushed_number(column), op, functions.lit(float("nan")).cast(_spark_name(type_)))
    near, side = nearest(value, type_)
    if types.is_floating(type_) and (op in (Op.NE, Op.GT, Op.GE) or near.as_py() == 0):
        column = unpushed_number(column)
    column, literal = _both(column, type_, [near])
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

    values = [literal_value(name, kind, literal) for literal in literals]
    nearby = [nearest(value, type_) for value in values if not is_nan(value)]
    scalars = [scalar for scalar, side in nearby if side == 0]
    if types.is_floating(type_):
        if any(map(is_nan, values)):
            scalars.append(pa.scalar(float("nan"), type_))
        if any(scalar.as_py() == 0 or math.isnan(scalar.as_py()) for scalar in scalars):
            column = unpushed_number(column)
    if not scalars:
        return functions.lit(False)
    column, *members = _both(column, type_, scalars)
    return column.isin(members)


def _both(column: "Column", type_: pa.DataType, scalars: "Sequence[pa.Scalar]") -> "list[Column]":
    """The column and the literals to compare it with.

    On the way into files, Spark converts a date or an instant to Java's older calendar, which has no 10th of October
    1582 and other zones in earlier times. Such literals are compared as numbers, which stay unchanged.
    """
    from pyspark.sql import functions

    if types.is_date(type_) and any(scalar.value in _NO_DAYS for scalar in scalars):
        return [functions.unix_date(column), *(functions.lit(scalar.value) for scalar in scalars)]
    if types.is_timestamp(type_) and type_.tz is not None and any(scalar.value < _OLD_MICROS for scalar in scalars):
        micros = [functions.lit(scalar.value).cast("long") for scalar in scalars]
        return [functions.unix_micros(column), *micros]
    return [column, *map(_literal, scalars)]


def _literal(scalar: pa.Scalar) -> "Column":
    """A literal of exactly the scalar's type."""
    from pyspark.sql import functions

    type_ = scalar.type
    if types.is_timestamp(type_):
        if type_.tz is None:
            return functions.lit(scalar.as_py().isoformat(sep=" ")).cast("timestamp_ntz")
        return functions.timestamp_micros(functions.lit(scalar.value))
    if types.is_date(type_):
        # Not as a date of Python's, which would be converted to Java's older calendar.
        return functions.date_from_unix_date(functions.lit(scalar.value))
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
    """The text for LIKE: times in UTC, whatever the session's zone is."""
    from pyspark.sql import functions

    if types.is_string(type_):
        return column
    if types.is_timestamp(type_) and type_.tz is not None:
        epoch = functions.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        column = functions.timestamp_add("MICROSECOND", functions.unix_micros(column), epoch)
    return column.cast("string")
