"""The bounds of a Parquet file's columns, in the texts that readers of a table understand (docs/format.md, section 7).

`footer` reads the footer; `statistics` shortens the texts.
"""

import math
import re
import struct
from collections.abc import Collection, Iterator
from decimal import Decimal

import numpy as np

from headgate_table.parquet.footer import ChunkStatistics, Footer, Meaning, ParquetColumn, Physical
from headgate_table.parquet.statistics import INDEXED_COLUMNS, MAX_TEXT_LENGTH, text_bounds

_INT64 = range(-(2**63), 2**63)

_MAX_DECIMAL_BYTES = 16
"""38 digits, the most that a decimal column has."""

_MAX_SCALE = 38

STATISTICS_NOTE, WITHOUT_NAN = "headgate.statistics", "without-nan"
"""What our own writers note in a file's metadata: its columns with NaN have no statistics."""
_JAVA_WRITER = re.compile(r"parquet-mr version 1\.([0-9]{1,3})\.")
_JAVA_MINOR = 10

_FORMATS = {
    (Physical.BOOLEAN, False): "<?",
    (Physical.INT32, False): "<i",
    (Physical.INT64, False): "<q",
    (Physical.INT32, True): "<I",
    (Physical.INT64, True): "<Q",
    (Physical.FLOAT, False): "<f",
    (Physical.DOUBLE, False): "<d",
}
"""How a value is stored, by type and whether it is unsigned."""

Bounds = dict[str, str]
_Stored = bool | int | float | bytes


def column_bounds(
    footer: Footer,
    *,
    without: Collection[str] = (),
    indexed_columns: int = INDEXED_COLUMNS,
    max_length: int = MAX_TEXT_LENGTH,
) -> tuple[Bounds, Bounds]:
    """Lowest and highest value of each of the first columns, if every row group has both.

    Dates are days and timestamps microseconds since 1970. Nested columns, binary ones, and types without an order that
    all readers share have none. Most writers leave NaN, which is above all numbers, out of a footer, so a column of
    floating point numbers then has a lower bound only.
    """
    lower: Bounds = {}
    upper: Bounds = {}
    may_hide_nan = not _tells_of_nan(footer)
    for column in _first_columns(footer, without, indexed_columns):
        extremes = _extremes(footer, column)
        texts = None if extremes is None else _as_texts(column, *extremes, max_length)
        if texts is not None:
            lower[column.name] = texts[0]
            if not (may_hide_nan and column.physical in (Physical.FLOAT, Physical.DOUBLE)):
                upper[column.name] = texts[1]
    return lower, upper


def _tells_of_nan(footer: Footer) -> bool:
    """Whether a column with statistics certainly holds no NaN. Java's writer counts NaN as the highest, or drops the
    statistics.
    """
    java = _JAVA_WRITER.match(footer.created_by)
    return footer.notes.get(STATISTICS_NOTE) == WITHOUT_NAN or (java is not None and int(java[1]) >= _JAVA_MINOR)


def _first_columns(footer: Footer, without: Collection[str], limit: int) -> Iterator[ParquetColumn]:
    """The plain columns among the first `limit`; a negative limit means all."""
    counted = [column for column in footer.columns if column.name not in without]
    return (column for column in (counted if limit < 0 else counted[:limit]) if column.leaf >= 0)


def _extremes(footer: Footer, column: ParquetColumn) -> tuple[_Stored, _Stored] | None:
    """The lowest and highest value over all row groups; None unless every group with values has both."""
    lowest: _Stored | None = None
    highest: _Stored | None = None
    for statistics in footer.statistics(column):
        pair = _pair(column, statistics)
        if pair is None:
            if statistics.null_count == statistics.rows:
                continue
            return None
        low, high = pair
        lowest = low if lowest is None else min(lowest, low)
        highest = high if highest is None else max(highest, high)
    return None if lowest is None or highest is None else (lowest, highest)


