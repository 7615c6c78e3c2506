"""Every way to damage one object of a table, as values that can be told in a word and made again from it."""

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from support.damage.objects import Objects

WAYS = (
    "flip",
    "cut",
    "empty",
    "double",
    "swap",
    "copy",
    "place",
    "remove",
    "blank",
    "lines",
    "name",
    "tail",
    "stranger",
)
_NAMES = re.compile(rb'(?<=[{,\n])"(?P<name>[A-Za-z]{3,40})":|(?<="name":)"(?P<field>[A-Za-z]{3,40})"')
"""Of JSON, as plain text has it, and of the fields in the schema of an Avro file."""
_TAILS = (b"\x00", b"\x00" * 512, b"rubbish", bytes(range(255, 0, -1)))
"""What a broken disk or a careless program leaves behind the end."""
_STRANGERS = (
    b'{"hello":1}\n',
    b'{"version":1}\n',
    b'{"commitInfo":{}}\n',
    b'{"commitInfo":{"operation":"WRITE"}}\n',
    b'{"txn":{"appId":"x","version":1}}\n',
    b"[]\n",
    b"{}",
)
"""Of other programs, which hold nothing that another writer's table could hold."""
_SMALL = 4096
"""Objects up to this size are cut at every byte."""


@dataclass(frozen=True, slots=True, order=True)
class Damage:
    """`place` is a bit, a length, or a line; `other` the object that is swapped with, or that gets the bytes of this one: of the
    same kind (copy), or of another (place)."""

    way: str
    key: str
    place: int = 0
    other: str = ""

    def __str__(self) -> str:
        return ":".join([self.way, self.key, str(self.place), self.other])


def parse_damage(text: str) -> Damage:
    way, key, place, other = text.split(":")
    return Damage(way, key, int(place), other)


def changes(objects: Objects, damage: Damage) -> Mapping[str, bytes | None]:
    """What the damage puts in place of which objects."""
    key, data = damage.key, objects.data(damage.key)
    match damage.way:
        case "flip" | "name":
            flipped = bytearray(data)
            flipped[damage.place >> 3] ^= 1 << (damage.place & 7)
            return {key: bytes(flipped)}
        case "cut":
            return {key: data[: damage.place]}
        case "empty":
            return {key: b""}
        case "blank":
            return {key: b"\n"}
        case "tail":
            return {key: data + _TAILS[damage.place]}
        case "double":
            return {key: data + data}
        case "swap":
            return {key: objects.data(damage.other), damage.other: data}
        case "copy" | "place":
            return {damage.other: data}
        case "stranger":
            return {key: _STRANGERS[damage.place]}
        case "remove":
            return {key: None}
        case "lines":
            lines = data.splitlines(keepends=True)
            return {key: b"".join([*lines[: damage.place], *lines[damage.place + 1 :]])}
        case _:
            raise ValueError(f"{damage.way!r} is no way to damage an object; known are {', '.join(WAYS)}")


def damages(objects: Objects) -> Iterator[Damage]:
    """All of them, object by object."""
    keys = sorted(objects.log_keys())
    for key in keys:
        data = objects.data(key)
        yield Damage("empty", key)
        yield Damage("blank", key)
        yield Damage("double", key)
        yield Damage("remove", key)
        for tail in range(len(_TAILS)):
            yield Damage("tail", key, tail)
        for stranger in range(len(_STRANGERS) if key.endswith(".json") else 0):
            yield Damage("stranger", key, stranger)
        for other in keys:
            is_alike = _kind(other) == _kind(key)
            if other > key and is_alike:
                yield Damage("swap", key, 0, other)
            if other != key:
                yield Damage("copy" if is_alike else "place", key, 0, other)
        for later in _next_names(key, keys):
            yield Damage("copy", key, 0, later)
        for length in _cuts(data):
            yield Damage("cut", key, length)
        if is_text(data):
            for line in range(len(data.splitlines())):
                yield Damage("lines", key, line)
        for name in _NAMES.finditer(data):
            start, end = name.span(name.lastgroup or 0)
            for bit in range(8 * start, 8 * end):
                yield Damage("name", key, bit)  # a flip like any other, but of those that count most
        for bit in range(8 * len(data)):
            yield Damage("flip", key, bit)


def name_at(objects: Objects, damage: Damage) -> str:
    """The name that a damage of a name is about; empty for any other damage."""
    if damage.way != "name":
        return ""
    data, place = objects.data(damage.key), damage.place >> 3
    start, end = data.rindex(b'"', 0, place) + 1, data.index(b'"', place)
    return data[start:end].decode()


def is_text(data: bytes) -> bool:
    return data[:1] == b"{"


def plain_text(data: bytes) -> bytes | None:
    """The text of a version file or JSON checkpoint, compressed or not; None for other bytes."""
    if is_text(data):
        return data
    try:
        return gzip.decompress(data[2:] if data[:2] == b"\x01\x01" else data)
    except (OSError, EOFError, ValueError):
        return None


def _cuts(data: bytes) -> Iterator[int]:
    if len(data) <= _SMALL:
        yield from range(1, len(data))
        return
    yield from range(1, len(data), 7)
    for place in range(1, len(data)):
        if data[place - 1 : place] == b"\n":
            yield place


def _kind(key: str) -> str:
    """Objects of one kind have names that differ in digits alone."""
    folder, _, name = key.rpartition("/")
    if name.startswith("manifest-") and "_metadata" not in folder:
        return "manifest"
    return "".join("0" if letter in "0123456789abcdef" else letter for letter in key)


def _next_names(key: str, keys: list[str]) -> Iterator[str]:
    """Where a misplaced copy would be taken for the next version."""
    name = key.rpartition("/")[2]
    digits = next((part for part in key.replace("/", ".").replace("-v", ".").split(".") if len(part) == 20), "")
    if not digits or ("checkpoint." in name and name.count(".") > 2):
        return
    highest = max(
        int(part)
        for each in keys
        for part in each.replace("/", ".").replace("-v", ".").split(".")
        if len(part) == 20 and part.isdigit()
    )
    yield key.replace(digits, f"{highest + 1:020d}")
