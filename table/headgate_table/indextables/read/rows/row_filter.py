"""A predicate as a PyArrow expression over a table's rows: true for a row exactly if SQL says true.

False and unknown are alike for a filter, so only "true" has to be exact (`predicates.tree.fold` leaves no NOT).
Literals keep their meaning whatever the column's width: `x > 4.5` on integers, or `x < 10000000000` on 32-bit ones,
isn't rounded.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from decimal import ROUND_FLOOR, Decimal, localcontext
from functools import reduce
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.columns.column_kinds import FLOATING, ColumnKind, Value, is_nan, literal_value, sign
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

_COMPARE: Mapping[Op, Callable[[Any, Any], Any]] = {
    Op.EQ: lambda column, scalar: column == scalar,
    Op.NE: lambda column, scalar: column != scalar,
    Op.LT: lambda column, scalar: column < scalar,
    Op.LE: lambda column, scalar: column <= scalar,
    Op.GT: lambda column, scalar: column > scalar,
    Op.GE: lambda column, scalar: column >= scalar,
}
_WORKING_DIGITS = 1000
"""More than the digits of any literal and column together, so that nothing is rounded on the way."""


def row_filter(predicate: Predicate, schema: pa.Schema, kinds: Mapping[str, ColumnKind]) -> pc.Expression:
    """True for the rows that match. `schema` gives the columns' types.

    Raises `PredicateError` for an unknown column and for a literal that doesn't fit its column.
    """
    return _combined(predicate, lambda leaf: _leaf_filter(leaf, schema, kinds))


def row_group_filter(
    predicate: Predicate, schema: pa.Schema, kinds: Mapping[str, ColumnKind], known: Collection[str]
) -> pc.Expression:
    """The filter for the statistics of a Parquet row group: conditions on columns other than `known` pass.

    A NaN leaves no trace in statistics, so conditions that it fulfils pass as well.
    """

    def leaf_filter(leaf: Leaf) -> pc.Expression:
        if leaf.column not in known or (kinds.get(leaf.column) in FLOATING and not _excludes_nan(leaf)):
            return pc.scalar(True)
        return _leaf_filter(leaf, schema, kinds)

    return _combined(predicate, leaf_filter)


def _combined(predicate: Predicate, leaf_filter: Callable[[Leaf], pc.Expression]) -> pc.Expression:
    return fold(
        predicate,
        leaf_filter,
        lambda parts: reduce(lambda left, right: left & right, parts),
        lambda parts: reduce(lambda left, right: left | right, parts),
        pc.scalar,
    )


def _excludes_nan(leaf: Leaf) -> bool:
    match leaf:
        case Comparison(column, Op.EQ | Op.LT | Op.LE, literal):
            return not is_nan(literal_value(column, ColumnKind.DOUBLE, literal))
        case In(column, values):
            return not any(is_nan(literal_value(column, ColumnKind.DOUBLE, each)) for each in values)
        case _:
            return False


def _leaf_filter(leaf: Leaf, schema: pa.Schema, kinds: Mapping[str, ColumnKind]) -> pc.Expression:
    kind = kind_of(leaf.column, kinds)
    column = pc.field(leaf.column)
    type_ = schema.field(leaf.column).type
    match leaf:
        case IsNull():
            return column.is_null()
        case IsNotNull():
            return column.is_valid()
        case Comparison(name, op, literal):
            return _comparison(column, type_, kind, op, literal_value(name, kind, literal))
        case In(name, values):
            return _is_among(column, type_, kind, name, values)
        case NotIn(name, values):
            # A null among the values can't be written, so "none of them" is known for every value.
            return column.is_valid() & ~_is_among(column, type_, kind, name, values)
        case StartsWith(name, prefix):
            check_prefix_kind(name, kind)
            return pc.starts_with(_text(column, kind), pattern=prefix)
        case NotStartsWith(name, prefix):
            check_prefix_kind(name, kind)
            return ~pc.starts_with(_text(column, kind), pattern=prefix)
        case _:
            assert_never(leaf)


def _comparison(column: pc.Expression, type_: pa.DataType, kind: ColumnKind, op: Op, value: Value) -> pc.Expression:
    if kind not in FLOATING:
        return _number_comparison(column, op, *nearest(value, type_))
    nan = pc.is_nan(column)
    if is_nan(value):
        # Spark's order: NaN equals itself and is above everything else.
        match op:
            case Op.EQ | Op.GE:
                return nan
            case Op.NE | Op.LT:
                return column.is_valid() & ~nan
            case Op.LE:
                return column.is_valid()
            case Op.GT:
                return pc.scalar(False)
            case _:
                assert_never(op)
    compared = _number_comparison(column, op, *nearest(value, type_))
    return compared | nan if op in (Op.NE, Op.GT, Op.GE) else compared


def _number_comparison(column: pc.Expression, op: Op, nearest: pa.Scalar, side: int) -> pc.Expression:
    """`nearest` is a value of the column's type next to the literal: below (-1), at (0) or above (1) it."""
    if side == 0:
        return _COMPARE[op](column, nearest)
    match op:
        case Op.EQ:
            return pc.scalar(False)
        case Op.NE:
            return column.is_valid()
        case Op.LT | Op.LE:
            return column <= nearest if side > 0 else column < nearest
        case Op.GT | Op.GE:
            return column > nearest if side > 0 else column >= nearest
        case _:
            assert_never(op)


