"""A `where` as a frozen tree with SQL's three-valued meaning: build, normalise and walk it.

`text` has its SQL text; `partition_text` its meaning for a stored partition text.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import TypeVar, assert_never

from headgate_schemas.columns.column_kinds import Literal as Literal
from headgate_schemas.errors import InvalidInput

MAX_NESTING = 24
"""How deep AND, OR and NOT may nest. Bounds the recursion of everything that walks a predicate or parses its text."""

MAX_SIZE = 50_000
"""How many literals and conditions one predicate may hold; a longer list of values belongs in a join."""

MAX_NUMBER_DIGITS = 400
"""Longest number in a literal: past every double and decimal, and short enough to compare at once."""

MAX_TEXT_LENGTH = 65_536
"""Longest string literal and column name, in characters."""

T = TypeVar("T")


class Op(Enum):
    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> "Op":
        return _NEGATED[self]

    @property
    def flipped(self) -> "Op":
        """The operator with the same meaning when its two sides are swapped."""
        return _FLIPPED[self]

    def holds(self, sign: int) -> bool:
        """Whether `left op right` is true, where `sign` is -1, 0 or 1 for left below, equal to or above right."""
        match self:
            case Op.EQ:
                return sign == 0
            case Op.NE:
                return sign != 0
            case Op.LT:
                return sign < 0
            case Op.LE:
                return sign <= 0
            case Op.GT:
                return sign > 0
            case Op.GE:
                return sign >= 0
            case _:
                assert_never(self)


_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
_FLIPPED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}


def _checked_literal(value: Literal) -> Literal:
    match value:
        case bool():
            return value
        case str():
            _check_text("a string in a predicate", value)
        case int():
            if abs(value) >= 10**MAX_NUMBER_DIGITS:
                raise InvalidInput(f"a number in a predicate may have {MAX_NUMBER_DIGITS} digits")
        case float():
            if not math.isfinite(value):
                raise InvalidInput(f"{value} can't be used in a predicate; use a finite number")
        case Decimal():
            if not value.is_finite():
                raise InvalidInput(f"{value} can't be used in a predicate; use a finite number")
            if len(value.as_tuple().digits) > MAX_NUMBER_DIGITS or abs(value.adjusted()) > MAX_NUMBER_DIGITS:
                raise InvalidInput(f"a number in a predicate may have {MAX_NUMBER_DIGITS} digits")
        case datetime():
            if value.tzinfo is not None:
                try:
                    return value.astimezone(UTC)
                except OverflowError as error:
                    raise InvalidInput(f"the time {value} is out of range in UTC") from error
        case date():
            return value
        case _:
            raise InvalidInput(f"{value!r} is a {type(value).__name__}; use str, int, float, Decimal, bool or a date")
    return value


def _check_text(what: str, text: str) -> None:
    if len(text) > MAX_TEXT_LENGTH:
        raise InvalidInput(f"{what} may have {MAX_TEXT_LENGTH} characters, not {len(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{what} is not valid Unicode: {text[:40]!r}") from error


def _check_column(column: str) -> None:
    if not column:
        raise InvalidInput("a column's name in a predicate is empty")
    _check_text("a column's name in a predicate", column)


@dataclass(frozen=True, slots=True)
class Comparison:
    column: str
    op: Op
    value: Literal
    _type: type = field(init=False, repr=False)
    """Python says 1 == True == 1.0; two predicates are equal only if their literals also have the same type."""

    def __post_init__(self) -> None:
        _check_column(self.column)
        object.__setattr__(self, "value", _checked_literal(self.value))
        object.__setattr__(self, "_type", type(self.value))


def _check_list(leaf: "In | NotIn") -> None:
    _check_column(leaf.column)
    if not leaf.values:
        raise InvalidInput(f"the list of values for column {leaf.column!r} is empty; use AlwaysFalse or AlwaysTrue")
    if len(leaf.values) > MAX_SIZE:
        raise InvalidInput(f"a list in a predicate may have {MAX_SIZE} values, not {len(leaf.values)}")
    values = tuple(_checked_literal(value) for value in leaf.values)
    object.__setattr__(leaf, "values", values)
    object.__setattr__(leaf, "_types", tuple(type(value) for value in values))


@dataclass(frozen=True, slots=True)
class In:
    column: str
    values: tuple[Literal, ...]
    _types: tuple[type, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_list(self)


@dataclass(frozen=True, slots=True)
class NotIn:
    column: str
    values: tuple[Literal, ...]
    _types: tuple[type, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_list(self)


def _check_prefix(leaf: "StartsWith | NotStartsWith") -> None:
    _check_column(leaf.column)
    _checked_literal(leaf.prefix)


@dataclass(frozen=True, slots=True)
class StartsWith:
    """LIKE 'prefix%'."""

    column: str
    prefix: str

    def __post_init__(self) -> None:
        _check_prefix(self)


@dataclass(frozen=True, slots=True)
class NotStartsWith:
    column: str
    prefix: str

    def __post_init__(self) -> None:
        _check_prefix(self)


@dataclass(frozen=True, slots=True)
class IsNull:
    column: str

    def __post_init__(self) -> None:
        _check_column(self.column)


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column: str

    def __post_init__(self) -> None:
        _check_column(self.column)


@dataclass(frozen=True, slots=True)
class AlwaysTrue:
    pass


@dataclass(frozen=True, slots=True)
class AlwaysFalse:
    pass


@dataclass(frozen=True, slots=True)
class And:
    """All of two or more. A nested AND is flattened, so that equal meaning gives equal trees."""

    operands: "tuple[Predicate, ...]"
    nesting: int = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _assemble(self, And, deepens=(Or,))


@dataclass(frozen=True, slots=True)
class Or:
    """Any of two or more."""

    operands: "tuple[Predicate, ...]"
    nesting: int = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _assemble(self, Or, deepens=())


@dataclass(frozen=True, slots=True)
class Not:
    operand: "Predicate"
    nesting: int = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # A parser takes two steps for NOT and its parenthesis.
        object.__setattr__(self, "nesting", _nesting(self.operand) + 2)
        object.__setattr__(self, "size", _size(self.operand))
        _check_bounds(self)


Leaf = Comparison | In | NotIn | StartsWith | NotStartsWith | IsNull | IsNotNull
Predicate = Leaf | And | Or | Not | AlwaysTrue | AlwaysFalse


def _nesting(predicate: Predicate) -> int:
    match predicate:
        case And() | Or() | Not():
            return predicate.nesting
        case In() | NotIn():
            return 1
        case _:
            return 0


def _size(predicate: Predicate) -> int:
    match predicate:
        case And() | Or() | Not():
            return predicate.size
        case In() | NotIn():
            return len(predicate.values)
        case _:
            return 1


def _check_bounds(predicate: And | Or | Not) -> None:
    if predicate.nesting > MAX_NESTING:
        raise InvalidInput(f"the predicate nests deeper than {MAX_NESTING} levels; write it flatter")
    if predicate.size > MAX_SIZE:
        raise InvalidInput(f"the predicate holds more than {MAX_SIZE} conditions and values; split it")


def _assemble(node: And | Or, own: type, deepens: tuple[type, ...]) -> None:
    flat: list[Predicate] = []
    for operand in node.operands:
        if isinstance(operand, And | Or) and isinstance(operand, own):
            flat.extend(operand.operands)
        else:
            flat.append(operand)
    if len(flat) < 2:
        raise InvalidInput(f"{own.__name__} needs at least two operands, not {len(flat)}")
    object.__setattr__(node, "operands", tuple(flat))
    object.__setattr__(node, "nesting", max(_nesting(each) + isinstance(each, deepens) for each in flat))
    object.__setattr__(node, "size", sum(map(_size, flat)))
    _check_bounds(node)


def all_of(*predicates: Predicate) -> Predicate:
    """AND of any number of predicates; of none, true."""
    if not predicates:
        return AlwaysTrue()
    return predicates[0] if len(predicates) == 1 else And(predicates)


def any_of(*predicates: Predicate) -> Predicate:
    """OR of any number of predicates; of none, false."""
    if not predicates:
        return AlwaysFalse()
    return predicates[0] if len(predicates) == 1 else Or(predicates)


def between(column: str, low: Literal, high: Literal) -> Predicate:
    return And((Comparison(column, Op.GE, low), Comparison(column, Op.LE, high)))


def negation_normal_form(predicate: Predicate) -> Predicate:
    """The same predicate without `Not`. De Morgan's laws hold in three-valued logic, so nulls keep their meaning."""
    match predicate:
        case Not(operand):
            return _negate(operand)
        case And(operands):
            return And(tuple(map(negation_normal_form, operands)))
        case Or(operands):
            return Or(tuple(map(negation_normal_form, operands)))
        case _:
            return predicate