def _pair(column: ParquetColumn, statistics: ChunkStatistics) -> tuple[_Stored, _Stored] | None:
    low, high = (statistics.lowest, statistics.highest) if column.is_ordered else (None, None)
    if low is None or high is None:
        if not _has_signed_order(column):
            return None
        low, high = statistics.older_lowest, statistics.older_highest
    if low is None or high is None:
        return None
    first, last = _value(column, low), _value(column, high)
    # NaN can't be a bound: nothing compares with it.
    return None if first is None or last is None or first != first or last != last else (first, last)


def _has_signed_order(column: ParquetColumn) -> bool:
    """Whether older statistics, which were always compared as signed, are right for the column."""
    return column.meaning is not Meaning.UNSIGNED and column.physical not in (
        Physical.BYTES,
        Physical.FIXED_BYTES,
        Physical.INT96,
    )


def _value(column: ParquetColumn, stored: bytes) -> _Stored | None:
    if column.physical in (Physical.BYTES, Physical.FIXED_BYTES):
        if column.meaning is not Meaning.DECIMAL:
            return stored
        return int.from_bytes(stored, "big", signed=True) if 0 < len(stored) <= _MAX_DECIMAL_BYTES else None
    layout = _FORMATS.get((column.physical, column.meaning is Meaning.UNSIGNED))
    if layout is None or len(stored) != struct.calcsize(layout):
        return None
    value: bool | int | float = struct.unpack(layout, stored)[0]
    return value


def _as_texts(column: ParquetColumn, low: _Stored, high: _Stored, max_length: int) -> tuple[str, str] | None:
    match column.meaning, low, high:
        case Meaning.PLAIN, bool(), bool():
            return ("true" if low else "false"), ("true" if high else "false")
        case ((Meaning.PLAIN | Meaning.UNSIGNED), int(), int()):
            # Beyond 64 bits readers fall back to doubles, which would make different numbers equal.
            return (str(low), str(high)) if low in _INT64 and high in _INT64 else None
        case ((Meaning.MILLIS | Meaning.MICROS | Meaning.NANOS), int(), int()):
            return _timestamps(column.meaning, low, high)
        case Meaning.PLAIN, float(), float():
            if column.physical is Physical.FLOAT:
                low, high = min(low, _as_written(low)), max(high, _as_written(high))
            return _floats(low, high)
        case Meaning.DECIMAL, int(), int() if 0 <= column.scale <= _MAX_SCALE:
            return _decimal_text(low, column.scale), _decimal_text(high, column.scale)
        case Meaning.TEXT, bytes(), bytes():
            return _texts(low, high, max_length)
        case _:
            return None


def _timestamps(unit: Meaning, low: int, high: int) -> tuple[str, str] | None:
    factor = 1000 if unit is Meaning.MILLIS else 1
    divisor = 1000 if unit is Meaning.NANOS else 1
    first, last = low * factor // divisor, -(-high * factor // divisor)
    return (str(first), str(last)) if first in _INT64 and last in _INT64 else None


def _as_written(value: float) -> float:
    """A 32-bit float with its short decimal digits. 0.1 in 32 bits is 0.10000000149…: readers compare with either."""
    return float(str(np.float32(value)))


def _floats(low: float, high: float) -> tuple[str, str]:
    # Zeros have a sign that footers may lose, and some readers order by it.
    return _float_text(-0.0 if low == 0 else low), _float_text(0.0 if high == 0 else high)


def _float_text(value: float) -> str:
    if math.isinf(value):
        # The only spelling that both Java and Rust understand.
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _decimal_text(unscaled: int, scale: int) -> str:
    digits = tuple(int(digit) for digit in str(abs(unscaled)))
    return format(Decimal((int(unscaled < 0), digits, -scale)), "f")


def _texts(low: bytes, high: bytes, max_length: int) -> tuple[str, str] | None:
    try:
        smallest, largest = low.decode("utf-8"), high.decode("utf-8")
    except UnicodeDecodeError:
        # A writer that shortens by bytes may cut a character.
        return None
    return text_bounds(smallest, largest, max_length)
