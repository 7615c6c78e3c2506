"""The conditions of a query on the rows of each of its tables, as far as they help to skip files. Pure.

They are read from the plan of DataFusion, which has found them in the text, moved them to their tables, and converted literals
and columns to the types in which it compares. What it compares in another type than the column's is left to it alone.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import isnan
from typing import Any

import pyarrow as pa
from datafusion import Expr, LogicalPlan
from datafusion.expr import (
    BinaryExpr,
    Cast,
    Column,
    Filter,
    InList,
    IsNotNull,
    IsNull,
    Like,
    Not,
    TableScan,
)
from datafusion.expr import Literal as PlannedLiteral
from pyarrow import types

from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates import tree
from headgate_schemas.predicates.tree import Comparison, In, Literal, NotIn, NotStartsWith, Op, Predicate, StartsWith

_OPS = {"=": Op.EQ, "!=": Op.NE, "<": Op.LT, "<=": Op.LE, ">": Op.GT, ">=": Op.GE}
_PREFIX = re.compile(r"([^%_\\]*)%")


@dataclass(frozen=True, slots=True)
class QueriedColumns:
    """The columns of one table."""

    schema: pa.Schema
    partition: Collection[str]


def conditions_of(plan: LogicalPlan, tables: Mapping[str, QueriedColumns]) -> dict[str, Predicate]:
    """By the name of a table in the plan, what all rows meet that the query needs. A table that is read twice has either condition."""
    found: dict[str, list[Predicate | None]] = {}
    for scan, filtered in _scans(plan):
        predicate = None if filtered is None else _all(filtered, tables[scan])
        found.setdefault(scan, []).append(predicate)
    shown = [line.strip() for line in plan.display_indent().splitlines()]
    asked: dict[str, Predicate] = {}
    for name, predicates in found.items():
        known = [predicate for predicate in predicates if predicate is not None]
        # A subquery in an expression is shown, and is no input of its plan.
        scans = sum(line.startswith(f"TableScan: {name}") for line in shown)
        if len(known) == scans:
            asked[name] = tree.any_of(*dict.fromkeys(known))
    return asked


def _scans(plan: LogicalPlan, filtered: Expr | None = None) -> Iterator[tuple[str, Expr | None]]:
    """Each table that is read, with the filter right above it."""
    node = plan.to_variant()
    if isinstance(node, TableScan):
        yield node.table_name(), filtered
        return
    own = node.predicate() if isinstance(node, Filter) else None
    for each in plan.inputs():
        yield from _scans(each, own)


def _all(condition: Expr, columns: QueriedColumns) -> Predicate | None:
    """What is known of the rows; conditions that aren't understood are left out."""
    node = condition.to_variant()
    if isinstance(node, BinaryExpr) and node.op() == "AND":
        known = [said for side in (node.left(), node.right()) if (said := _all(side, columns)) is not None]
        return tree.all_of(*known) if known else None
    if isinstance(node, BinaryExpr) and node.op() == "OR":
        either = [_all(side, columns) for side in (node.left(), node.right())]
        known = [said for said in either if said is not None]
        return tree.any_of(*known) if len(known) == len(either) else None
    try:
        return _leaf(node, condition, columns)
    except (InvalidInput, ValueError, OverflowError, pa.ArrowException):  # such as a day that Python doesn't know
        return None


def _leaf(node: Any, condition: Expr, columns: QueriedColumns) -> Predicate | None:
    match node:
        case Column():
            return Comparison(node.name(), Op.EQ, True)
        case Not() if isinstance(node.expr().to_variant(), Column):
            return Comparison(node.expr().to_variant().name(), Op.EQ, False)
        case IsNull() if isinstance(node.expr().to_variant(), Column):
            return tree.IsNull(node.expr().to_variant().name())
        case IsNotNull() if isinstance(node.expr().to_variant(), Column):
            return tree.IsNotNull(node.expr().to_variant().name())
        case BinaryExpr() if node.op() in _OPS:
            return _comparison(node.left(), _OPS[node.op()], node.right(), columns)
        case InList():
            return _membership(node, columns)
        case Like() if node.escape_char() is None:
            return _prefix(node, columns)
        case _:
            return None


def _comparison(left: Expr, op: Op, right: Expr, columns: QueriedColumns) -> Predicate | None:
    if isinstance(left.to_variant(), PlannedLiteral):
        left, op, right = right, op.flipped, left
    column = _column(left, columns)
    if column is None:
        return None
    name, type_ = column
    literal = _literal(right, type_)
    if literal is None or (types.is_floating(type_) and not _orders_alike(name, op, literal, columns)):
        return None
    return Comparison(name, op, literal)


def _orders_alike(name: str, op: Op, literal: Literal, columns: QueriedColumns) -> bool:
    """Whether NaN is where it is in DataFusion, which has some of them below all numbers. Partition values know one only."""
    return name in columns.partition or (op is Op.EQ and literal != "NaN")


def _membership(node: InList, columns: QueriedColumns) -> Predicate | None:
    column = _column(node.expr(), columns)
    if column is None:
        return None
    name, type_ = column
    literals = [_literal(each, type_) for each in node.list()]
    known = [literal for literal in literals if literal is not None]
    if len(known) < len(literals):
        return None
    if types.is_floating(type_) and not all(
        _orders_alike(name, Op.NE if node.negated() else Op.EQ, each, columns) for each in known
    ):
        return None
    return NotIn(name, tuple(known)) if node.negated() else In(name, tuple(known))


def _prefix(node: Like, columns: QueriedColumns) -> Predicate | None:
    column = _column(node.expr(), columns)
    if column is None or not types.is_string(column[1]):
        return None
    pattern = _literal(node.pattern(), column[1])
    plain = _PREFIX.fullmatch(pattern) if isinstance(pattern, str) else None
    if plain is None:
        return None
    return NotStartsWith(column[0], plain[1]) if node.negated() else StartsWith(column[0], plain[1])


def _column(side: Expr, columns: QueriedColumns) -> tuple[str, pa.DataType] | None:
    """A column, and the type in which it is compared: its own, or a 64-bit float for one of 32 bits."""
    node = side.to_variant()
    if isinstance(node, Column):
        return node.name(), columns.schema.field(node.name()).type
    if isinstance(node, Cast) and isinstance(node.expr().to_variant(), Column):
        name = node.expr().to_variant().name()
        if types.is_float32(columns.schema.field(name).type):
            return name, pa.float64()  # both sides are of one type, and the literal tells which
    return None


def _literal(side: Expr, wanted: pa.DataType) -> Literal | None:
    """The value of a literal of this very type; None for null and for other expressions."""
    if not isinstance(side.to_variant(), PlannedLiteral):
        return None
    scalar = side.python_value()
    if not isinstance(scalar, pa.Scalar) or scalar.type != wanted or not scalar.is_valid:
        return None
    match scalar.as_py():
        case float() as number if isnan(number):
            return "NaN"
        case float() as number if abs(number) == float("inf"):
            return "Infinity" if number > 0 else "-Infinity"
        case bool() | int() | float() | str() | Decimal() | datetime() | date() as value:
            return value
        case _:
            return None
