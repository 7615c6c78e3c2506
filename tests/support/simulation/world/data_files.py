"""What lies in simulated data files: the rows they stand for, by name, so that merged files can be judged without Parquet.

A name stands for `RECORDS` rows that some job wrote together.
"""

import re
from collections.abc import Iterable

RECORDS = 10
STREAMED = "stream/"
"""What the rows of streams begin with."""
_AMOUNT = re.compile(r"a(-?\d+)$")


def content_of(rows: Iterable[str], size: int = 0) -> bytes:
    """As long as `size`, if the names leave room for that."""
    return " ".join(rows).encode().ljust(size)


def rows_in(data: bytes) -> tuple[str, ...]:
    return tuple(data.decode().split())


def own_row(path: str) -> str:
    """What a file that no merge made stands for."""
    return path.rpartition("/")[2].partition(".")[0]


def amount_of(row: str) -> int:
    """Of a row that stands for money."""
    found = _AMOUNT.search(row)
    assert found is not None, f"{row} is no amount"
    return int(found[1])
