"""Which columns ClickHouse can hold, so that its rows can be compared with a table's."""

import datetime as dt

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

FIRST_DAY = (dt.date(1, 1, 1) - dt.date(1970, 1, 1)).days - 366
LAST_DAY = (dt.date(9999, 12, 31) - dt.date(1970, 1, 1)).days
"""Of its dates, as days since 1970: the years from 0 to 9999."""
MOST_PARTITION_DIGITS = 18
"""Of a decimal: it swaps the halves of a partition value that has more."""


def holds(column: "pa.ChunkedArray", of_partition: bool) -> bool:
    """Whether no list, map or struct is null (it would become an empty one), no date is outside of its years, and so on."""
    if of_partition and types.is_decimal(column.type) and column.type.precision > MOST_PARTITION_DIGITS:
        return False
    return all(map(_holds, column.chunks))


def _holds(column: "pa.Array") -> bool:
    type_ = column.type
    if types.is_nested(type_) and column.null_count:
        return False
    if types.is_struct(type_):
        return all(map(_holds, column.flatten()))
    if types.is_map(type_):
        return _holds(column.keys) and _holds(column.items)
    if types.is_list(type_):
        return _holds(column.flatten())
    if types.is_date32(type_):
        days = column.cast(pa.int32())
        inside = pc.and_(pc.greater_equal(days, FIRST_DAY), pc.less_equal(days, LAST_DAY))
        return pc.all(inside).as_py() is not False
    return True
