"""The types of a table's columns as Spark names them, and their JSON form: a metadata's `schemaString`.

`table_schema` has Arrow types and the rules for a table's columns, `schema_ddl` column lists as SQL text.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.errors import InvalidInput

MAX_SCHEMA_CHARS = 16 * 1024 * 1024
"""A schema of ten thousand columns has about one million characters."""

MAX_COLUMNS = 10_000
"""Columns and nested fields together. Every file entry may carry bounds of columns, and engines slow down far earlier."""

MAX_TYPE_DEPTH = 30
"""Types inside of types. Bounds every walk over a schema."""

MAX_NAME_CHARS = 255


@dataclass(frozen=True, slots=True)
class Atomic:
    name: str
    """As in JSON: `long`, `decimal(10,2)`, `varchar(20)`. May be one we don't know: such a column is listed, not read."""


@dataclass(frozen=True, slots=True)
class ArrayOf:
    element: "SparkType"
    contains_null: bool = True


@dataclass(frozen=True, slots=True)
class MapOf:
    key: "SparkType"
    value: "SparkType"
    value_contains_null: bool = True


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: "SparkType"
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Field, ...]


SparkType = Atomic | ArrayOf | MapOf | Struct

PLAIN_ATOMICS = frozenset(
    {"string", "binary", "boolean", "byte", "short", "integer", "long", "float", "double", "date"}
    | {"timestamp", "timestamp_ntz"}
)

_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\)")
_SIZED_TEXT = re.compile(r"(?:varchar|char)\(\s*([0-9]{1,9})\s*\)")


def parse_schema(text: str) -> Struct:
    """The columns in a `schemaString`. Raises `InvalidInput` with the place in the schema."""
    if len(text) > MAX_SCHEMA_CHARS:
        raise InvalidInput(f"a schema of {len(text)} characters is longer than {MAX_SCHEMA_CHARS} (MAX_SCHEMA_CHARS)")
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"the schema is not JSON: {error.msg} at character {error.pos}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the schema is JSON that can't be taken: {type(error).__name__}") from error
    parsed = _Parser().type_of(body, "the schema", 0)
    if not isinstance(parsed, Struct):
        raise InvalidInput('the schema is not a struct; it looks like {"type":"struct","fields":[…]}')
    return parsed


def print_schema(struct: Struct) -> str:
    """The `schemaString`, with keys in Spark's order."""
    return json.dumps(_body(struct), ensure_ascii=False, separators=(",", ":"))


def parse_type(body: Any, place: str) -> SparkType:
    """One type in a parsed `schemaString`. Raises `InvalidInput` that names the place."""
    return _Parser().type_of(body, place, 0)


def type_body(type_: SparkType) -> Any:
    """The type in its JSON form, before printing."""
    return _body(type_)


def kind_name(type_: SparkType) -> str:
    """The short name of a type: an atomic type's own, else struct, array or map."""
    match type_:
        case Atomic(name):
            return name
        case ArrayOf():
            return "array"
        case MapOf():
            return "map"
        case Struct():
            return "struct"
        case _:
            assert_never(type_)


def decimal_of(name: str) -> tuple[int, int] | None:
    """Precision and scale of `decimal(p,s)`."""
    match = _DECIMAL.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def is_sized_text(name: str) -> bool:
    return _SIZED_TEXT.fullmatch(name) is not None


def check_known(struct: Struct) -> None:
    """Refuse a schema that readers couldn't use: odd names, unknown types, duplicates. For schemas that Headgate
    writes.
    """
    if not struct.fields:
        raise InvalidInput("the schema has no columns; a table needs at least one")
    counted = _check_known(struct, "")
    if counted > MAX_COLUMNS:
        raise InvalidInput(f"the schema has {counted} columns and nested fields, more than {MAX_COLUMNS} (MAX_COLUMNS)")


def _check_known(type_: SparkType, place: str, depth: int = 0) -> int:
    if depth > MAX_TYPE_DEPTH:
        raise InvalidInput(f"{place or 'the schema'} is nested deeper than {MAX_TYPE_DEPTH} levels (MAX_TYPE_DEPTH)")
    match type_:
        case Atomic(name):
            _check_atomic(name, place)
            return 0
        case ArrayOf(element):
            return _check_known(element, f"{place}.element", depth + 1)
        case MapOf(key, value):
            return _check_known(key, f"{place}.key", depth + 1) + _check_known(value, f"{place}.value", depth + 1)
        case Struct(fields):
            _check_names([item.name for item in fields], place)
            inner = (
                _check_known(item.type, f"{place}.{item.name}" if place else f"column {item.name!r}", depth + 1)
                for item in fields
            )
            return len(fields) + sum(inner)
        case _:
            assert_never(type_)


def _check_atomic(name: str, place: str) -> None:
    decimal = decimal_of(name)
    if decimal is not None:
        precision, scale = decimal
        if not (1 <= precision <= 38 and scale <= precision):
            raise InvalidInput(f"{place} is {name}; a decimal has 1 to 38 digits, and no more of them after the point")
    elif name not in PLAIN_ATOMICS and not is_sized_text(name):
        raise InvalidInput(f"{place} has the type {name!r}, which tables can't hold; use {_OFFER}")


