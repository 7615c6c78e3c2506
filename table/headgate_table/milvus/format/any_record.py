"""Decodes one Avro record by the schema in its file, with the bounds of `binary`.

For containers with other fields than those of known releases. `avro.records` has checked the schema: it is a record,
names resolve, nothing recurs.
"""

import struct
from collections.abc import Callable
from typing import Any

from headgate_table.milvus.format.binary import Cursor

_Read = Callable[[Cursor], Any]


def read_by_schema(schema: dict[str, Any], cursor: Cursor) -> dict[str, Any]:
    """Records become dicts, maps too; enums their number, unions the value alone."""
    return _Readers().reader(schema)(cursor)  # type: ignore[no-any-return]  # a record's reader makes a dict


class _Readers:
    def __init__(self) -> None:
        self._named: dict[str, _Read] = {}

    def reader(self, schema: Any) -> _Read:
        match schema:
            case str():
                return _PRIMITIVES.get(schema) or self._named[schema.rpartition(".")[2]]
            case list():
                return _union([self.reader(branch) for branch in schema])
            case {"type": "record", "fields": fields}:
                return self._remember(
                    schema, _record([(field["name"], self.reader(field["type"])) for field in fields])
                )
            case {"type": "array", "items": items}:
                item = self.reader(items)
                return lambda cursor: cursor.array(lambda: item(cursor))
            case {"type": "map", "values": values}:
                value = self.reader(values)
                return lambda cursor: cursor.mapping(lambda: value(cursor))
            case {"type": "enum"}:
                return self._remember(schema, Cursor.int32)
            case {"type": "fixed", "size": size}:
                return self._remember(schema, lambda cursor: cursor.skip(size))
            case {"type": inner}:
                return self.reader(inner)
            case _:
                raise AssertionError("the schema was checked before")

    def _remember(self, schema: dict[str, Any], read: _Read) -> _Read:
        self._named[schema["name"].rpartition(".")[2]] = read
        return read


def _record(fields: list[tuple[str, _Read]]) -> _Read:
    def read(cursor: Cursor) -> dict[str, Any]:
        cursor.charge(len(fields))  # fields may take no bytes at all
        return {name: field(cursor) for name, field in fields}

    return read


def _union(branches: list[_Read]) -> _Read:
    def read(cursor: Cursor) -> Any:
        index = cursor.long()
        if not 0 <= index < len(branches):
            raise cursor.wrong(f"a union has no branch {index}")
        return branches[index](cursor)

    return read


def _boolean(cursor: Cursor) -> bool:
    (value,) = cursor.skip(1)
    if value > 1:
        raise cursor.wrong(f"{value} stands where true or false belongs")
    return bool(value)


_PRIMITIVES: dict[str, _Read] = {
    "null": lambda cursor: None,
    "boolean": _boolean,
    "int": Cursor.int32,
    "long": Cursor.long,
    "float": lambda cursor: struct.unpack("<f", cursor.skip(4))[0],
    "double": lambda cursor: struct.unpack("<d", cursor.skip(8))[0],
    "bytes": Cursor.blob,
    "string": Cursor.text,
}
