"""Single Avro records, by fastavro: for the one-record state manifest, and as the fallback for file entries.

No file can make the reader recurse, loop or allocate without limit: the schema is checked first, the items of a state
are counted before objects are made of them, and only one block of entries is in memory at a time.
"""

import io
from collections.abc import Iterator
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from headgate_table.avro.container import Container, parse_schema
from headgate_table.avro.items import check_items
from headgate_table.errors import CorruptTable

MAX_FIELDS = 10_000
"""With those of a record that is named again counted again: a few names can stand for any number of them."""
MAX_DEPTH = 32
"""Known schemas nest 3 deep. Both bounds stop a hostile schema before any library sees it."""
MAX_ENTRIES_BLOCK_BYTES = 16 << 20
"""Known writers end a block at 64 KiB, after the entry that crosses it."""

_SIZED_PRIMITIVES = frozenset({"boolean", "int", "long", "float", "double", "bytes", "string"})


def checked_schema(container: Container) -> dict[str, Any]:
    """The writer's schema: a record, not recursive, bounded, and without collections of items that take no bytes."""
    schema = parse_schema(container)
    _Check(container.name).record(schema)
    return schema  # type: ignore[no-any-return]  # the check has proved that it is a dict


def read_record(container: Container) -> dict[str, Any]:
    """The only record of the file, of any size, decoded with the writer's own schema."""
    schema = checked_schema(container)
    parsed = _parsed(schema, container.name)
    if container.num_records != 1:
        raise CorruptTable(f"{container.name} holds {container.num_records} records, where one is needed")
    found: list[dict[str, Any]] = []
    for block, plain in container.payloads():
        if block.count:
            check_items(schema, plain, container.name)
        found += _decoded(container.name, parsed, block.count, plain)
    return found[0]


def read_records(container: Container) -> Iterator[dict[str, Any]]:
    """Every record of the file, one at a time. The schema is checked at once."""
    schema = checked_schema(container)
    parsed = _parsed(schema, container.name)
    return (
        record
        for block, plain in container.payloads(MAX_ENTRIES_BLOCK_BYTES)
        for record in _decoded(container.name, parsed, block.count, plain)
    )


def _parsed(schema: dict[str, Any], name: str) -> Any:
    try:
        return fastavro.parse_schema(schema)
    except (SchemaParseException, UnknownType, KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptTable(f"{name}: the Avro schema is refused: {error}") from error


def _decoded(name: str, parsed: Any, count: int, plain: bytes) -> Iterator[dict[str, Any]]:
    source = io.BytesIO(plain)
    for number in range(count):
        try:
            record = fastavro.schemaless_reader(source, parsed, None)
        except (
            EOFError,
            ValueError,
            IndexError,
            KeyError,
            TypeError,
            ArithmeticError,
            MemoryError,
            StopIteration,
        ) as error:
            raise CorruptTable(
                f"{name}: record {number} of a block can't be decoded ({type(error).__name__}: {error}); the file is damaged"
            ) from error
        yield record  # type: ignore[misc]  # a record schema yields dicts
    if source.tell() != len(plain):
        raise CorruptTable(f"{name}: {len(plain) - source.tell()} bytes are left over after a block's records")


class _Check:
    """One walk over a schema. Names resolve to finished types only, which excludes recursion."""

    def __init__(self, name: str) -> None:
        self._file = name
        self._known: dict[str, tuple[int, int]] = {}
        """By name: how many bytes a value takes at least, and how many fields it has, those of its own fields included."""
        self._fields = 0

    def record(self, schema: Any) -> None:
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise self._wrong("it is not a record")
        self._size(schema, 0)

    def _wrong(self, why: str) -> CorruptTable:
        return CorruptTable(f"{self._file}: the Avro schema is refused: {why}")

    def _size(self, schema: Any, depth: int) -> int:
        """The least number of bytes that a value takes."""
        if depth > MAX_DEPTH:
            raise self._wrong(f"it nests deeper than {MAX_DEPTH}")
        match schema:
            case str():
                return self._named(schema)
            case list():
                for branch in schema:
                    self._size(branch, depth + 1)
                return 1
            case {"type": "record", "fields": list() as fields}:
                before = self._fields
                self._count(len(fields))
                total = 0
                for field in fields:
                    if not isinstance(field, dict) or not isinstance(field.get("name"), str) or "type" not in field:
                        raise self._wrong("a field has no name or no type")
                    total += self._size(field["type"], depth + 1)
                return self._remember(schema, total, self._fields - before)
            case {"type": "array", "items": items}:
                self._sized_item(items, depth)
                return 1
            case {"type": "map", "values": values}:
                self._size(values, depth + 1)  # the key takes a byte at least
                return 1
            case {"type": "enum"}:
                return self._remember(schema, 1)
            case {"type": "fixed", "size": int() as size} if 0 <= size <= 1 << 20:
                return self._remember(schema, size)
            case {"type": (str() | dict() | list()) as inner} if inner not in ("record", "array", "map", "fixed"):
                return self._size(inner, depth + 1)
            case _:
                raise self._wrong(f"{str(schema)[:80]} is no type")

    def _sized_item(self, items: Any, depth: int) -> None:
        if self._size(items, depth + 1) == 0:
            raise self._wrong("it has an array whose items take no bytes")

    def _count(self, fields: int) -> None:
        self._fields += fields
        if self._fields > MAX_FIELDS:
            raise self._wrong(f"it has more than {MAX_FIELDS} fields")

    def _remember(self, schema: dict[str, Any], size: int, fields: int = 0) -> int:
        name = schema.get("name")
        if not isinstance(name, str):
            raise self._wrong("a named type has no name")
        short = name.rpartition(".")[2]
        if short in self._known:
            # Readers differ in the meaning of a name that is defined twice.
            raise self._wrong(f"it defines two types called {short[:80]!r}")
        self._known[name] = self._known[short] = size, fields
        if isinstance(schema.get("namespace"), str):
            self._known[f"{schema['namespace']}.{name}"] = size, fields
        return size

    def _named(self, name: str) -> int:
        if name == "null":
            return 0
        if name in _SIZED_PRIMITIVES:
            return 1
        known = self._known.get(name, self._known.get(name.rpartition(".")[2]))
        if known is None:
            raise self._wrong(f"it names the type {name[:80]!r}, which is unknown or refers to itself")
        size, fields = known
        self._count(fields)
        return size
