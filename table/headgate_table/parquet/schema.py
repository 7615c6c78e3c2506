"""A Parquet file's columns in a table's types, from its footer by our own decoder, because PyArrow's crashes on some
damaged ones.

`repair.merged_schema` combines the schemas of several files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, assert_never

from headgate_schemas.columns.spark_types import MAX_COLUMNS, ArrayOf, Atomic, Field, MapOf, SparkType, Struct
from headgate_schemas.errors import InvalidInput
from headgate_table.parquet.footer import Footer, Physical
from headgate_table.parquet.thrift import Struct as Element

MAX_DEPTH = 100
"""Groups inside of each other. Lists and maps take three for each level of a type, of which a table has 30 at most."""

VOID = Atomic("void")
"""A column that was written without a type, as all of its values are null: it becomes whatever other files have."""

_REQUIRED, _OPTIONAL, _REPEATED = 0, 1, 2

_MAP_TYPE, _LIST_TYPE, _DECIMAL_TYPE, _DATE_TYPE, _TIME_TYPE = 2, 3, 5, 6, 7
_TIMESTAMP_TYPE, _INTEGER_TYPE, _UNKNOWN_TYPE, _FLOAT16_TYPE, _VARIANT_TYPE = 8, 10, 11, 15, 16
_TEXT_TYPES = (1, 4, 12)
"""Logical types: texts, enumerations, JSON."""

_OLDER_MAPS, _OLDER_LIST, _OLDER_DECIMAL, _OLDER_DATE = (1, 2), 3, 5, 6
_OLDER_TEXTS, _OLDER_TIMES, _OLDER_TIMESTAMPS = (0, 4, 19), (7, 8), (9, 10)
_OLDER_INTEGERS = {
    11: (8, False),
    12: (16, False),
    13: (32, False),
    14: (64, False),
    15: (8, True),
    16: (16, True),
    17: (32, True),
    18: (64, True),
}

_INTEGERS = {
    (8, True): "byte",
    (16, True): "short",
    (32, True): "integer",
    (64, True): "long",
    # Unsigned: the smallest type that holds all of their values.
    (8, False): "short",
    (16, False): "integer",
    (32, False): "long",
    (64, False): "decimal(20,0)",
}
_MAX_DECIMAL_DIGITS = 38


@dataclass(frozen=True, slots=True)
class Unusable:
    """The reason why a table can't have a column of a stored type."""

    reason: str


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A top-level column of a file's schema."""

    name: str
    type: SparkType | Unusable
    nullable: bool


class _NotHeld(Exception):
    """No table can hold the type."""


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    element: Element
    children: tuple["_Node", ...]

    @property
    def repetition(self) -> int:
        return _whole(self.element, 3, _REQUIRED)

    @property
    def logical(self) -> tuple[int, Any]:
        """Number and body of the logical type; (0, None) without one. It is a union with one field."""
        body = self.element.get(10)
        return next(iter(body.items()), (0, None)) if isinstance(body, dict) else (0, None)

    @property
    def older(self) -> int:
        """The older converted type, which counts only without a logical one; -1 without."""
        return _whole(self.element, 6, -1)

    def is_a(self, logical: Sequence[int], older: Sequence[int]) -> bool:
        number, _ = self.logical
        return number in logical if number else self.older in older


def stored_columns(footer: Footer) -> tuple[StoredColumn, ...]:
    """The columns of a file, in its order. Unsigned numbers become larger signed ones, old 96-bit times timestamps.

    Raises `InvalidInput` for a schema that nobody could read: two columns of one name, too many, nested too deep.
    """
    if len(footer.elements) > 4 * MAX_COLUMNS:
        raise InvalidInput(
            f"its schema has {len(footer.elements)} elements, more than any table's {MAX_COLUMNS} columns"
        )
    columns = tuple(_column(node) for node in _tree(footer.elements))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"it has two columns {twice!r}")
    return columns


def _tree(elements: Sequence[Element]) -> tuple[_Node, ...]:
    """The nodes below the root. The reader of the footer has checked that the schema is a tree."""
    rest = iter(elements)

    def node(depth: int) -> _Node:
        if depth > MAX_DEPTH:
            raise InvalidInput(f"its schema is nested deeper than {MAX_DEPTH} levels")
        element = next(rest)
        count = _whole(element, 5, 0)
        return _Node(_name(element), element, tuple(node(depth + 1) for _ in range(count)))

    return node(0).children


def _name(element: Element) -> str:
    name = element.get(4)
    try:
        return name.decode("utf-8") if isinstance(name, bytes) else ""
    except UnicodeDecodeError as error:
        raise InvalidInput("a name in its schema is no UTF-8") from error


def _column(node: _Node) -> StoredColumn:
    try:
        field = _field(node)
    except _NotHeld as why:
        return StoredColumn(node.name, Unusable(str(why)), nullable=True)
    return StoredColumn(field.name, field.type, field.nullable)


