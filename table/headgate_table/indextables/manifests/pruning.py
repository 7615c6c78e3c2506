"""Whether a manifest may hold a matching entry, by its partition bounds alone. It never excludes a manifest with a
match.

Bounds come from writers with two orders, and a manifest doesn't say which (docs/format.md, section 7): 0.4.5 to 0.5.1
compared texts, later ones compare as integers if both are, else as doubles if both are, else as texts. The later order
isn't even transitive once a column mixes numbers with other texts ("9" < "10" < "1a" < "9"), so such bounds may exclude
values between them. Each kind of column below proves that its bounds can be trusted, or keeps the manifest.
"""

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import assert_never

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import (
    FLOATING,
    ColumnKind,
    is_nan,
    literal_value,
    parse_date,
    parse_float,
    parse_floating,
    parse_integer,
    sign,
)
from headgate_schemas.predicates.partition_text import check_prefix_kind, meaning, spellings, text_test
from headgate_schemas.predicates.tree import (
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    NotIn,
    NotStartsWith,
    Op,
    Predicate,
    StartsWith,
    fold,
)
from headgate_table.indextables.format.bounds import LOOKS_NUMERIC, Bounds

_NUMERIC = re.compile(LOOKS_NUMERIC)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2}([ T].*)?)?", re.DOTALL)
_YEAR = re.compile(r"(19|20)[0-9]{2}([0-9]{2}){0,2}")
_MICROS_PER_DAY = 86_400_000_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()

Number = int | float | Decimal


def may_contain(
    predicate: Predicate,
    bounds_by_column: Mapping[str, Bounds] | None,
    column_kinds: Mapping[str, ColumnKind],
    trusted_numeric: bool,
) -> bool:
    """Whether an entry of a manifest with these bounds may match.

    `trusted_numeric` says that the writer certainly orders numbers as numbers: the manifest's file id has 16 hex
    digits. Columns without bounds or of unknown kind never exclude anything. Raises `PredicateError` for a literal that
    doesn't fit its column's kind.
    """
    if bounds_by_column is None:
        return True

    def leaf_may_match(leaf: Leaf) -> bool:
        bounds, kind = bounds_by_column.get(leaf.column), column_kinds.get(leaf.column)
        if bounds is None or kind is None or bounds.min is None or bounds.max is None:
            return True
        return _leaf_may_match(leaf, bounds.min, bounds.max, kind, trusted_numeric)

    return fold(predicate, leaf_may_match, all, any, bool)


def _leaf_may_match(leaf: Leaf, low: str, high: str, kind: ColumnKind, trusted: bool) -> bool:
    if isinstance(leaf, IsNull | IsNotNull):
        return True  # nulls leave no trace in bounds
    match kind:
        case ColumnKind.STRING:
            return _string_may_match(leaf, low, high)
        case ColumnKind.DATE:
            return _date_may_match(leaf, low, high)
        case ColumnKind.INTEGER:
            return _integer_may_match(leaf, low, high, trusted)
        case ColumnKind.FLOAT | ColumnKind.DOUBLE | ColumnKind.DECIMAL:
            return _float_may_match(leaf, low, high, kind, trusted)
        case ColumnKind.TIMESTAMP:
            return _timestamp_may_match(leaf, low, high)
        case ColumnKind.BOOLEAN:
            # Two values only, and "TRUE" sorts below "false": bounds help only if there is just one text.
            return low != high or text_test(leaf, kind)(low)
        case ColumnKind.OTHER:
            return True
        case _:
            assert_never(kind)


def _within(op: Op, low: Number | str, high: Number | str, value: Number | str) -> bool:
    """Whether a value from `low` to `high` may satisfy `op value`; both bounds occur or are infinite."""
    below, above = sign(low, value), sign(high, value)
    match op:
        case Op.EQ:
            return below <= 0 <= above
        case Op.NE:
            return below != 0 or above != 0
        case Op.LT | Op.LE:
            return op.holds(below)
        case Op.GT | Op.GE:
            return op.holds(above)
        case _:
            assert_never(op)


# Integers. Typed values and the marker, which is above all numbers as text, are in proper order under both rules.