def _negate(predicate: Predicate) -> Predicate:
    match predicate:
        case Comparison(column, op, value):
            return Comparison(column, op.negated, value)
        case In(column, values):
            return NotIn(column, values)
        case NotIn(column, values):
            return In(column, values)
        case StartsWith(column, prefix):
            return NotStartsWith(column, prefix)
        case NotStartsWith(column, prefix):
            return StartsWith(column, prefix)
        case IsNull(column):
            return IsNotNull(column)
        case IsNotNull(column):
            return IsNull(column)
        case AlwaysTrue():
            return AlwaysFalse()
        case AlwaysFalse():
            return AlwaysTrue()
        case And(operands):
            return Or(tuple(map(_negate, operands)))
        case Or(operands):
            return And(tuple(map(_negate, operands)))
        case Not(operand):
            return negation_normal_form(operand)
        case _:
            assert_never(predicate)


def fold(
    predicate: Predicate,
    leaf: Callable[[Leaf], T],
    conjunction: Callable[[list[T]], T],
    disjunction: Callable[[list[T]], T],
    constant: Callable[[bool], T],
) -> T:
    """One value from all leaves, over the negation normal form, so that no caller has to handle NOT.

    Without NOT, "is true" of the whole is AND and OR of "is true" of the leaves, and the same goes for "may match".
    """

    def walk(node: Predicate) -> T:
        match node:
            case And(operands):
                return conjunction([walk(operand) for operand in operands])
            case Or(operands):
                return disjunction([walk(operand) for operand in operands])
            case AlwaysTrue():
                return constant(True)
            case AlwaysFalse():
                return constant(False)
            case Not():
                raise AssertionError("a NOT is left in a negation normal form")
            case _:
                return leaf(node)

    return walk(negation_normal_form(predicate))


def leaves(predicate: Predicate) -> tuple[Leaf, ...]:
    """Every condition on a column, in order, as written (a NOT above it is not applied)."""
    match predicate:
        case And(operands) | Or(operands):
            return tuple(leaf for operand in operands for leaf in leaves(operand))
        case Not(operand):
            return leaves(operand)
        case AlwaysTrue() | AlwaysFalse():
            return ()
        case _:
            return (predicate,)


def columns(predicate: Predicate) -> frozenset[str]:
    return frozenset(leaf.column for leaf in leaves(predicate))
