"""Totals of sizes and counts by other programs, some of which write the largest long for an unknown value."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

MAX_LONG = 2**63 - 1
"""What a number of the log, of a message or of Arrow can be at most."""


def exact(column: pa.ChunkedArray) -> Any:
    """The same numbers in a type whose sums don't overflow: Arrow's sums of longs overflow silently."""
    return column.cast(pa.decimal128(38, 0))


def exact_sum(column: pa.ChunkedArray) -> int:
    """The sum of longs, however large; nulls add nothing."""
    total: Decimal | None = pc.sum(exact(column)).as_py()
    return int(total or 0)


def as_total(number: int) -> int:
    """The number as a total that fits everywhere: a long, and not negative."""
    return min(max(0, number), MAX_LONG)


def total_of(column: pa.ChunkedArray) -> int:
    """The total of a column of longs."""
    return as_total(exact_sum(column))
