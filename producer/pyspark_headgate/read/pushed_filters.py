"""Converts Spark's pushed filters to predicates of Headgate as far as possible, to leave out files, row groups and
rows.

Spark also applies every filter itself, so a filter that isn't converted only costs time.
"""

import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql import datasource as spark_filters
from pyspark.sql.datasource import Filter

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.errors import InvalidInput, PredicateError
from headgate_schemas.predicates.partition_text import text_test
from headgate_schemas.predicates.tree import (
    AlwaysFalse,
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
    all_of,
    any_of,
    fold,
)

_FIRST_YEAR = 1901

_COMPARED = {
    spark_filters.EqualTo: Op.EQ,
    spark_filters.GreaterThan: Op.GT,
    spark_filters.GreaterThanOrEqual: Op.GE,
    spark_filters.LessThan: Op.LT,
    spark_filters.LessThanOrEqual: Op.LE,
}


def pushed_predicate(filters: Sequence[Filter], kinds: Mapping[str, ColumnKind]) -> Predicate | None:
    """A condition that holds for every row that passes all filters; None if there is none."""
    understood = [said for each in filters if (said := _understood(each, kinds)) is not None]
    try:
        return all_of(*understood) if understood else None
    except InvalidInput:  # together they are larger than a predicate may be
        return None


def _understood(pushed: Filter, kinds: Mapping[str, ColumnKind]) -> Predicate | None:
    negated = isinstance(pushed, spark_filters.Not)
    inner: Any = pushed.child if isinstance(pushed, spark_filters.Not) else pushed
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if len(path) != 1 or kinds.get(path[0], ColumnKind.OTHER) is ColumnKind.OTHER:
        return None
    column: str = path[0]
    try:
        said = _said(inner, column, negated, _Literals(kinds[column]))
        if said is not None:
            _check(said, kinds)
    except (InvalidInput, PredicateError):  # such as a literal that no column of this kind can equal
        return None
    return said


def _said(pushed: Any, column: str, negated: bool, literals: "_Literals") -> Predicate | None:
    match pushed:
        case spark_filters.IsNull():
            return IsNotNull(column) if negated else IsNull(column)
        case spark_filters.IsNotNull():
            return IsNull(column) if negated else IsNotNull(column)
        case spark_filters.EqualNullSafe(value=None):
            return IsNotNull(column) if negated else IsNull(column)
        case spark_filters.EqualNullSafe(value=value):
            literal = literals.of(value)
            if literal is None:
                return None
            if negated:
                return any_of(Comparison(column, Op.NE, literal), IsNull(column))
            return Comparison(column, Op.EQ, literal)
        case spark_filters.In(value=values):
            return _membership(column, list(values), negated, literals)
        case spark_filters.StringStartsWith(value=prefix) if literals.kind is ColumnKind.STRING:
            return NotStartsWith(column, prefix) if negated else StartsWith(column, prefix)
        case _ if type(pushed) in _COMPARED:
            if pushed.value is None:  # never true, whatever the column holds
                return AlwaysFalse()
            literal = literals.of(pushed.value)
            op = _COMPARED[type(pushed)]
            return None if literal is None else Comparison(column, op.negated if negated else op, literal)
        case _:
            return None


def _membership(column: str, values: list[Any], negated: bool, literals: "_Literals") -> Predicate | None:
    """`IN` with a null among its values is true or unknown, `NOT IN` with one is false or unknown."""
    if negated and None in values:
        return AlwaysFalse()
    known = [literals.of(value) for value in values if value is not None]
    members = tuple(literal for literal in known if literal is not None)
    if len(members) < len(known):
        return None
    if not members:
        return IsNotNull(column) if negated else AlwaysFalse()
    return NotIn(column, members) if negated else In(column, members)


class _Literals:
    """Spark's literals have the type of their column; those of a 32-bit column are the equal 64-bit numbers."""

    def __init__(self, kind: ColumnKind) -> None:
        self.kind = kind

    def of(self, value: Any) -> Literal | None:
        """The literal as text; None if it can't be written, such as binary values."""
        match value:
            case float():
                if math.isnan(value):
                    return "NaN"
                if math.isinf(value):
                    return "Infinity" if value > 0 else "-Infinity"
                return value
            case datetime() | date() if value.year < _FIRST_YEAR:
                # The value has passed through Java's older calendar, which has other days and zones.
                return None
            case bool() | str() | int() | Decimal() | datetime() | date():
                return value
            case _:
                return None


def _check(predicate: Predicate, kinds: Mapping[str, ColumnKind]) -> None:
    """Raises `PredicateError` if a literal doesn't fit its column."""

    def leaf_makes_sense(leaf: Leaf) -> bool:
        text_test(leaf, kinds[leaf.column])
        return True

    fold(predicate, leaf_makes_sense, all, all, bool)
