"""Totals of sizes and counts that other programs wrote, some of whom call what they don't know the largest long there is."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MAX_LONG = 2**63 - 1
"""What a number of the log, of a message or of Arrow can be at most."""


def exact(column: pa.ChunkedArray) -> Any:
    """The same numbers, of a type whose sums Arrow doesn't let go round: those of longs do, without a word."""
    return column.cast(pa.decimal128(38, 0))


def exact_sum(column: pa.ChunkedArray) -> int:
    """The sum of longs, however large; nulls add nothing."""
    total: Decimal | None = pc.sum(exact(column)).as_py()
    return int(total or 0)


def as_total(number: int) -> int:
    """The number as a total that fits wherever totals go: a long, and not negative."""
    return min(max(0, number), MAX_LONG)


def total_of(column: pa.ChunkedArray) -> int:
    """The total of a column of longs."""
    return as_total(exact_sum(column))
