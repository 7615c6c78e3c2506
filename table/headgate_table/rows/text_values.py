"""Texts as values of a type, exactly or not at all: which type holds all texts of a column, and the values themselves. Pure.

A type holds a text that its value says again. A whole number is the same number, a fraction is printed again with as many digits,
and a code such as `007` is no number.
"""

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

MOST_DIGITS = 38
"""Of a decimal."""

_SPACES = " \t"
_WHOLE = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_SPECIAL = r"^[+-]?(?i:nan|inf|infinity)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_CLOCK = r"[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
_LOCAL = _DATE[:-1] + _CLOCK + "$"
_LOCAL_OR_DATE = _DATE[:-1] + f"({_CLOCK})?$"
_INSTANT = _DATE[:-1] + _CLOCK + r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
_BOOLEAN = r"^(?i:true|false)$"

_PLAIN_WHOLE = r"^(0|-?[1-9][0-9]*)$"
"""Not `007`, nor `+49`: both are codes."""
_PLAIN_NUMBER = r"^-?(0|[1-9][0-9]*)$|^[+-]?((0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?(0|[1-9][0-9]*)[eE][+-]?[0-9]+$"
_IN_DECIMALS = r"^[+-]?[0-9]*\.?[0-9]*$"

_MICROS = pa.timestamp("us")
_INSTANTS = pa.timestamp("us", "UTC")
_FIRST_MICROS, _LAST_MICROS = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The years 1 to 9999."""
_ZEROS = r"(\.[0-9]{6})0+"
"""Behind the microsecond."""

_SHORT = {
    pa.float32(): r"^[+-]?0*[0-9]{0,6}([eE][+-]?[0-9])?$",
    pa.float64(): r"^[+-]?0*[0-9]{0,15}([eE][+-]?[0-9]{1,2})?$",
}
"""Numbers without their point that are printed again for certain: a double keeps 15 digits, and a float 6."""
_SHORT_TEXT = 20
_EXACT_WHOLE = 1 << 53


class TextMisfit(Exception):
    """A text that the type of its column doesn't hold."""

    def __init__(self, row: int, text: str, type_: pa.DataType) -> None:
        super().__init__(f"{text[:100]!r} is no {type_}{_hint(type_)}")
        self.row = row
        self.text = text


def _hint(type_: pa.DataType) -> str:
    if types.is_floating(type_):
        return ", or has more digits than that keeps"
    if types.is_timestamp(type_):
        return f", which has {'no zone' if type_.tz is None else 'a zone, such as Z,'} and at most microseconds"
    return ""


def type_of(texts: pa.ChunkedArray) -> pa.DataType:
    """The narrowest type that holds all texts, string at the last; null of nothing but nulls."""
    texts = texts.drop_null()
    if not len(texts):
        return pa.null()
    plain = _trimmed(texts)
    if _all_match(plain, _PLAIN_WHOLE) or _all_match(plain, f"{_PLAIN_NUMBER}|{_SPECIAL}"):
        return _type_of_numbers(plain)
    if _all_match(plain, _BOOLEAN):
        return pa.bool_()
    return time_type_of(plain)


def time_type_of(texts: pa.ChunkedArray) -> pa.DataType:
    """A date's type, a time's, or string."""
    texts = _trimmed(texts.drop_null())
    for pattern, type_ in ((_DATE, pa.date32()), (_LOCAL, _MICROS), (_INSTANT, _INSTANTS)):
        if len(texts) and _all_match(texts, pattern):
            return type_ if _is_held(texts, type_) else pa.string()
    return pa.string()


def is_readable(type_: pa.DataType) -> bool:
    """Whether texts can be read as this type."""
    return (
        types.is_string(type_)
        or types.is_binary(type_)
        or types.is_boolean(type_)
        or types.is_signed_integer(type_)
        or type_ in _SHORT
        or types.is_decimal128(type_)
        or type_ in (pa.date32(), _MICROS, _INSTANTS)
    )


def values_of(texts: Any, type_: pa.DataType) -> Any:
    """The array or chunked array of values. Nulls stay nulls. Raises `TextMisfit` for the first text that the type doesn't hold."""
    if texts.type == type_:
        return texts
    try:
        return _read(texts, type_)
    except (pa.ArrowException, _Unheld):
        row = _first_failing(texts, type_)
        raise TextMisfit(row, texts[row].as_py(), type_) from None


def number_is_held(text: str, value: float) -> bool:
    """Whether a finite number is printed again with the digits of its text."""
    try:
        wanted = Decimal(text)
        return Context(prec=len(wanted.as_tuple().digits)).create_decimal(Decimal(value)) == wanted
    except ArithmeticError:  # an exponent beyond all numbers, or infinity
        return False


def is_printed(text: str) -> bool:
    """Whether a double is printed as this text by itself, which is quickly found out: then it is held."""
    try:
        value = float(text)
    except ValueError:
        return False
    return repr(value) == text and abs(value) < _EXACT_WHOLE


class _Unheld(Exception):
    """Some text isn't held; which one is found by halving."""


def _is_held(texts: Any, type_: pa.DataType) -> bool:
    try:
        _read(texts, type_)
    except (pa.ArrowException, _Unheld):
        return False
    return True


def _type_of_numbers(texts: pa.ChunkedArray) -> pa.DataType:
    wanted = pa.int64() if _all_match(texts, _PLAIN_WHOLE) else pa.float64()
    if _is_held(texts, wanted):
        return wanted
    if not _all_match(texts, _IN_DECIMALS):
        return pa.string()
    scale = _longest(texts, r"^[^.]*\.?")
    return pa.string() if _longest(texts, r"^[+-]|\..*$") + scale > MOST_DIGITS else pa.decimal128(MOST_DIGITS, scale)


def _longest(texts: pa.ChunkedArray, but: str) -> int:
    """Of the texts without what this pattern matches."""
    longest: int = pc.max(pc.utf8_length(pc.replace_substring_regex(texts, but, ""))).as_py()
    return longest


def _read(texts: Any, type_: pa.DataType) -> Any:
    """Raises `_Unheld` or what Arrow raises."""
    if types.is_string(type_) or types.is_binary(type_):
        return texts.cast(type_)
    texts = _trimmed(texts)
    if types.is_boolean(type_):
        return texts.cast(type_)
    if types.is_integer(type_):
        _must_match(texts, _WHOLE)
        return pc.replace_substring_regex(texts, r"^\+", "").cast(type_)
    if types.is_decimal(type_):
        _must_match(texts, _NUMBER)
        return texts.cast(type_)
    if types.is_floating(type_):
        _must_match(texts, f"{_NUMBER}|{_SPECIAL}")
        return _floats(texts, type_)
    if types.is_date(type_):
        _must_match(texts, _DATE)
    else:
        _must_match(texts, _LOCAL_OR_DATE if type_.tz is None else _INSTANT)
        texts = pc.replace_substring_regex(texts, _ZEROS, r"\1")
    if pc.any(pc.starts_with(texts, "0000")).as_py():
        raise _Unheld  # no year of the calendar
    values = texts.cast(type_)
    if type_ == _INSTANTS and len(values) > values.null_count:
        ends = pc.min_max(values.cast(pa.int64())).as_py()
        if ends["min"] < _FIRST_MICROS or ends["max"] > _LAST_MICROS:
            raise _Unheld  # in UTC it is another year, which no calendar has
    return values


def _floats(texts: Any, type_: pa.DataType) -> Any:
    values = texts.cast(type_)
    digits = pc.replace_substring(texts, ".", "")
    is_short = pc.and_(pc.match_substring_regex(digits, _SHORT[type_]), pc.less(pc.utf8_length(texts), _SHORT_TEXT))
    held = pc.or_(is_short, pc.match_substring_regex(texts, _SPECIAL))
    if pc.all(held).as_py() is not False:
        return values
    if type_ == pa.float64():
        # What Arrow prints is the shortest text of a double; of larger ones it fills up with zeros.
        is_printed = pc.and_(pc.less(pc.abs(values), _EXACT_WHOLE), pc.equal(values.cast(pa.string()), texts))
        held = pc.or_(held, is_printed)
    left = pc.invert(held)
    rest = zip(texts.filter(left).to_pylist(), values.filter(left).to_pylist(), strict=True)
    if not all(number_is_held(text, value) for text, value in rest):
        raise _Unheld
    return values


def _trimmed(texts: Any) -> Any:
    return pc.utf8_trim(texts, _SPACES)


def _all_match(texts: Any, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _must_match(texts: Any, pattern: str) -> None:
    if not _all_match(texts, pattern):
        raise _Unheld


def _first_failing(texts: Any, type_: pa.DataType) -> int:
    return _first(len(texts), lambda start, count: not _is_held(texts.slice(start, count), type_))


def _first(count: int, has_any: Callable[[int, int], bool]) -> int:
    """The first place of which a range has any."""
    start = 0
    while count > 1:
        half = count // 2
        if has_any(start, half):
            count = half
        else:
            start, count = start + half, count - half
    return start
