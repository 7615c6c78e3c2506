"""Whether a file may hold a matching row, by the least and greatest value of a data column in its entry.

It never excludes a file with a match: unclear values (unknown texts, units, cut-off strings) mean "may match".
`entry_filter` applies a whole predicate to a table's entries.
"""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import assert_never

from headgate_schemas.columns.column_kinds import (
    FLOATING,
    ColumnKind,
    Value,
    epoch_micros,
    is_nan,
    literal_value,
    parse_boolean,
    parse_date,
    parse_floating,
    parse_integer,
    parse_timestamp,
    sign,
    single,
)
from headgate_schemas.predicates.partition_text import check_prefix_kind
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
    StartsWith,
)

StatisticsTest = Callable[[str, str], bool]
Interval = tuple[Value | float, Value | float]

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_DAYS = (date.min.toordinal() - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY)
_DAYS_OF_FILES = range(-(2**31), 2**31)
"""What a Parquet file can hold as a date."""
MICROS_PER_DAY = 86_400_000_000
MICROS = (_DAYS[0] * MICROS_PER_DAY, (_DAYS[1] + 1) * MICROS_PER_DAY)
MICROS_BY_UNIT = (1, 1_000, 1_000_000)
UNCLEAR_ENDS = "?\ufffd"
"""What a writer that cuts a string inside of a surrogate pair leaves of the pair."""


def statistics_test(leaf: Leaf, kind: ColumnKind) -> StatisticsTest:
    """Whether a file with these (least, greatest) texts may hold a row for which the condition is true.

    Raises `PredicateError` for a literal that doesn't fit the column's kind.
    """
    match leaf:
        case IsNull() | IsNotNull():
            return lambda low, high: True
        case Comparison(column, op, literal):
            return _comparison_test(column, kind, op, literal)
        case In(column, values):
            tests = [_comparison_test(column, kind, Op.EQ, each) for each in values]
            return lambda low, high: any(test(low, high) for test in tests)
        case NotIn(column, values):
            tests = [_comparison_test(column, kind, Op.NE, each) for each in values]
            return lambda low, high: all(test(low, high) for test in tests)
        case StartsWith(column, prefix):
            check_prefix_kind(column, kind)
            unclear = kind is not ColumnKind.STRING or sorts_unclearly(prefix)
            return lambda low, high: unclear or _prefix_may_occur(prefix, low, high)
        case NotStartsWith(column, prefix):
            check_prefix_kind(column, kind)
            unclear = kind is not ColumnKind.STRING or sorts_unclearly(prefix)
            return lambda low, high: unclear or not (low.startswith(prefix) and high.startswith(prefix))
        case _:
            assert_never(leaf)


def _comparison_test(column: str, kind: ColumnKind, op: Op, literal: Literal) -> StatisticsTest:
    value = literal_value(column, kind, literal)
    if kind is ColumnKind.STRING:
        assert isinstance(value, str)
        return _string_test(op, value)
    if is_nan(value):
        # Bounds are those of the numbers. NaN equals itself and is above them, and no bound shows whether it occurs.
        return lambda low, high: op is not Op.GT
    target, slack = _target(kind, value), MICROS_PER_DAY if kind is ColumnKind.TIMESTAMP else 0

    def test(low: str, high: str) -> bool:
        intervals = _intervals(kind, low, high)
        return not intervals or any(_may_hold(kind, op, interval, target, slack) for interval in intervals)

    return test


def _target(kind: ColumnKind, value: Value) -> Value | float:
    """The literal in the units of `_intervals`."""
    match value:
        case str():
            return date.fromisoformat(value).toordinal()
        case (_, number):
            return number
        case Decimal() if kind is ColumnKind.DECIMAL:
            return float(value)
        case _:
            return value


def _may_hold(kind: ColumnKind, op: Op, interval: Interval, target: Value | float, slack: int) -> bool:
    low, high = interval
    if slack:
        # A time without a zone: the writer of the statistics may have used another one.
        assert isinstance(low, int)
        assert isinstance(high, int)
        low, high = low - slack, high + slack
    below, above = sign(low, target), sign(high, target)
    is_exact = kind in (ColumnKind.INTEGER, ColumnKind.BOOLEAN, ColumnKind.DATE)
    match op:
        case Op.EQ:
            return below <= 0 <= above
        case Op.NE:
            return not is_exact or below != 0 or above != 0
        case Op.LT | Op.LE:
            return op.holds(below) if is_exact else below <= 0
        case Op.GT | Op.GE:
            # NaN is above everything, and statistics leave it out.
            return kind in FLOATING or (op.holds(above) if is_exact else above >= 0)
        case _:
            assert_never(op)