def _field(node: _Node) -> Field:
    if node.repetition == _REPEATED:
        # Older than the types for lists: the values of the field are the elements.
        return Field(node.name, ArrayOf(_unrepeated(node), contains_null=False), nullable=False)
    return Field(node.name, _unrepeated(node), nullable=node.repetition == _OPTIONAL)


def _unrepeated(node: _Node) -> SparkType:
    """The type of one occurrence of a node."""
    if not node.children:
        return _atomic(node)
    if node.is_a((_LIST_TYPE,), (_OLDER_LIST,)):
        return _list(node)
    if node.is_a((_MAP_TYPE,), _OLDER_MAPS):
        return _map(node)
    if node.is_a((_VARIANT_TYPE,), ()):
        raise _NotHeld(f"{node.name!r} is a variant")
    return Struct(tuple(_field(child) for child in node.children))


def _list(node: _Node) -> ArrayOf:
    """By the format's rules for lists, with older forms: the repeated node is the element, or wraps it."""
    repeated = _only_repeated(node)
    wraps = (
        len(repeated.children) == 1
        and repeated.children[0].repetition != _REPEATED
        and repeated.name not in ("array", f"{node.name}_tuple")
    )
    if not wraps:
        return ArrayOf(_unrepeated(repeated), contains_null=False)
    element = _field(repeated.children[0])
    return ArrayOf(element.type, contains_null=element.nullable)


def _map(node: _Node) -> MapOf:
    pair = _only_repeated(node)
    if len(pair.children) != 2:
        raise _NotHeld(f"{node.name!r} is a map whose entries have {len(pair.children)} parts")
    key, value = (_field(child) for child in pair.children)
    return MapOf(key.type, value.type, value.nullable)


def _only_repeated(node: _Node) -> _Node:
    if len(node.children) != 1 or node.children[0].repetition != _REPEATED:
        raise _NotHeld(f"{node.name!r} is a list or a map without the repeated group that these have")
    return node.children[0]


# ---- values


def _atomic(node: _Node) -> Atomic:
    try:
        physical = Physical(_whole(node.element, 1, -1))
    except ValueError:
        raise _NotHeld(f"{node.name!r} is a group without fields, or of an unknown type") from None
    number, _ = node.logical
    if number == _UNKNOWN_TYPE:
        return VOID
    if node.is_a((_DECIMAL_TYPE,), (_OLDER_DECIMAL,)):
        return _decimal(node)
    if node.is_a((_TIME_TYPE,), _OLDER_TIMES):
        raise _NotHeld(f"{node.name!r} is a time of day")
    match physical:
        case Physical.BOOLEAN:
            return Atomic("boolean")
        case Physical.INT32 | Physical.INT64:
            return _integer(node, 32 if physical is Physical.INT32 else 64)
        case Physical.INT96:
            return Atomic("timestamp")
        case Physical.FLOAT:
            return Atomic("float")
        case Physical.DOUBLE:
            return Atomic("double")
        case Physical.BYTES:
            return Atomic("string" if node.is_a(_TEXT_TYPES, _OLDER_TEXTS) else "binary")
        case Physical.FIXED_BYTES:
            return Atomic("float" if number == _FLOAT16_TYPE else "binary")
        case _:
            assert_never(physical)


def _integer(node: _Node, stored_bits: int) -> Atomic:
    number, body = node.logical
    parts: Element = body if isinstance(body, dict) else {}
    if node.is_a((_DATE_TYPE,), (_OLDER_DATE,)):
        return Atomic("date")
    if node.is_a((_TIMESTAMP_TYPE,), _OLDER_TIMESTAMPS):
        return Atomic("timestamp" if not number or parts.get(1) is True else "timestamp_ntz")
    if number == _INTEGER_TYPE:
        width = _whole(parts, 1, stored_bits), parts.get(2) is True
    else:
        width = (stored_bits, True) if number else _OLDER_INTEGERS.get(node.older, (stored_bits, True))
    if width not in _INTEGERS:
        raise _NotHeld(f"{node.name!r} is an integer of {width[0]} bits")
    return Atomic(_INTEGERS[width])


def _decimal(node: _Node) -> Atomic:
    _, body = node.logical
    parts: Element = body if isinstance(body, dict) else {}
    # The schema's element has both as well; some writers leave them out of one of the two places.
    scale = _whole(parts, 1, _whole(node.element, 7, 0))
    precision = _whole(parts, 2, _whole(node.element, 8, 0))
    if not (1 <= precision <= _MAX_DECIMAL_DIGITS and 0 <= scale <= precision):
        raise _NotHeld(f"{node.name!r} is a decimal of {precision} digits, {scale} of them after the point")
    return Atomic(f"decimal({precision},{scale})")


def _whole(body: Element, field: int, default: int) -> int:
    value: Any = body.get(field)
    return value if type(value) is int else default
