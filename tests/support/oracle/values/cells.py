"""What a cell is: a plain Python value, whatever an engine or a file makes of it.

Numbers are `int`, `float` and `Decimal`; a date is its days and a time its microseconds since 1970, since Python's own know
only the years from 1 to 9999.
"""

import math
import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types

Cell = int | float | bool | str | bytes | Decimal | tuple[Any, ...] | None
Key = tuple[Any, ...]

_PER_MICRO = {"s": 1_000_000, "ms": 1_000, "us": 1}


def cells_of(column: "pa.ChunkedArray | pa.Array[Any]") -> list[Cell]:
    """The values of an Arrow column."""
    type_ = column.type
    if types.is_dictionary(type_):
        return cells_of(column.cast(type_.value_type))
    if types.is_date32(type_):
        return list(column.cast(pa.int32()).to_pylist())
    if types.is_date64(type_):
        return [None if value is None else value // 86_400_000 for value in column.cast(pa.int64()).to_pylist()]
    if types.is_timestamp(type_):
        return [None if value is None else _micros(value, type_.unit) for value in column.cast(pa.int64()).to_pylist()]
    if types.is_nested(type_):
        return [_frozen(value) for value in column.to_pylist()]
    return list(column.to_pylist())


def _micros(value: int, unit: str) -> int | Decimal:
    if unit in _PER_MICRO:
        return value * _PER_MICRO[unit]
    return Decimal(value) / 1_000 if value % 1_000 else value // 1_000


def _frozen(value: Any) -> Any:
    match value:
        case list():
            return tuple(map(_frozen, value))
        case dict():
            return tuple((key, _frozen(item)) for key, item in value.items())
        case _:
            return value


def arrow_array(cells: Sequence[Cell], type_: Any) -> Any:
    """The other way: an Arrow array of these cells."""
    if types.is_date32(type_):
        return pa.array(cells, pa.int32()).cast(type_)
    if types.is_timestamp(type_):
        return pa.array(cells, pa.int64()).cast(type_)
    if types.is_nested(type_):
        return pa.array([_thawed(cell, type_) for cell in cells], type_)
    return pa.array(cells, type_)


def _thawed(cell: Any, type_: Any) -> Any:
    if cell is None:
        return None
    return dict(cell) if types.is_struct(type_) else list(cell)


def key_of(cell: Cell) -> Key:
    """Equal for cells that are the same value, to the bit, but for the many NaNs, which are one."""
    match cell:
        case bool() | str() | bytes() | None:
            return (type(cell).__name__, cell)
        case float():
            return ("float", b"NaN" if math.isnan(cell) else struct.pack(">d", cell))
        case int() | Decimal():
            return ("number", Decimal(cell))
        case tuple():
            return ("nested", tuple(key_of(each) for each in cell))