def _intervals(kind: ColumnKind, low: str, high: str) -> list[Interval]:
    """The possible meanings of the two texts, in the order of the column's values; empty if they are unclear.

    Decimals compare as doubles, whose rounding keeps their order. Integers count as days if these are in the years from
    1 to 9999, else as days, seconds, milliseconds or microseconds, whichever are possible (docs/format.md, section 7).
    """
    found: list[Interval]
    match kind:
        case ColumnKind.INTEGER:
            found = _interval(parse_integer(low), parse_integer(high))
        case ColumnKind.BOOLEAN:
            found = _interval(parse_boolean(low), parse_boolean(high))
        case ColumnKind.FLOAT | ColumnKind.DOUBLE | ColumnKind.DECIMAL:
            bounds = float_bounds(kind, low, high)
            found = [] if bounds is None else [bounds]
        case ColumnKind.DATE:
            found = _date_intervals(low, high)
        case ColumnKind.TIMESTAMP:
            found = _timestamp_intervals(low, high)
        case ColumnKind.STRING | ColumnKind.OTHER:
            found = []
        case _:
            assert_never(kind)
    return [] if any(sign(*interval) > 0 for interval in found) else found


def float_bounds(kind: ColumnKind, low: str, high: str) -> tuple[float, float] | None:
    """What two texts of a column of floating point numbers or decimals bound, as doubles; None where that is unclear.

    Some writers write a 32-bit number with few digits (0.1), others with all (0.10000000149011612). A 64-bit column may have
    files with 32-bit numbers, so that either may be meant there.
    """
    first, last = parse_floating(low), parse_floating(high)
    if first is None or last is None or first[0] or last[0]:
        return None
    least, most = first[1], last[1]
    match kind:
        case ColumnKind.FLOAT:
            return single(least), single(most)
        case ColumnKind.DOUBLE:
            return min(least, single(least)), max(most, single(most))
        case _:
            return least, most


def day_bounds(low: str, high: str) -> tuple[int, int] | None:
    """The bounds of a date column's two texts, as ordinals of days, over all their meanings; None if unclear."""
    return _span(_intervals(ColumnKind.DATE, low, high))


def time_bounds(low: str, high: str) -> tuple[int, int] | None:
    """The same bounds for a timestamp column, in microseconds since 1970."""
    return _span(_intervals(ColumnKind.TIMESTAMP, low, high))


def _span(intervals: list[Interval]) -> tuple[int, int] | None:
    lows = [low for low, _ in intervals if isinstance(low, int)]
    highs = [high for _, high in intervals if isinstance(high, int)]
    return (min(lows), max(highs)) if lows and highs else None


def _interval(low: Value | None, high: Value | None) -> list[Interval]:
    return [] if low is None or high is None else [(low, high)]


def _date_intervals(low: str, high: str) -> list[Interval]:
    first, last = parse_integer(low), parse_integer(high)
    if first is not None and last is not None:
        days = (first + _EPOCH_DAY, last + _EPOCH_DAY)
        if _DAYS[0] <= first and last <= _DAYS[1]:
            return [days]
        # Files may hold days before the year 1 and after 9999, and nothing distinguishes these from times.
        unusual: list[Interval] = [days] if first in _DAYS_OF_FILES and last in _DAYS_OF_FILES else []
        larger: list[Interval] = [
            (from_micros // MICROS_PER_DAY + _EPOCH_DAY, to_micros // MICROS_PER_DAY + _EPOCH_DAY)
            for from_micros, to_micros in _micros_intervals(first, last)
        ]
        return unusual + larger
    from_day, to_day = _day(low), _day(high)
    return [] if from_day is None or to_day is None else [(from_day, to_day)]


def _day(text: str) -> int | None:
    if text[10:11] not in ("", " ", "T"):
        return None
    day = parse_date(text[:10])
    return None if day is None else day.toordinal()


def _timestamp_intervals(low: str, high: str) -> list[Interval]:
    first, last = parse_integer(low), parse_integer(high)
    if first is not None and last is not None:
        return list(_micros_intervals(first, last))
    from_time, to_time = parse_timestamp(low), parse_timestamp(high)
    if from_time is None or to_time is None:
        return []
    return [(epoch_micros(from_time), epoch_micros(to_time))]


def _micros_intervals(first: int, last: int) -> list[tuple[int, int]]:
    scaled = [(first * unit, last * unit) for unit in MICROS_BY_UNIT]
    return [(low, high) for low, high in scaled if MICROS[0] <= low and high < MICROS[1]]


def sorts_unclearly(text: str) -> bool:
    """Whether the order of UTF-16, which some writers use, may differ from that of UTF-8."""
    return any(character >= "\ud800" for character in text)


def _string_test(op: Op, value: str) -> StatisticsTest:
    def test(low: str, high: str) -> bool:
        if low > high:
            return True
        match op:
            case Op.EQ:
                return low <= value and _may_reach(value, high)
            case Op.LT:
                return low < value
            case Op.LE:
                return low <= value
            case Op.GT | Op.GE:
                return _may_reach(value, high)
            case Op.NE:
                return True  # equal bounds may be two cut-off texts
            case _:
                assert_never(op)

    return (lambda low, high: True) if sorts_unclearly(value) else test


def _may_reach(value: str, high: str) -> bool:
    """Whether the true maximum may be `value` or above: `high` may be only its first characters."""
    whole = high.rstrip(UNCLEAR_ENDS)
    return value <= high or value.startswith(whole)


def _prefix_may_occur(prefix: str, low: str, high: str) -> bool:
    return low > high or (_may_reach(prefix, high) and (low <= prefix or low.startswith(prefix)))
