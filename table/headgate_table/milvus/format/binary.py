"""Avro's binary primitives; every length is checked against the remaining bytes and against `limits` before it is used.

`raw` and `container` know the meaning of the values.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

from headgate_table.avro.container import varint
from headgate_table.errors import CorruptTable
from headgate_table.milvus.format.limits import MAX_ITEMS, MAX_TEXT_BYTES

_Item = TypeVar("_Item")

long_bytes = lru_cache(maxsize=1 << 14)(varint)
"""The bytes of a long. Lengths and row numbers repeat; 16,384 of them are remembered."""


class Cursor:
    """A place in the bytes of one manifest, and the number of items that it may still yield. `name` is the file's name
    in errors.

    Reading past the end raises `IndexError`; the decoder of the whole file turns it into an error with the file's name.
    """

    __slots__ = ("_left", "data", "name", "position")

    def __init__(self, data: bytes, name: str, position: int = 0) -> None:
        self.data = data
        self.name = name
        self.position = position
        self._left = MAX_ITEMS

    def wrong(self, why: str) -> CorruptTable:
        return CorruptTable(f"{self.name}: {why} (near byte {self.position}); the file is damaged")

    def long(self) -> int:
        data, position = self.data, self.position
        byte = data[position]
        position += 1
        if byte < 0x80:
            self.position = position
            return (byte >> 1) ^ -(byte & 1)
        result, shift = byte & 0x7F, 7
        while True:
            byte = data[position]
            position += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise self.wrong("a number takes more than 10 bytes")
        if result >= 1 << 64:
            raise self.wrong("a number takes more than 64 bits")
        self.position = position
        return (result >> 1) ^ -(result & 1)

    def int32(self) -> int:
        value = self.long()
        if not -(2**31) <= value < 2**31:
            raise self.wrong(f"{value} stands where a number of 32 bits belongs")
        return value

    def blob(self) -> bytes:
        length = self.long()
        start = self.position
        end = start + length
        if length < 0:
            raise self.wrong(f"a text or value claims a length of {length}")
        if end > len(self.data):
            raise IndexError("a length beyond the end")
        self.position = end
        return self.data[start:end]

    def text(self) -> str:
        found = self.blob()
        if len(found) > MAX_TEXT_BYTES:
            raise self.wrong(f"a text takes {len(found)} bytes; more than {MAX_TEXT_BYTES} are refused")
        try:
            return found.decode("utf-8")
        except UnicodeDecodeError:
            raise self.wrong("a text is not valid UTF-8") from None

    def count(self) -> int:
        """The number of items in the next block of an array or map; 0 at its end. They count as read."""
        count = self.long()
        if count < 0:
            count = -count
            self.long()  # the block's size in bytes, for readers that skip it
        self.charge(count)
        return count

    def charge(self, items: int) -> None:
        """Count items as read; more than a manifest may hold are refused before they are read."""
        self._left -= items
        if self._left < 0:
            raise self.wrong(f"it holds more than {MAX_ITEMS} records and texts, and more are refused")

    def skip(self, length: int) -> bytes:
        """The next `length` bytes, unchanged."""
        start = self.position
        if start + length > len(self.data):
            raise IndexError("a length beyond the end")
        self.position = start + length
        return self.data[start : self.position]

    def array(self, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        items: list[_Item] = []
        while count := self.count():
            for _ in range(count):
                items.append(item())
        return tuple(items)

    def mapping(self, value: Callable[[], _Item]) -> dict[str, _Item]:
        found: dict[str, _Item] = {}
        while count := self.count():
            for _ in range(count):
                key = self.text()
                if key in found:
                    raise self.wrong(f"the key {key[:100]!r} occurs twice")
                found[key] = value()
        return found


def text_bytes(text: str) -> bytes:
    data = text.encode("utf-8")
    return long_bytes(len(data)) + data


def array_bytes(items: Iterable[bytes], count: int) -> bytes:
    """One block and the end, as every known writer writes it; the end alone if there are no items."""
    return b"".join((long_bytes(count), *items, b"\x00")) if count else b"\x00"


def texts_bytes(texts: tuple[str, ...]) -> bytes:
    return array_bytes(map(text_bytes, texts), len(texts))


def mapping_bytes(values: Mapping[str, _Item], encode: Callable[[_Item], bytes]) -> bytes:
    """Keys in byte order, which is also the order of Python's `str`."""
    return array_bytes((text_bytes(key) + encode(values[key]) for key in sorted(values)), len(values))
