"""Decodes Thrift's compact protocol without a schema: structs become dicts from field number to value.

Parquet footers use it. PyArrow reads them too, but crashes on some damaged ones.
"""

import struct
from typing import Any

MAX_DEPTH = 32
"""Structs and lists inside of each other; Parquet footers need eight."""

Struct = dict[int, Any]

_MAX_VARINT_BYTES = 10
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT, _UUID = 1, 2, 3, 7, 8, 9, 10, 11, 12, 13
_INTEGERS = (4, 5, 6)


class BadThrift(ValueError):
    """The bytes are not a complete struct."""


def decode_struct(data: bytes) -> Struct:
    """The struct at the start of `data`. Raises `BadThrift`."""
    return _Decoder(data).struct(0)


class _Decoder:
    """Nearly all values are small numbers in structs, so their code paths are short."""

    __slots__ = ("_data", "_end", "_position")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._end = len(data)
        self._position = 0

    def struct(self, depth: int) -> Struct:
        if depth > MAX_DEPTH:
            raise BadThrift(f"nested deeper than {MAX_DEPTH} levels")
        fields: Struct = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._signed()
            kind = header & 0x0F
            if kind in _INTEGERS:
                fields[number] = self._signed()
            elif kind in (_TRUE, _FALSE):
                # In a struct, the type of a boolean is its value.
                fields[number] = kind == _TRUE
            else:
                fields[number] = self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._signed()
        if kind == _BINARY:
            return self._take(self._varint())
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind in (_TRUE, _FALSE):
            return self._byte() == _TRUE
        if kind == _BYTE:
            return int.from_bytes(self._take(1), "little", signed=True)
        if kind == _DOUBLE:
            return struct.unpack("<d", self._take(8))[0]
        if kind == _MAP:
            return self._map(depth + 1)
        if kind == _UUID:
            return self._take(16)
        raise BadThrift(f"unknown type {kind} at byte {self._position}")

    def _list(self, depth: int) -> list[Any]:
        if depth > MAX_DEPTH:
            raise BadThrift(f"nested deeper than {MAX_DEPTH} levels")
        header = self._byte()
        size = header >> 4
        size = self._varint() if size == 15 else size
        self._check_room(size)
        kind = header & 0x0F
        if kind == _STRUCT:
            return [self.struct(depth + 1) for _ in range(size)]
        return [self._value(kind, depth) for _ in range(size)]

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        if depth > MAX_DEPTH:
            raise BadThrift(f"nested deeper than {MAX_DEPTH} levels")
        size = self._varint()
        if size == 0:
            return []
        self._check_room(size)
        kinds = self._byte()
        return [(self._value(kinds >> 4, depth), self._value(kinds & 0x0F, depth)) for _ in range(size)]

    def _check_room(self, size: int) -> None:
        # Every element has at least one byte, so a list can't claim more elements than there are bytes.
        if size > self._end - self._position:
            raise BadThrift(f"{size} elements at byte {self._position} of {len(self._data)}")

    def _byte(self) -> int:
        position = self._position
        if position >= self._end:
            raise BadThrift(f"it ends within a value after {len(self._data)} bytes")
        self._position = position + 1
        return self._data[position]

    def _take(self, length: int) -> bytes:
        end = self._position + length
        if end > self._end:
            raise BadThrift(f"{length} bytes at byte {self._position} of {len(self._data)}")
        taken = self._data[self._position : end]
        self._position = end
        return taken

    def _varint(self) -> int:
        value = 0
        for place in range(_MAX_VARINT_BYTES):
            byte = self._byte()
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise BadThrift(f"a number of more than {_MAX_VARINT_BYTES} bytes before byte {self._position}")

    def _signed(self) -> int:
        position = self._position
        if position < self._end and (value := self._data[position]) < 0x80:
            self._position = position + 1
        else:
            value = self._varint()
        return (value >> 1) ^ -(value & 1)