_OFFER = "one of " + ", ".join(sorted(PLAIN_ATOMICS)) + ", decimal(p,s), varchar(n), char(n), array, map, struct"


def _check_names(names: list[str], place: str) -> None:
    inside = f" in {place}" if place else ""
    seen: dict[str, str] = {}
    for name in names:
        problem = _name_problem(name)
        if problem:
            raise InvalidInput(f"the column name {name[:80]!r}{inside} can't be used: it {problem}")
        other = seen.get(name_key(name))
        seen[name_key(name)] = name
        if other is not None:
            raise InvalidInput(
                f"the columns {other!r} and {name!r}{inside} have the same name (case is ignored); rename one"
            )


def _name_problem(name: str) -> str | None:
    if not name:
        return "is empty"
    if len(name) > MAX_NAME_CHARS:
        return f"is longer than {MAX_NAME_CHARS} characters"
    if any(ord(character) < 0x20 or 0xD800 <= ord(character) < 0xE000 for character in name):
        return "holds a control character or a lone surrogate"
    return None


class _Parser:
    """Counts fields over the whole schema, so that a hostile one is refused before it is built."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def type_of(self, body: Any, place: str, depth: int) -> SparkType:
        if depth > MAX_TYPE_DEPTH:
            raise InvalidInput(f"{place[:200]} is nested deeper than {MAX_TYPE_DEPTH} levels (MAX_TYPE_DEPTH)")
        if isinstance(body, str):
            return Atomic(_canonical_atomic(body, place))
        if not isinstance(body, dict):
            raise InvalidInput(f"the type of {place} is neither a name nor an object")
        match body.get("type"):
            case "struct":
                return self._struct(body, place, depth)
            case "array":
                element = self.type_of(_needed(body, "elementType", place), f"{place}.element", depth + 1)
                return ArrayOf(element, _flag(body, "containsNull"))
            case "map":
                key = self.type_of(_needed(body, "keyType", place), f"{place}.key", depth + 1)
                value = self.type_of(_needed(body, "valueType", place), f"{place}.value", depth + 1)
                return MapOf(key, value, _flag(body, "valueContainsNull"))
            case "udt":
                # A user's class is unknown here; its SQL type is stored.
                return self.type_of(_needed(body, "sqlType", place), place, depth + 1)
            case other:
                raise InvalidInput(f"{place} has the unknown type {str(other)[:80]!r}; it is struct, array, map or udt")

    def _struct(self, body: dict[str, Any], place: str, depth: int) -> Struct:
        items = _needed(body, "fields", place)
        if not isinstance(items, list):
            raise InvalidInput(f"the fields of {place} are not an array")
        self._count += len(items)
        if self._count > MAX_COLUMNS:
            raise InvalidInput(f"the schema has more than {MAX_COLUMNS} columns and nested fields (MAX_COLUMNS)")
        return Struct(tuple(self._field(item, place, depth) for item in items))

    def _field(self, item: Any, place: str, depth: int) -> Field:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            raise InvalidInput(f"a field of {place} is not an object with a name")
        name = item["name"]
        inner = f"{place}.{name}" if depth else f"column {name!r}"
        metadata = item.get("metadata") or {}
        if not isinstance(metadata, dict):
            raise InvalidInput(f"the metadata of {inner} is not an object")
        return Field(
            name, self.type_of(_needed(item, "type", inner), inner, depth + 1), _flag(item, "nullable"), metadata
        )


def _canonical_atomic(name: str, place: str) -> str:
    if not name or len(name) > 200:
        raise InvalidInput(f"the type of {place} is a name of {len(name)} characters")
    if name == "decimal":
        return "decimal(10,0)"
    decimal = decimal_of(name)
    return f"decimal({decimal[0]},{decimal[1]})" if decimal else name


def _needed(body: dict[str, Any], key: str, place: str) -> Any:
    if key not in body:
        raise InvalidInput(f"{place} lacks {key!r}")
    return body[key]


def _flag(body: dict[str, Any], key: str) -> bool:
    """A flag. Spark treats a missing one as true."""
    return body.get(key) is not False


def _body(type_: SparkType) -> Any:
    match type_:
        case Atomic(name):
            return name
        case ArrayOf(element, contains_null):
            return {"type": "array", "elementType": _body(element), "containsNull": contains_null}
        case MapOf(key, value, nulls):
            return {"type": "map", "keyType": _body(key), "valueType": _body(value), "valueContainsNull": nulls}
        case Struct(fields):
            return {"type": "struct", "fields": [_field_body(item) for item in fields]}
        case _:
            assert_never(type_)


def _field_body(item: Field) -> dict[str, Any]:
    return {
        "name": item.name,
        "type": _body(item.type),
        "nullable": item.nullable,
        "metadata": dict(item.metadata),
    }
