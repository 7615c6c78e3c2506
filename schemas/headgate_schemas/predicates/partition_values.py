"""Whether the text of a partition value is exactly a value of its column's type, so that readers can show it.

`partition_text` has the meaning of texts in comparisons, `columns.column_kinds` the grammars.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import assert_never

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import (
    ColumnKind,
    column_kind,
    parse_boolean,
    parse_date,
    parse_decimal,
    parse_floating,
    parse_integer,
    parse_timestamp,
    single,
)
from headgate_schemas.columns.spark_types import decimal_of, kind_name, parse_schema
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.partition_text import unescape_partition_text

_BITS = {"byte": 8, "tinyint": 8, "short": 16, "smallint": 16, "integer": 32, "int": 32}
_FLOAT_LIMIT = 3.4028235677973366e38
"""From here on a number rounds to infinity as a 32-bit float; Java's text of the largest one lies just below."""
_DIGITS = Context(prec=1_000)
"""More than a text of a number has, so that nothing is rounded."""


@dataclass(frozen=True, slots=True)
class PartitionType:
    """The values that a partition column accepts."""

    column: str
    type_name: str
    nullable: bool


@lru_cache(maxsize=64)
def partition_types(schema_string: str, partition_columns: tuple[str, ...]) -> tuple[PartitionType, ...]:
    """The types of the schema's partition columns. None for a schema that can't be read: then nobody knows."""
    if not schema_string or not partition_columns:
        return ()
    try:
        fields = parse_schema(schema_string).fields
    except InvalidInput:
        return ()
    known = {field.name: field for field in fields}
    return tuple(
        PartitionType(name, kind_name(known[name].type), known[name].nullable)
        for name in partition_columns
        if name in known
    )


def misfit(stored: str | None, wanted: PartitionType) -> str | None:
    """The reason why readers can't show this text as a value of the column; None if they can.

    An unknown type accepts every text.
    """
    if stored is None or stored in ("", NULL_PARTITION):
        if wanted.nullable:
            return None
        return f"the partition value for {wanted.column!r} is null, and the column is NOT NULL"
    if _fits(stored, wanted.type_name):
        return None
    return f"the partition value {stored[:200]!r} for {wanted.column!r} is no {wanted.type_name}"


def _fits(stored: str, type_name: str) -> bool:
    kind = column_kind(type_name)
    match kind:
        case ColumnKind.STRING | ColumnKind.OTHER:
            return True
        case ColumnKind.BOOLEAN:
            return parse_boolean(stored) is not None
        case ColumnKind.INTEGER:
            number = parse_integer(stored)
            limit = 1 << (_BITS.get(type_name, 64) - 1)
            return number is not None and -limit <= number < limit
        case ColumnKind.FLOAT:
            return _is_float(stored, _FLOAT_LIMIT) and _is_single(stored)
        case ColumnKind.DOUBLE:
            return _is_float(stored, float("inf"))
        case ColumnKind.DECIMAL:
            size = decimal_of(type_name)
            return size is not None and exact_decimal(stored, *size) is not None
        case ColumnKind.DATE:
            return parse_date(stored) is not None
        case ColumnKind.TIMESTAMP:
            return parse_timestamp(unescape_partition_text(stored)) is not None
        case _:
            assert_never(kind)


def _is_float(stored: str, limit: float) -> bool:
    """Whether it is a number, NaN or an infinity. A number that would overflow to an infinity doesn't count."""
    key = parse_floating(stored)
    return key is not None and (abs(key[1]) < limit or stored.lstrip("+-") == "Infinity")


def _is_single(stored: str) -> bool:
    """Whether the number is exactly a 32-bit one, with any number of digits. Readers would round one between two of them."""
    key = parse_floating(stored)
    if key is None or key[0] or math.isinf(key[1]):
        return True
    _, digits, exponent = Decimal(stored).as_tuple()
    assert isinstance(exponent, int)  # a text of a number is finite
    if not any(digits):
        return True
    nearest = single(key[1])
    return nearest != 0.0 and abs(Fraction(stored) - Fraction(nearest)) < Fraction(10) ** exponent


def exact_decimal(stored: str, precision: int, scale: int) -> Decimal | None:
    """The number with exactly `scale` digits after the point; None if it has more, or too many before it."""
    value = parse_decimal(stored)
    if value is None:
        return None
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)  # a text of a number is finite
    if not value:
        return Decimal((0, (0,), -scale))
    zeros = next(count for count, digit in enumerate(reversed(digits)) if digit)
    # Checked before the computation: an exponent may have nine digits.
    if exponent + zeros < -scale or value.adjusted() >= precision - scale:
        return None
    return value.quantize(Decimal((0, (1,), -scale)), context=_DIGITS)
