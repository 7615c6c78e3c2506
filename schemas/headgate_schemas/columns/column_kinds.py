"""The kinds of columns for comparisons: the kind of a type, the values of texts of that kind, and literals.

The grammars are the intersection of Java's and Rust's: Python's own `int()` and `float()` also accept "1_000" and " 1"
(docs/format.md, section 7). `predicates.partition_text` interprets texts as *partition* values, with nulls and escapes.
"""

import re
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import assert_never

from headgate_schemas.errors import PredicateError

MAX_NUMBER_LENGTH = 400
"""A longer text is no number: past every double and decimal, and it bounds the work on hostile texts."""


class ColumnKind(Enum):
    STRING = "a string"
    BOOLEAN = "a boolean"
    INTEGER = "an integer"
    FLOAT = "a 32-bit floating point number"
    DOUBLE = "a floating point number"
    DECIMAL = "a decimal"
    DATE = "a date"
    TIMESTAMP = "a timestamp"
    OTHER = "of a type that can't be compared"


_KIND_BY_TYPE = {
    **dict.fromkeys(("string", "varchar", "char"), ColumnKind.STRING),
    "boolean": ColumnKind.BOOLEAN,
    **dict.fromkeys(
        ("byte", "tinyint", "short", "smallint", "integer", "int", "long", "bigint"),
        ColumnKind.INTEGER,
    ),
    **dict.fromkeys(("float", "real"), ColumnKind.FLOAT),
    "double": ColumnKind.DOUBLE,
    **dict.fromkeys(("decimal", "dec", "numeric"), ColumnKind.DECIMAL),
    "date": ColumnKind.DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz", "timestamp_ltz"), ColumnKind.TIMESTAMP),
}

FLOATING = frozenset((ColumnKind.FLOAT, ColumnKind.DOUBLE))
"""The kinds of floating point numbers. Values of both compare as 64-bit numbers, and so do the literals for both."""

Literal = str | int | float | Decimal | bool | date | datetime
"""What a condition compares a column with."""

FloatKey = tuple[bool, float]
"""(is NaN, value): Spark's order, in which NaN equals itself and is above everything, and -0.0 equals 0.0."""

Value = str | bool | int | Decimal | FloatKey
"""What a text or a literal of some kind compares by. Dates compare as ISO text, timestamps as microseconds."""


def is_nan(value: Value) -> bool:
    """Whether a value is NaN, whose order is undefined."""
    return isinstance(value, tuple) and value[0]


def column_kind(type_name: str) -> ColumnKind:
    """The kind of a column by Spark's name of its type, with or without parameters: "decimal(10,2)"."""
    return _KIND_BY_TYPE.get(type_name.partition("(")[0].strip().lower(), ColumnKind.OTHER)


def kinds_of(type_names: Mapping[str, str]) -> dict[str, ColumnKind]:
    """The kind of every column, from Spark's names of their types."""
    return {column: column_kind(name) for column, name in type_names.items()}


def sign(left: Value | float, right: Value | float) -> int:
    """-1, 0 or 1 if left is below, equal to or above right; both are values of one kind."""
    return (left > right) - (left < right)  # type: ignore[operator]  # one kind on both sides, which types can't say


_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?")
_SPECIAL = {
    "NaN": (True, 0.0),
    "Infinity": (False, float("inf")),
    "+Infinity": (False, float("inf")),
    "-Infinity": (False, float("-inf")),
}
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?)?"
    r" ?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def parse_integer(text: str) -> int | None:
    """A 64-bit integer, or None. "01" and "+1" are 1."""
    if len(text) > MAX_NUMBER_LENGTH or not _INTEGER.fullmatch(text):
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def parse_floating(text: str) -> FloatKey | None:
    if text in _SPECIAL:
        return _SPECIAL[text]
    if len(text) > MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        return None
    return (False, float(text))


def parse_float(text: str) -> FloatKey | None:
    """The value of a 32-bit column for this text: the nearest 32-bit number. A number beyond their range stays as it is."""
    key = parse_floating(text)
    return None if key is None else (key[0], single(key[1]))


