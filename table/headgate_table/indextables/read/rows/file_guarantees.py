"""PyArrow expressions that hold for all rows of a file, from the log's statistics, for pruning. Unclear bounds are left
out.

The rules are stricter than those of `column_statistics`: an engine compares a guarantee with any literal, in Arrow's
order.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.columns.column_kinds import ColumnKind, parse_date, parse_integer
from headgate_table.indextables.read.column_statistics import (
    MICROS,
    MICROS_BY_UNIT,
    MICROS_PER_DAY,
    UNCLEAR_ENDS,
    sorts_unclearly,
)

_EPOCH = date(1970, 1, 1)
_DAYS = (date.min - _EPOCH).days, (date.max - _EPOCH).days


def file_guarantees(
    schema: pa.Schema, kinds: Mapping[str, ColumnKind], lows: Mapping[str, str], highs: Mapping[str, str]
) -> Iterator[pc.Expression]:
    """True for every row of a file whose log entry has these bounds. Floating point columns have none: NaN is above all
    bounds.
    """
    for field in schema:
        low, high = lows.get(field.name), highs.get(field.name)
        if low is None or high is None:
            continue
        column = pc.field(field.name)
        if kinds[field.name] is ColumnKind.STRING:
            yield from _text_guarantees(column, low, high)
            continue
        least, most = _bounds(field.type, kinds[field.name], low, high)
        if least is not None:
            yield (column >= least) | column.is_null()
        if most is not None:
            yield (column <= most) | column.is_null()


_Pair = tuple[pa.Scalar | None, pa.Scalar | None]


def _bounds(type_: pa.DataType, kind: ColumnKind, low: str, high: str) -> _Pair:
    match kind:
        case ColumnKind.INTEGER:
            return _typed(type_, parse_integer(low), parse_integer(high))
        case ColumnKind.DATE:
            return _typed(type_, _day(low), _day(high))
        case ColumnKind.TIMESTAMP:
            return _typed(type_, *_moments(parse_integer(low), parse_integer(high)))
        case _:
            return None, None


def _typed(type_: pa.DataType, low: int | None, high: int | None) -> _Pair:
    if low is None or high is None or low > high:
        return None, None
    try:
        if pa.types.is_integer(type_):
            return pa.scalar(low, type_), pa.scalar(high, type_)
        stored = pa.int32() if pa.types.is_date32(type_) else pa.int64()
        return pa.scalar(low, stored).cast(type_), pa.scalar(high, stored).cast(type_)
    except (pa.ArrowException, OverflowError):
        return None, None


def _day(text: str) -> int | None:
    """Days of the years 1 to 9999, as a number or as a date: other numbers may have another unit."""
    number = parse_integer(text)
    if number is not None:
        return number if _DAYS[0] <= number <= _DAYS[1] else None
    day = parse_date(text) if len(text) == len("2024-01-01") else None
    return None if day is None else (day - _EPOCH) // timedelta(days=1)


def _moments(low: int | None, high: int | None) -> tuple[int | None, int | None]:
    """Microseconds between which all rows lie, whatever unit and zone the bounds have."""
    if low is None or high is None or low > high:
        return None, None
    scaled = [(low * unit, high * unit) for unit in MICROS_BY_UNIT]
    possible = [(first, last) for first, last in scaled if MICROS[0] <= first and last < MICROS[1]]
    if not possible:
        return None, None
    return (
        max(min(first for first, _ in possible) - MICROS_PER_DAY, MICROS[0]),
        min(max(last for _, last in possible) + MICROS_PER_DAY, MICROS[1]),
    )


def _text_guarantees(column: pc.Expression, low: str, high: str) -> Iterator[pc.Expression]:
    """Texts may be cut off, and ordered by UTF-16: a lower bound holds unchanged, an upper one with any text after it."""
    if low > high or sorts_unclearly(low):
        return
    yield (column >= low) | column.is_null()
    whole = high.rstrip(UNCLEAR_ENDS)
    if whole and not sorts_unclearly(whole) and not sorts_unclearly(chr(ord(whole[-1]) + 1)):
        yield (column < whole[:-1] + chr(ord(whole[-1]) + 1)) | column.is_null()
