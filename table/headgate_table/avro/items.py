"""Counts the items of a record over its bytes, before objects are made of them.

An item of one byte in the file may take hundreds in memory: a record has all the fields of its schema.
"""

from collections.abc import Callable
from typing import Any

from headgate_table.avro.container import MAX_DECOMPRESSED_BYTES, read_varint
from headgate_table.errors import CorruptTable

MAX_ITEMS = MAX_DECOMPRESSED_BYTES // 32
"""Items of arrays and maps, and fields of records, counted together. Nearly all items of a large state are tombstones: paths,
which take more than these 32 bytes each."""

_Pass = Callable[[bytes, int], int]
"""From where a value begins to where it ends."""


def check_items(schema: dict[str, Any], data: bytes, name: str) -> None:
    """Refuse one record with more than `MAX_ITEMS` items, or with bytes left over. Its schema was checked before."""
    try:
        end = _Count(name).passing(schema)(data, 0)
    except IndexError:
        end = -1
    if end != len(data):
        raise CorruptTable(f"{name} is damaged: its record doesn't end where its bytes do")


class _Count:
    """Skips values by their schema, without a call for each text of a list."""

    def __init__(self, name: str) -> None:
        self._file = name
        self._left = MAX_ITEMS
        self._named: dict[str, _Pass] = {}

    def passing(self, schema: Any) -> _Pass:
        match schema:
            case str():
                return _PRIMITIVES.get(schema) or self._named[schema.rpartition(".")[2]]
            case list():
                return self._union([self.passing(branch) for branch in schema])
            case {"type": "record", "fields": fields}:
                return self._remember(schema, self._record([self.passing(field["type"]) for field in fields]))
            case {"type": "array", "items": "string" | "bytes" | {"type": "string" | "bytes"}}:
                return self._texts
            case {"type": "array", "items": items}:
                return self._items(self.passing(items))
            case {"type": "map", "values": values}:
                return self._items(_text, self.passing(values))
            case {"type": "enum"}:
                return self._remember(schema, _number)
            case {"type": "fixed", "size": size}:
                return self._remember(schema, lambda data, position: position + size)
            case {"type": inner}:
                return self.passing(inner)
            case _:
                raise AssertionError("the schema was checked before")

    def _remember(self, schema: dict[str, Any], passing: _Pass) -> _Pass:
        self._named[schema["name"].rpartition(".")[2]] = passing
        return passing

    def _charge(self, items: int) -> None:
        self._left -= items
        if self._left < 0:
            raise CorruptTable(
                f"{self._file} holds more than {MAX_ITEMS} items; refused, the file is damaged or hostile"
            )

    def _record(self, fields: list[_Pass]) -> _Pass:
        def passing(data: bytes, position: int) -> int:
            self._charge(len(fields))  # they may take no bytes at all
            for field in fields:
                position = field(data, position)
            return position

        return passing

    def _union(self, branches: list[_Pass]) -> _Pass:
        def passing(data: bytes, position: int) -> int:
            index, position = read_varint(data, position)
            if not 0 <= index < len(branches):
                raise CorruptTable(f"{self._file} is damaged: a union has no branch {index}")
            return branches[index](data, position)

        return passing

    def _items(self, *parts: _Pass) -> _Pass:
        def passing(data: bytes, position: int) -> int:
            while True:
                count, position = self._block(data, position)
                if not count:
                    return position
                for _ in range(count):
                    for part in parts:
                        position = part(data, position)

        return passing

    def _texts(self, data: bytes, position: int) -> int:
        while True:
            count, position = self._block(data, position)
            if not count:
                return position
            for _ in range(count):
                low = data[position]
                if low < 0x80 and not low & 1:
                    position += 1 + (low >> 1)
                elif (high := data[position + 1]) < 0x80 and not low & 1:
                    position += 2 + ((high << 7 | low & 0x7F) >> 1)
                else:
                    position = _text(data, position)

    def _block(self, data: bytes, position: int) -> tuple[int, int]:
        """The number of items in the next block of an array or map (0 at its end), and their start. They count as
        items.
        """
        count, position = read_varint(data, position)
        if count < 0:
            count = -count
            _, position = read_varint(data, position)  # the block's size in bytes
        self._charge(count)
        return count, position


def _number(data: bytes, position: int) -> int:
    return read_varint(data, position)[1]


def _text(data: bytes, position: int) -> int:
    length, position = read_varint(data, position)
    if length < 0:
        raise IndexError("a negative length")
    return position + length


_PRIMITIVES: dict[str, _Pass] = {
    "null": lambda data, position: position,
    "boolean": lambda data, position: position + 1,
    "int": _number,
    "long": _number,
    "float": lambda data, position: position + 4,
    "double": lambda data, position: position + 8,
    "bytes": _text,
    "string": _text,
}