def _is_among(
    column: pc.Expression, type_: pa.DataType, kind: ColumnKind, name: str, literals: Sequence[Literal]
) -> pc.Expression:
    values = [literal_value(name, kind, literal) for literal in literals]
    members: list[Any] = []
    for value in values:
        if is_nan(value):
            continue
        scalar, side = nearest(value, type_)
        if side == 0:
            members.append(scalar.as_py())
            if kind in FLOATING and members[-1] == 0:
                members.append(-members[-1])  # 0.0 equals -0.0, but not in a lookup
    among = column.isin(pa.array(members, type_)) if members else pc.scalar(False)
    return among | pc.is_nan(column) if any(map(is_nan, values)) else among


def nearest(value: Value, type_: pa.DataType) -> tuple[pa.Scalar, int]:
    """The value of a type nearest to the literal, and its direction from the literal."""
    if pa.types.is_integer(type_):
        assert isinstance(value, int | Decimal)
        limit = 2 ** (type_.bit_width - 1)
        near = max(-limit, min(limit - 1, _floor(Decimal(value))))
        return pa.scalar(near, type_), sign(Decimal(value), Decimal(near))
    if pa.types.is_decimal(type_):
        assert isinstance(value, int | Decimal)
        with localcontext() as context:
            context.prec = _WORKING_DIGITS
            limit = 10**type_.precision
            unscaled = max(1 - limit, min(limit - 1, _floor(Decimal(value).scaleb(type_.scale))))
            scaled = Decimal(unscaled).scaleb(-type_.scale)
            return pa.scalar(scaled, type_), sign(Decimal(value), scaled)
    if pa.types.is_floating(type_):
        assert isinstance(value, tuple)
        if is_nan(value):
            return pa.scalar(float("nan"), type_), 0
        if pa.types.is_float64(type_):
            return pa.scalar(value[1], type_), 0
        with np.errstate(over="ignore"):
            near32 = np.float32(value[1])
        return pa.scalar(near32, type_), sign(value[1], float(near32))
    if pa.types.is_date(type_):
        assert isinstance(value, str)
        return pa.scalar(date.fromisoformat(value), type_), 0
    return pa.scalar(value, type_), 0


def _floor(value: Decimal) -> int:
    return int(value.to_integral_value(ROUND_FLOOR))


def _text(column: pc.Expression, kind: ColumnKind) -> pc.Expression:
    """The text for LIKE: dates as ISO text, times as Spark writes them in UTC, without zeros at the end of a second."""
    if kind is ColumnKind.STRING:
        return column
    if kind is ColumnKind.DATE:
        return column.cast(pa.string())
    text = column.cast(pa.timestamp("us")).cast(pa.string())
    without_zeros = pc.replace_substring_regex(text, pattern=r"(\.[0-9]*[1-9])0+$", replacement=r"\1")
    return pc.replace_substring_regex(without_zeros, pattern=r"\.0+$", replacement="")