def single(number: float) -> float:
    """The nearest 32-bit number. A number beyond their range stays as it is."""
    try:
        (nearest,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return number
    return float(nearest)


def parse_decimal(text: str) -> Decimal | None:
    if len(text) > MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        return None
    return Decimal(text)


def parse_boolean(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def parse_date(text: str) -> date | None:
    """yyyy-MM-dd, and no other form."""
    if not _DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def parse_timestamp(text: str) -> datetime | None:
    """ISO 8601 or Spark's form, to the microsecond; with a zone it is converted to UTC, without one it stays naive."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    day, minute, second, fraction, zone = match.groups()
    micros = (fraction or "0")[:6].ljust(6, "0")
    try:
        moment = datetime.fromisoformat(f"{day}T{minute or '00:00'}:{second or '00'}.{micros}{zone or ''}")
        return moment if zone is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def epoch_micros(moment: datetime) -> int:
    """Microseconds since 1970. A time without a zone counts as UTC, on both sides of a comparison."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (aware - _EPOCH) // _MICROSECOND


def literal_value(column: str, kind: ColumnKind, literal: Literal) -> Value:
    """The value of a literal in comparisons with a column of this kind.

    Raises `PredicateError` if the two don't fit together; a guess would silently match nothing.
    """
    value: Value | None
    match kind:
        case ColumnKind.STRING:
            value = literal if isinstance(literal, str) else None
        case ColumnKind.BOOLEAN:
            value = (
                literal if isinstance(literal, bool) else parse_boolean(literal) if isinstance(literal, str) else None
            )
        case ColumnKind.INTEGER:
            value = parse_integer(literal) if isinstance(literal, str) else _exact(literal)
        case ColumnKind.DECIMAL:
            value = parse_decimal(literal) if isinstance(literal, str) else _exact(literal)
        case ColumnKind.FLOAT | ColumnKind.DOUBLE:
            # A double for a 32-bit column, too, as in Spark: the column's 0.1 is 0.10000000149011612, and not this 0.1.
            exact = _exact(literal)
            value = (
                parse_floating(literal)
                if isinstance(literal, str)
                else None
                if exact is None
                else (False, float(exact))
            )
        case ColumnKind.DATE:
            value = _iso_date(literal)
        case ColumnKind.TIMESTAMP:
            value = _micros(literal)
        case ColumnKind.OTHER:
            raise PredicateError(f"column {column!r} is {kind.value}; a predicate can't use it", column)
        case _:
            assert_never(kind)
    if value is None:
        raise PredicateError(
            f"column {column!r} is {kind.value}, which can't be compared with {literal!r}; {_HINT[kind]}", column
        )
    return value


_HINT = {
    ColumnKind.STRING: "put the value in quotes",
    ColumnKind.BOOLEAN: "write TRUE or FALSE",
    ColumnKind.INTEGER: "write a number, as in 42",
    ColumnKind.FLOAT: "write a number, as in 4.2",
    ColumnKind.DOUBLE: "write a number, as in 4.2",
    ColumnKind.DECIMAL: "write a number, as in 4.2",
    ColumnKind.DATE: "write a date, as in DATE '2024-01-31'",
    ColumnKind.TIMESTAMP: "write a time, as in TIMESTAMP '2024-01-31 10:00:00'",
    ColumnKind.OTHER: "use another column",
}


def _exact(literal: Literal) -> Decimal | None:
    # A double in a text means its decimal digits, not the binary value behind them: 0.1 is 1/10.
    match literal:
        case bool():
            return None
        case int() | Decimal():
            return Decimal(literal)
        case float():
            return Decimal(repr(literal))
        case _:
            return None


def _iso_date(literal: Literal) -> str | None:
    match literal:
        case datetime():
            return None
        case date():
            return literal.isoformat()
        case str():
            day = parse_date(literal)
            return None if day is None else day.isoformat()
        case _:
            return None


def _micros(literal: Literal) -> int | None:
    match literal:
        case datetime():
            return epoch_micros(literal)
        case date():
            return epoch_micros(datetime.combine(literal, time.min, UTC))
        case str():
            moment = parse_timestamp(literal)
            return None if moment is None else epoch_micros(moment)
        case _:
            return None
