"""Parses a predicate from SQL text: Spark's dialect, parsed by sqlglot, reduced to the predicates that Headgate
supports.

The text comes from people and from messages, so all bounds are checked before the parser runs, and every error points
at the place. Whether a column exists is checked here; whether its type fits is checked where the predicate is used.
"""

import difflib
from collections.abc import Collection
from decimal import Decimal

from sqlglot import exp
from sqlglot.errors import ParseError

from headgate_schemas.columns.column_kinds import parse_date, parse_timestamp
from headgate_schemas.errors import InvalidInput, PredicateError
from headgate_schemas.predicates.format import format_predicate as format_predicate
from headgate_schemas.predicates.tokens import ALLOWED, SPARK, PredicateSource
from headgate_schemas.predicates.tree import (
    MAX_NUMBER_DIGITS,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    NotIn,
    NotStartsWith,
    Op,
    Predicate,
    StartsWith,
    all_of,
    any_of,
    columns,
)

MAX_PREDICATE_LENGTH = 65_536
"""Longest text, in characters; a longer list of values belongs in a join."""

_COMPARISONS: dict[type[exp.Expr], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_DATE_TYPES = {exp.DType.DATE}
_TIMESTAMP_TYPES = {exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPLTZ}
_INTEGER_TYPES = {exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT, exp.DType.INT}
_FLOAT_TYPES = {exp.DType.DOUBLE, exp.DType.FLOAT}


def parse_predicate(text: str) -> Predicate:
    """The predicate of a SQL text. Raises `PredicateError`, which shows the place, for every other text."""
    if len(text) > MAX_PREDICATE_LENGTH:
        raise PredicateError(
            f"the predicate is {len(text)} characters long; {MAX_PREDICATE_LENGTH} are allowed", text[:40]
        )
    source = PredicateSource(text)
    reading = _Reading(source)
    try:
        return reading.predicate(reading.tree())
    except PredicateError:
        raise
    except InvalidInput as error:
        raise PredicateError(str(error), source.excerpt(0)[0]) from error
    except RecursionError as error:
        raise PredicateError("the predicate nests too deeply; write it flatter", source.excerpt(0)[0]) from error


def check_columns(predicate: Predicate, text: str, known_columns: Collection[str]) -> None:
    """Raises `PredicateError` for a column that the table doesn't have, with the nearest name that it does have."""
    for column in sorted(columns(predicate) - frozenset(known_columns)):
        by_folded = {name.casefold(): name for name in known_columns}
        near = difflib.get_close_matches(column[:200].casefold(), by_folded, n=1)
        hint = (
            f"did you mean {by_folded[near[0]]!r}?" if near else f"known are: {', '.join(sorted(known_columns)[:20])}"
        )
        raise PredicateSource(text).error(f"there is no column {column[:60]!r}; {hint}", max(text.find(column), 0))


class _Reading:
    """One text on its way to a predicate."""

    def __init__(self, source: PredicateSource) -> None:
        self._source = source

    def tree(self) -> exp.Expr:
        tokens = self._source.checked_tokens()
        try:
            parsed = SPARK.parser().parse(tokens, self._source.text)
        except ParseError as error:
            place = error.errors[0] if error.errors else {}
            at = next((t for t in tokens if (t.line, t.col) == (place.get("line"), place.get("col"))), tokens[-1])
            raise self._source.error(f"this is not a complete condition; {ALLOWED}", at.start) from error
        if len(parsed) != 1 or not isinstance(parsed[0], exp.Expr):
            raise self._source.error(f"this is not a condition; {ALLOWED}", 0)
        return parsed[0]

    def _place(self, node: exp.Expr) -> int:
        places = [each.meta["start"] for each in node.walk() if "start" in each.meta]
        if not places and node.parent is not None:
            return self._place(node.parent)
        return min(places, default=0)

    def predicate(self, node: exp.Expr) -> Predicate:
        match node:
            case exp.Paren():
                return self.predicate(node.this)
            case exp.And():
                return all_of(*map(self.predicate, node.flatten()))
            case exp.Or():
                return any_of(*map(self.predicate, node.flatten()))
            case exp.Not():
                return self._negated(node.this)
            case exp.Boolean():
                return AlwaysTrue() if node.this else AlwaysFalse()
            case exp.NullSafeEQ():
                return self._null_safe(node)
            case exp.In():
                return self._membership(node, negated=False)
            case exp.Between():
                return self._between(node)
            case exp.Is():
                return self._null_test(node, negated=False)
            case exp.Like() | exp.Escape():
                return self._like(node)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(node)
            case exp.Column():
                raise self._source.error(
                    f"a column alone is no condition; write {node.name[:60]} = TRUE or {node.name[:60]} IS NOT NULL",
                    self._place(node),
                )
            case _:
                raise self._source.error(f"this is no condition; {ALLOWED}", self._place(node))

    def _negated(self, node: exp.Expr) -> Predicate:
        match node:
            case exp.In():
                return self._membership(node, negated=True)
            case exp.Is():
                return self._null_test(node, negated=True)
            case _:
                return Not(self.predicate(node))

    def _comparison(self, node: exp.Binary) -> Predicate:
        op = _COMPARISONS[type(node)]
        left, right = node.left.unnest(), node.right.unnest()
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right, op = right, left, op.flipped
        return Comparison(self._column(left), op, self._literal(right))

    def _null_safe(self, node: exp.NullSafeEQ) -> Predicate:
        left, right = node.left.unnest(), node.right.unnest()
        if not isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left, right = right, left
        column = self._column(left)
        if isinstance(right, exp.Null):
            return IsNull(column)
        # False, not unknown, for a null: the difference matters under NOT.
        return And((IsNotNull(column), Comparison(column, Op.EQ, self._literal(right))))

    def _membership(self, node: exp.In, negated: bool) -> Predicate:
        if any(value for key, value in node.args.items() if key not in ("this", "expressions")):
            raise self._source.error("IN needs a list of values in parentheses", self._place(node))
        column = self._column(node.this)
        values = tuple(map(self._literal, node.expressions))
        if not values:
            return AlwaysTrue() if negated else AlwaysFalse()
        return NotIn(column, values) if negated else In(column, values)

    def _between(self, node: exp.Between) -> Predicate:
        column = self._column(node.this)
        low, high = self._literal(node.args["low"]), self._literal(node.args["high"])
        return And((Comparison(column, Op.GE, low), Comparison(column, Op.LE, high)))

    def _null_test(self, node: exp.Is, negated: bool) -> Predicate:
        if not isinstance(node.expression, exp.Null):
            raise self._source.error("IS goes with NULL or NOT NULL only; compare by = instead", self._place(node))
        column = self._column(node.this)
        return IsNotNull(column) if negated else IsNull(column)

    def _like(self, node: exp.Like | exp.Escape) -> Predicate:
        escape = "\\"
        if isinstance(node, exp.Escape):
            escape = str(self._literal(node.expression))
            if len(escape) != 1:
                raise self._source.error("ESCAPE needs one character", self._place(node.expression))
            node = node.this
        if not isinstance(node, exp.Like):
            raise self._source.error("ESCAPE goes with LIKE only", self._place(node))
        column, pattern = self._column(node.this), self._literal(node.expression)
        negated = bool(node.args.get("negate"))
        if not isinstance(pattern, str):
            raise self._source.error("LIKE needs a pattern in quotes", self._place(node.expression))
        text, is_prefix = self._pattern(pattern, escape, self._place(node.expression))
        if is_prefix:
            return NotStartsWith(column, text) if negated else StartsWith(column, text)
        return Comparison(column, Op.NE if negated else Op.EQ, text)

    def _pattern(self, pattern: str, escape: str, place: int) -> tuple[str, bool]:
        text: list[str] = []
        characters = iter(enumerate(pattern))
        for index, each in characters:
            if each == escape:
                _, each = next(characters, (0, ""))
                if each not in ("%", "_", escape):
                    raise self._source.error(f"in LIKE, {escape} goes before %, _ or itself only", place)
            elif each == "%" and not pattern[index:].strip("%"):
                return "".join(text), True
            elif each in "%_":
                raise self._source.error(
                    f"only LIKE 'prefix%' can be used; write {escape}{each} for a plain {each}",
                    place,
                )
            text.append(each)
        return "".join(text), False

    def _column(self, node: exp.Expr) -> str:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier) or node.parts[1:]:
            raise self._source.error(f"a column's name belongs here; {ALLOWED}", self._place(node))
        if not node.name:
            raise self._source.error("a column's name is missing between the backquotes", self._place(node))
        return node.name

    def _literal(self, node: exp.Expr) -> Literal:
        match node:
            case exp.Literal() if node.is_string:
                return str(node.this)
            case exp.Literal():
                return self._number(str(node.this), node)
            case exp.Boolean():
                return bool(node.this)
            case exp.Paren():
                return self._literal(node.this)
            case exp.Neg():
                value = self._literal(node.this)
                if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
                    raise self._source.error("only a number can have a minus", self._place(node))
                # Decimal's own minus would round to 28 digits.
                return value.copy_negate() if isinstance(value, Decimal) else -value
            case exp.Cast() if isinstance(node.this, exp.Literal) and isinstance(node.to, exp.DataType):
                return self._typed(node.this, node.to.this)
            case exp.Null():
                raise self._source.error(
                    "comparing with NULL is never true; write IS NULL or IS NOT NULL", self._place(node)
                )
            case exp.Column():
                raise self._source.error(
                    f"a column can't be compared with another column; {ALLOWED}", self._place(node)
                )
            case _:
                raise self._source.error(f"a value belongs here; {ALLOWED}", self._place(node))

    def _typed(self, literal: exp.Literal, dtype: exp.DType) -> Literal:
        text, place = str(literal.this), self._place(literal)
        if dtype in _DATE_TYPES:
            day = parse_date(text)
            if day is None:
                raise self._source.error("this is no date; write it as DATE '2024-01-31'", place)
            return day
        if dtype in _TIMESTAMP_TYPES:
            moment = parse_timestamp(text)
            if moment is None:
                raise self._source.error("this is no time; write it as TIMESTAMP '2024-01-31 10:00:00'", place)
            return moment
        if dtype is exp.DType.DECIMAL:
            return Decimal(text)
        if dtype in _FLOAT_TYPES:
            return float(text)
        value = self._number(text, literal)
        if dtype not in _INTEGER_TYPES or not isinstance(value, int):
            raise self._source.error("the letter after this number doesn't fit it", place)
        return value

    def _number(self, text: str, node: exp.Expr) -> int | float | Decimal:
        try:
            if text.isdigit():
                if len(text) > MAX_NUMBER_DIGITS:
                    raise self._source.error("this number is too long", self._place(node))
                return int(text)
            return float(text) if "e" in text.lower() else Decimal(text)
        except (ValueError, ArithmeticError) as error:
            raise self._source.error("this is not a number", self._place(node)) from error
