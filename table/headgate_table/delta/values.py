"""How Delta spells what a file entry says: its path, its partition values, its statistics. Pure.

Statistics are never narrower than the rows: what an entry states unclearly is widened or left out.
"""

import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, assert_never
from urllib.parse import quote

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.column_kinds import ColumnKind, parse_date, parse_integer
from headgate_schemas.predicates.partition_text import stored_value
from headgate_table.delta.schema import DeltaColumns, Unmirrorable
from headgate_table.indextables.read.column_statistics import (
    UNCLEAR_ENDS,
    day_bounds,
    float_bounds,
    sorts_unclearly,
    time_bounds,
)
from headgate_table.indextables.rules.named_files import file_key
from headgate_table.parquet.statistics import raised

_SAFE = "/=-._~"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROS_PER_DAY = 86_400_000_000
_EXACT_DIGITS = 15
"""Digits of a decimal that a reader keeps that takes JSON's numbers for doubles."""


def delta_path(path: str, table_uri: str) -> str:
    """The path of a file as Delta's logs have it: relative to the table, or a whole address, with percent signs."""
    key = file_key(path, table_uri)
    if key is not None:
        return quote(key, safe=_SAFE)
    scheme, found, rest = path.partition("://")
    if found:
        return f"{scheme}://{quote(rest, safe=_SAFE)}"
    if path.startswith("/"):
        return f"file://{quote(path, safe=_SAFE)}"
    raise Unmirrorable(f"the file {path[:200]!r} lies outside of the table, and its path is no address")


def partition_texts(values: Mapping[str, str], columns: DeltaColumns, path: str) -> dict[str, str | None]:
    """The value of each partition column, null as null. Raises `Unmirrorable` for a value that its type can't hold."""
    return {name: _partition_text(values.get(name), columns, name, path) for name in columns.partition_columns}


def _partition_text(stored: str | None, columns: DeltaColumns, column: str, path: str) -> str | None:
    kind = columns.kinds[column]
    value = stored_value(stored, kind)
    if value is None:
        if stored is None or stored_value(stored, ColumnKind.STRING) is None:
            return None
        raise Unmirrorable(
            f"{path} has the value {stored[:200]!r} in the partition column {column!r}, which is {kind.value}"
        )
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if kind is ColumnKind.INTEGER else _time(value, is_local=column in columns.local_times)
        case Decimal():
            return format(value, "f")
        case (is_nan, number):
            return "NaN" if is_nan else _special(number) or repr(number)
        case str():
            if kind is ColumnKind.DATE and parse_date(value) is None:
                raise Unmirrorable(
                    f"{path} has the value {value[:200]!r} in the partition column {column!r}, which is a date"
                )
            return value
        case _:
            assert_never(value)


def _time(micros: int, *, is_local: bool) -> str:
    """An instant in UTC by ISO 8601. Readers take a local time with a space and without a zone alone."""
    return _local(micros, "auto", " ") if is_local else _local(micros, "microseconds") + "Z"


def _special(number: float) -> str | None:
    return None if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"


def statistics_text(add: AddFile, columns: DeltaColumns) -> str | None:
    """The JSON text of a file's statistics; None where its number of rows isn't known, without which readers take none."""
    if add.num_records is None or add.num_records < 0:
        return None
    low_texts, high_texts = add.min_values or {}, add.max_values or {}
    lows: dict[str, Any] = {}
    highs: dict[str, Any] = {}
    for column, kind in columns.kinds.items():
        if column in columns.partition_columns or column not in low_texts or column not in high_texts:
            continue
        bounds = _bounds(kind, low_texts[column], high_texts[column], "" if column in columns.local_times else "Z")
        if bounds is not None:
            lows[column], highs[column] = bounds
    body = {"numRecords": add.num_records, "minValues": lows, "maxValues": highs}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _bounds(kind: ColumnKind, low: str, high: str, zone: str) -> tuple[Any, Any] | None:
    match kind:
        case ColumnKind.INTEGER:
            return _ordered(parse_integer(low), parse_integer(high))
        case ColumnKind.FLOAT | ColumnKind.DOUBLE:
            numbers = float_bounds(kind, low, high)
            return None if numbers is None or not all(map(math.isfinite, numbers)) else _ordered(*numbers)
        case ColumnKind.DECIMAL:
            return _ordered(_short_decimal(low), _short_decimal(high))
        case ColumnKind.DATE:
            days = day_bounds(low, high)
            return None if days is None or not _are_of_calendar(*days) else (_day(days[0]), _day(days[1]))
        case ColumnKind.TIMESTAMP:
            micros = time_bounds(low, high)
            return None if micros is None else _times(*micros, zone)
        case ColumnKind.STRING:
            return _texts(low, high)
        case ColumnKind.BOOLEAN | ColumnKind.OTHER:
            return None
        case _:
            assert_never(kind)


def _ordered(low: int | float | None, high: int | float | None) -> tuple[int | float, int | float] | None:
    return None if low is None or high is None or low > high else (low, high)


def _short_decimal(text: str) -> float | None:
    """The number where a double holds each of its digits."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    if not value.is_finite() or len(value.as_tuple().digits) > _EXACT_DIGITS:
        return None
    number = float(value)
    return number if Decimal(repr(number)) == value else None


def _are_of_calendar(low: int, high: int) -> bool:
    return date.min.toordinal() <= low <= high <= date.max.toordinal()


def _day(ordinal: int) -> str:
    return date.fromordinal(ordinal).isoformat()


def _times(low: int, high: int, zone: str) -> tuple[str, str] | None:
    """A day wider at both ends, because their writer may have used another zone. To the millisecond, as in Delta."""
    try:
        first = _local(low - _MICROS_PER_DAY, "milliseconds")
        last = _local(high + _MICROS_PER_DAY + 999, "milliseconds")
    except OverflowError:
        return None
    return first + zone, last + zone


def _local(micros: int, digits: str, separator: str = "T") -> str:
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.replace(tzinfo=None).isoformat(separator, digits)


def _texts(low: str, high: str) -> tuple[str, str] | None:
    """Both may be the first characters only. The upper one becomes a text above all that begin with it."""
    if low > high or sorts_unclearly(low) or sorts_unclearly(high):
        return None
    above = raised(high.rstrip(UNCLEAR_ENDS))
    return None if above is None else (low.rstrip(UNCLEAR_ENDS), above)
