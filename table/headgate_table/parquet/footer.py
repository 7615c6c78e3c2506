"""Reads the footer of a Parquet file: the number of rows, and each plain column's statistics as stored.

Only the end of a file is read. `bounds` converts statistics to bounds.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from headgate_schemas.errors import InvalidInput
from headgate_table.parquet.thrift import BadThrift, Struct, decode_struct

MAX_FOOTER_BYTES = 64 * 1024 * 1024
"""A footer has about 100 bytes for each column of each row group; honest ones stay far below."""

_FIRST_READ_BYTES = 64 * 1024
"""Holds most footers whole, so that one request is enough."""

_MAX_NOTE_BYTES = 256
"""Longer ones are schemas of Arrow and others, which nobody looks at here."""

_MAGIC, _ENCRYPTED_MAGIC = b"PAR1", b"PARE"
_TRAILER_BYTES = 8


class Physical(Enum):
    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTES = 6
    FIXED_BYTES = 7


class Meaning(Enum):
    """The meaning of a column's stored values, for types that can have bounds."""

    PLAIN = "plain"
    UNSIGNED = "unsigned"
    MILLIS = "milliseconds"
    MICROS = "microseconds"
    NANOS = "nanoseconds"
    DECIMAL = "decimal"
    TEXT = "text"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ParquetColumn:
    """A top-level column of the schema. Nested ones only count."""

    name: str
    physical: Physical
    meaning: Meaning
    scale: int
    leaf: int
    """Its place among the stored columns; negative for a nested one."""
    is_ordered: bool
    """Whether the file promises the order of the type for its newer statistics."""


@dataclass(frozen=True, slots=True)
class ChunkStatistics:
    """The statistics of one column in one row group. The older pair was written without a defined order."""

    rows: int
    null_count: int | None
    lowest: bytes | None
    highest: bytes | None
    older_lowest: bytes | None
    older_highest: bytes | None


