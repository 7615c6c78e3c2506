"""What nobody could notice, exactly: damage to objects that carry no checksum, and to the end of a log.

Everything here is told by the bytes alone, with the standard library and fastavro, never with our own readers.
"""

import io
import json
import re
from typing import Any

import fastavro

from support.damage.damages import Damage, is_text, plain_text
from support.damage.objects import LOG, Objects

_VERSION = re.compile(r"_transaction_log/([0-9]{20})\.json")
_SEAL = b"headgate.sha256"
_FREE = {
    "partitionValues",
    "tags",
    "minValues",
    "maxValues",
    "configuration",
    "options",
    "commitInfo",
    "operationParameters",
}
"""Whose keys a writer is free to choose."""


def excuse(objects: Objects, damage: Damage, after: Objects) -> str | None:
    """Why a wrong answer is nobody's fault; None when there is no such reason."""
    key, data = damage.key, objects.data(damage.key)
    if damage.way == "remove":
        return _lost_tip(objects, key)
    if damage.way == "stranger":
        return _strange_tip(objects, key, after.data(key))
    if damage.way == "place":
        return _of_another_kind(objects, damage)
    if is_sealed(data) or (
        damage.way in ("swap", "copy") and damage.other in objects.held and is_sealed(objects.data(damage.other))
    ):
        return None
    if damage.way in ("swap", "copy"):
        both = [data, objects.data(damage.other)] if damage.way == "swap" else [data]
        return None if any(map(_names_itself, both)) else _misplaced(key)
    now = after.data(key)
    if key.endswith(".json"):
        return _changed_text(data, now)
    if key.endswith(".avro"):
        return _changed_avro(data, now)
    return None


def is_sealed(data: bytes) -> bool:
    """Whether the object carries a checksum over all of its contents, as this Headgate writes it."""
    text = plain_text(data)
    return _SEAL in data or (text is not None and (text.startswith(b'{"seal":') or b'"headgate.seal"' in text))


def _lost_tip(objects: Objects, key: str) -> str | None:
    """The newest version, without a trace elsewhere, is as if it had never been committed."""
    found = _VERSION.fullmatch(key)
    if found is None:
        return None
    number = found[1]
    later = [
        other
        for other in objects.log_keys()
        if other != key and (there := re.search(r"[0-9]{20}", other)) and there[0] >= number
    ]
    pointer = objects.held.get(f"{LOG}_last_checkpoint")
    named = -1 if pointer is None else json.loads(pointer.data)["version"]
    return "the newest version is gone without a trace" if not later and named < int(number) else None


def _strange_tip(objects: Objects, key: str, now: bytes) -> str | None:
    """A version of another writer without any change is sound, unless a later one of ours was written after another."""
    found = _VERSION.fullmatch(key)
    if found is None or b":{" not in now or b"{}" in now:
        return None
    following = objects.held.get(f"{LOG}{int(found[1]) + 1:020d}.json")
    is_named = following is not None and b'"previous"' in (plain_text(following.data) or b"")
    return None if is_named else "a sound version of another writer, which none of ours was written after"


def _of_another_kind(objects: Objects, damage: Damage) -> str | None:
    """Lines of other writers say neither whose they are nor of which kind; but a checkpoint holds the metadata."""
    text = plain_text(objects.data(damage.key))
    if text is None or is_sealed(objects.data(damage.key)) or not damage.other.endswith(".json"):
        return None
    if not any(name in text for name in (b'"add":{', b'"remove":{', b'"metaData":{', b'"protocol":{')):
        return None
    if ".checkpoint." in damage.other and damage.other.count(".") == 2 and b'"metaData":{' not in text:
        return None
    return None if _names_itself(objects.data(damage.key)) else "nothing in it says which one it is"


def _misplaced(key: str) -> str | None:
    name = key.rpartition("/")[2]
    if key.endswith(".json") or name.startswith("manifest-"):
        return "nothing in it says which one it is"
    return None


def _names_itself(data: bytes) -> bool:
    """Whether gzip's header holds the name of the file, as this Headgate's JSON checkpoints do."""
    header = data[2:6] if data[:2] == b"\x01\x01" else data[:4]
    return header[:2] == b"\x1f\x8b" and bool(header[3] & 8)


def _changed_text(before: bytes, after: bytes) -> str | None:
    if not is_text(before):
        return None  # gzip has a checksum
    if _skeleton(before) == _skeleton(after):
        return "a value of plain text without a checksum"
    lines, left = before.splitlines(), after.splitlines()
    rest = iter(lines)
    if left and all(line in rest for line in left):
        return "whole lines of plain text without a checksum"
    if after == before + before:
        return "whole lines of plain text without a checksum"
    return None


def _skeleton(text: bytes) -> Any:
    """Keys, nesting and types of all lines; None for what is no JSON."""
    try:
        return [_shape(json.loads(line)) for line in text.splitlines() if line.strip()]
    except ValueError:
        return None


def _shape(value: Any, *, is_free: bool = False) -> Any:
    """`is_free`: its keys are values, as names of columns and of settings are."""
    match value:
        case dict():
            return {"" if is_free else key: _shape(item, is_free=key in _FREE) for key, item in value.items()}
        case list():
            return [_shape(item) for item in value]
        case str() if value.startswith(("{", "[")):
            return "text"
        case _:
            return type(value).__name__


def _changed_avro(before: bytes, after: bytes) -> str | None:
    """Within the blocks, whose codec has no checksum of its own; and never fewer of them."""
    start = _end_of_header(before)
    if after[:start] != before[:start] or len(after) != len(before):
        return None
    return "a value of an Avro block without a checksum"


def _end_of_header(data: bytes) -> int:
    source = io.BytesIO(data)
    reader = fastavro.block_reader(source)
    for block in reader:
        return int(block.offset) + _head_of_block(data, int(block.offset))
    return len(data)


def _head_of_block(data: bytes, offset: int) -> int:
    """The count and the length in front of a block's bytes are no values."""
    length = 0
    for _ in range(2):
        while data[offset + length] & 0x80:
            length += 1
        length += 1
    return length