def _integer_may_match(leaf: Leaf, low: str, high: str, trusted: bool) -> bool:
    match leaf:
        case In(column, values):
            return any(_integer_may_match(Comparison(column, Op.EQ, each), low, high, trusted) for each in values)
        case Comparison(column, op, literal):
            value = literal_value(column, ColumnKind.INTEGER, literal)
        case _:
            return True
    assert isinstance(value, int | Decimal)
    least = -math.inf if low == "" else parse_integer(low)
    greatest = math.inf if high == NULL_PARTITION else parse_integer(high)
    if least is None or greatest is None:
        return True
    if least > greatest and (trusted or low > high):
        return True  # upside down in the writer's own order: damaged
    if _within(op, least, greatest, value):
        return True
    if trusted or low == high:
        return False
    # Bounds in text order: "1".."9" may hold 12 but not 0, and don't bound the values above 9.
    return op is not Op.EQ or _text_order_may_hold(value, low, high)


def _text_order_may_hold(value: int | Decimal, low: str, high: str) -> bool:
    """Whether some spelling of an integer lies between two texts: plain, with a plus, or with leading zeros."""
    if value != int(value):
        return False
    plain = str(int(value))
    if low <= plain <= high:
        return True
    if value < 0:
        prefixes: tuple[str, ...] = ("-0",)
    else:
        prefixes = ("+", "0", "-0") if value == 0 else ("+", "0")
    return any(_prefix_within(prefix, low, high) for prefix in prefixes)


def _prefix_within(prefix: str, low: str, high: str) -> bool:
    """Whether a text between two texts may start with a prefix."""
    return prefix <= high and (prefix >= low or low.startswith(prefix))


# Fractions. Writers compare them as doubles, so only values that differ as doubles certainly differ.


def _float_may_match(leaf: Leaf, low: str, high: str, kind: ColumnKind, trusted: bool) -> bool:
    match leaf:
        case In(column, values):
            return any(_float_may_match(Comparison(column, Op.EQ, each), low, high, kind, trusted) for each in values)
        case Comparison(column, op, literal):
            value = literal_value(column, kind, literal)
        case _:
            return True
    if is_nan(value):
        return True  # some writers leave NaN out of the bounds
    parse = parse_float if kind is ColumnKind.FLOAT else parse_floating  # rounding keeps the order
    least = (False, -math.inf) if low == "" else parse(low)
    greatest = (False, math.inf) if high == NULL_PARTITION else parse(high)
    if least is None or greatest is None or least[0] or greatest[0] or least > greatest or not (trusted or low == high):
        return True
    number = value[1] if isinstance(value, tuple) else float(value)
    match op:
        case Op.EQ:
            return least[1] <= number <= greatest[1]
        case Op.LT | Op.LE:
            return least[1] <= number
        case Op.GT | Op.GE:
            # NaN is above everything, and some writers leave it out of the bounds.
            return kind in FLOATING or greatest[1] >= number
        case Op.NE:
            return True
        case _:
            assert_never(op)


# Dates are ISO texts, which no writer takes for numbers.


def _date_may_match(leaf: Leaf, low: str, high: str) -> bool:
    if parse_date(low) is None or (parse_date(high) is None and high != NULL_PARTITION) or low > high:
        return True
    match leaf:
        case Comparison(column, op, literal):
            value = literal_value(column, ColumnKind.DATE, literal)
            return _within(op, low, high, value) if isinstance(value, str) else True
        case In(column, values):
            return any(_date_may_match(Comparison(column, Op.EQ, each), low, high) for each in values)
        case NotIn(column, values):
            return all(_date_may_match(Comparison(column, Op.NE, each), low, high) for each in values)
        case StartsWith(_, prefix):
            return _prefix_within(prefix, low, high)
        case NotStartsWith(_, prefix):
            return not (low.startswith(prefix) and high.startswith(prefix))
        case IsNull() | IsNotNull():
            return True
        case _:
            assert_never(leaf)