@dataclass(frozen=True, slots=True)
class Footer:
    num_rows: int
    columns: tuple[ParquetColumn, ...]
    """Those at the top, in the schema's order."""
    row_groups: tuple[Struct, ...]
    elements: tuple[Struct, ...]
    """The whole schema as stored, the root first; `schema` reads types from it."""
    created_by: str = ""
    """The program that wrote the file."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """What the writer noted beside the schema: short texts only."""

    def statistics(self, column: ParquetColumn) -> Iterator[ChunkStatistics]:
        """One for each row group that has rows."""
        for group in self.row_groups:
            rows = _number(group, 3)
            if rows:
                yield _chunk_statistics(group, column.leaf, rows)


def read_footer(name: str, size: int, read: Callable[[int, int], bytes]) -> Footer:
    """The footer of a file of `size` bytes; `read(start, length)` returns a part of it.

    Raises `InvalidInput` if the file isn't a Parquet file, is damaged or encrypted, or has too large a footer.
    """
    if size < _TRAILER_BYTES + len(_MAGIC):
        raise _not_parquet(name, f"it has only {size} bytes")
    tail = _read(name, read, size - min(size, _FIRST_READ_BYTES), min(size, _FIRST_READ_BYTES))
    length = int.from_bytes(tail[-_TRAILER_BYTES : -len(_MAGIC)], "little")
    if tail.endswith(_ENCRYPTED_MAGIC):
        raise InvalidInput(f"the footer of {name} is encrypted; give its row count and bounds yourself")
    if not tail.endswith(_MAGIC):
        raise _not_parquet(name, "it doesn't end in PAR1; it may be cut short, or still being written")
    if length + _TRAILER_BYTES + len(_MAGIC) > size:
        raise _not_parquet(name, f"its footer of {length} bytes doesn't fit into {size}")
    if length > MAX_FOOTER_BYTES:
        raise InvalidInput(f"the footer of {name} has {length} bytes, more than {MAX_FOOTER_BYTES} (MAX_FOOTER_BYTES)")
    needed = length + _TRAILER_BYTES
    if needed > len(tail):
        tail = _read(name, read, size - needed, needed)
    try:
        return _footer(decode_struct(tail[-needed:-_TRAILER_BYTES]))
    except BadThrift as error:
        raise _not_parquet(name, f"its footer is damaged: {error}") from error


def _read(name: str, read: Callable[[int, int], bytes], start: int, length: int) -> bytes:
    data = read(start, length)
    if len(data) != length:
        raise _not_parquet(name, f"it ended after {len(data)} of {length} bytes read from {start}; it is being changed")
    return data


def _not_parquet(name: str, why: str) -> InvalidInput:
    return InvalidInput(f"{name} can't be used as a Parquet file: {why}")


# ---- the metadata's fields, by the numbers that the format gives them


def _footer(body: Struct) -> Footer:
    elements = _structs(body, 2)
    rows = _number(body, 3)
    if not elements or rows is None or rows < 0:
        raise BadThrift("it has no schema or no number of rows")
    orders = _structs(body, 7)
    columns, leaves = _columns(elements, orders)
    groups = _structs(body, 4)
    for group in groups:
        if len(_structs(group, 1)) != leaves or _number(group, 3) is None:
            raise BadThrift(f"a row group doesn't have the {leaves} columns of the schema")
    if sum(_number(group, 3) or 0 for group in groups) != rows:
        raise BadThrift(f"its row groups don't add up to {rows} rows")
    return Footer(rows, tuple(columns), tuple(groups), tuple(elements), _text(body.get(6)), _notes(body))


def _notes(body: Struct) -> dict[str, str]:
    return {
        _text(note.get(1)): _text(note.get(2))
        for note in _structs(body, 5)
        if isinstance(value := note.get(2), bytes) and len(value) <= _MAX_NOTE_BYTES
    }


def _text(value: Any) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""


def _columns(elements: list[Struct], orders: list[Struct]) -> tuple[list[ParquetColumn], int]:
    """The top-level columns, and the number of stored ones. The schema is a tree, listed from the top."""
    columns: list[ParquetColumn] = []
    leaf = 0
    open_children: list[int] = [_number(elements[0], 5) or 0]
    for element in elements[1:]:
        while open_children and open_children[-1] == 0:
            open_children.pop()
        if not open_children:
            raise BadThrift("its schema has more columns than it announces")
        open_children[-1] -= 1
        children = _number(element, 5) or 0
        is_leaf = children == 0
        if len(open_children) == 1:
            # 1 is the order of the type; readers of bounds don't compare by other orders.
            ordered = leaf < len(orders) and 1 in orders[leaf]
            columns.append(_column(element, leaf if is_leaf and _number(element, 3) != 2 else -1, ordered))
        if children > 0:
            open_children.append(children)
        leaf += is_leaf
    if any(open_children):
        raise BadThrift("its schema has fewer columns than it announces")
    return columns, leaf


def _column(element: Struct, leaf: int, is_ordered: bool) -> ParquetColumn:
    raw_name = element.get(4)
    try:
        name = raw_name.decode("utf-8") if isinstance(raw_name, bytes) else ""
        physical = Physical(_number(element, 1) or 0)
    except ValueError as error:
        raise BadThrift(f"a column of its schema can't be understood: {error}") from error
    meaning, scale = _meaning(element)
    return ParquetColumn(name, physical, meaning, scale, leaf, is_ordered)


_BY_CONVERTED_TYPE = {
    0: Meaning.TEXT,
    5: Meaning.DECIMAL,
    6: Meaning.PLAIN,  # a date: days
    9: Meaning.MILLIS,
    10: Meaning.MICROS,
    **dict.fromkeys((11, 12, 13, 14), Meaning.UNSIGNED),
    **dict.fromkeys((15, 16, 17, 18), Meaning.PLAIN),
}
_TIME_UNITS = {1: Meaning.MILLIS, 2: Meaning.MICROS, 3: Meaning.NANOS}


def _meaning(element: Struct) -> tuple[Meaning, int]:
    """The meaning by the logical type; by the older converted type if there is none."""
    logical = element.get(10)
    scale = _number(element, 7) or 0
    if isinstance(logical, dict):
        return _logical_meaning(logical), scale
    converted = _number(element, 6)
    return (Meaning.PLAIN if converted is None else _BY_CONVERTED_TYPE.get(converted, Meaning.OTHER)), scale


def _logical_meaning(logical: Struct) -> Meaning:
    # A union: the number of the one field that is there says which type it is.
    number, body = next(iter(logical.items()), (0, None))
    match number:
        case 1:
            return Meaning.TEXT
        case 5:
            return Meaning.DECIMAL
        case 6:
            return Meaning.PLAIN
        case 8 if isinstance(body, dict) and isinstance(body.get(2), dict):
            return _TIME_UNITS.get(next(iter(body[2]), 0), Meaning.OTHER)
        case 10 if isinstance(body, dict):
            return Meaning.PLAIN if body.get(2) else Meaning.UNSIGNED
        case _:
            return Meaning.OTHER


def _chunk_statistics(group: Struct, leaf: int, rows: int) -> ChunkStatistics:
    metadata = _structs(group, 1)[leaf].get(3)
    statistics = metadata.get(12) if isinstance(metadata, dict) else None
    found: Struct = statistics if isinstance(statistics, dict) else {}
    return ChunkStatistics(
        rows=rows,
        null_count=_number(found, 3),
        lowest=_bytes(found, 6),
        highest=_bytes(found, 5),
        older_lowest=_bytes(found, 2),
        older_highest=_bytes(found, 1),
    )


def _number(body: Struct, field: int) -> int | None:
    value: Any = body.get(field)
    return value if type(value) is int else None


def _bytes(body: Struct, field: int) -> bytes | None:
    value: Any = body.get(field)
    return value if isinstance(value, bytes) else None


def _structs(body: Struct, field: int) -> list[Struct]:
    value: Any = body.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadThrift(f"field {field} is not a list of structs")
    return value