def _timestamp_may_match(leaf: Leaf, low: str, high: str) -> bool:
    """Times have several spellings, which agree in text order down to the day; zones move a time by less than a day."""
    match leaf:
        case In(column, values):
            return any(_timestamp_may_match(Comparison(column, Op.EQ, each), low, high) for each in values)
        case Comparison(column, op, literal) if op is not Op.NE:
            value = literal_value(column, ColumnKind.TIMESTAMP, literal)
        case _:
            return True
    first, last = parse_date(low[:10]), parse_date(high[:10])
    if first is None or (last is None and high != NULL_PARTITION) or low > high or not isinstance(value, int):
        return True
    day = value // _MICROS_PER_DAY + _EPOCH_DAY
    may_reach_down = first.toordinal() - 1 <= day
    may_reach_up = last is None or last.toordinal() + 1 >= day
    match op:
        case Op.EQ:
            return may_reach_down and may_reach_up
        case Op.LT | Op.LE:
            return may_reach_down
        case Op.GT | Op.GE:
            return may_reach_up
        case _:
            assert_never(op)


# Strings


def _string_may_match(leaf: Leaf, low: str, high: str) -> bool:
    match leaf:
        case Comparison(column, op, literal):
            value = literal_value(column, ColumnKind.STRING, literal)
            return not isinstance(value, str) or _string_comparison_may_match(op, value, low, high)
        case In(column, values):
            return any(_string_may_match(Comparison(column, Op.EQ, each), low, high) for each in values)
        case NotIn(column, values):
            return all(_string_may_match(Comparison(column, Op.NE, each), low, high) for each in values)
        case StartsWith(column, prefix):
            check_prefix_kind(column, ColumnKind.STRING)
            return not _in_text_order(prefix, low, high) or any(_prefix_within(p, low, high) for p in spellings(prefix))
        case NotStartsWith(_, prefix):
            if not _in_text_order(prefix, low, high):
                return True
            # A text that begins like this without any escape has the same beginning when unescaped.
            return "%" in prefix or not (low.startswith(prefix) and high.startswith(prefix))
        case IsNull() | IsNotNull():
            return True
        case _:
            assert_never(leaf)


def _string_comparison_may_match(op: Op, value: str, low: str, high: str) -> bool:
    if op is Op.EQ and _are_years(value, low, high):
        return low <= value <= high
    if not _in_text_order(value, low, high):
        return True
    match op:
        case Op.EQ:
            return any(low <= spelling <= high for spelling in spellings(value))
        case Op.NE:
            return not (low == high and meaning(low) == value)
        case Op.LT | Op.LE | Op.GT | Op.GE:
            return _within(op, low, high, value) or _escapes_hide(value, low, high)
        case _:
            assert_never(op)


def _escapes_hide(value: str, low: str, high: str) -> bool:
    """Whether an escaped text between the bounds may stand for a text on their other side of `value`.

    Such a text equals `value` up to its first escape; there it has "%", and its meaning has another character.
    """
    return any(_prefix_within(value[:length] + "%", low, high) for length in range(len(value)))


def _in_text_order(value: str, low: str, high: str) -> bool:
    """Whether bounds of strings bound all the column's texts in text order, whoever wrote them.

    They do if the least is above every number, because any number would be below it. Calendar dates are also trusted:
    then the column holds dates, and not house numbers or hash prefixes, where numbers mix with other texts. UTF-16 and
    UTF-8 order must agree on the searched value.
    """
    if any(character >= "\ud800" for character in value) or low > high:
        return False
    if any(_NUMERIC.match(text) for text in (low, high)):
        return False
    if low[:1] > "9":
        return True
    is_calendar = _DATE.fullmatch(low) and (high[:1] > "9" or _DATE.fullmatch(high))
    return bool(is_calendar) and not _NUMERIC.match(value)


def _are_years(value: str, low: str, high: str) -> bool:
    """Whether all three are years, months or days as plain digits of one length, which both orders sort alike.

    Only for equality: in a column of strings "2024.0" is another text than "2024", but has the same bounds.
    """
    texts = (value, low) if high == NULL_PARTITION else (value, low, high)
    return low <= high and all(_YEAR.fullmatch(text) and len(text) == len(low) for text in texts)
