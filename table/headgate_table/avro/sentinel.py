"""A record without meaning that is appended to the records for DataFusion: if it comes back, every byte was read.

DataFusion loops for ever over bytes after a block's records, and doesn't report unread bytes.
"""

from typing import Any

TOKEN = "headgate: the end"
_MAX_BYTES = 64 << 10

_LEAST = {
    "null": b"",
    "boolean": b"\x00",
    "int": b"\x00",
    "long": b"\x00",
    "float": bytes(4),
    "double": bytes(8),
    "bytes": b"\x00",
    "string": b"\x00",
}


def sentinel_record(schema: dict[str, Any], name: str) -> bytes | None:
    """A record of this schema whose text field `name` is `TOKEN`; all other fields are as short as possible.

    The schema has been checked. None if there is no such field, or if the record would be large.
    """
    known: dict[str, bytes] = {}
    pieces = []
    found = False
    for field in schema["fields"]:
        if field["name"] == name and field["type"] in ("string", {"type": "string"}):
            found = True
            text = TOKEN.encode("ascii")
            pieces.append(bytes([2 * len(text)]) + text)
        else:
            pieces.append(_least(field["type"], known))
        if sum(map(len, pieces)) > _MAX_BYTES:
            return None
    return b"".join(pieces) if found else None


def _least(schema: Any, known: dict[str, bytes]) -> bytes:
    """The bytes of a shortest value."""
    match schema:
        case str():
            return _LEAST[schema] if schema in _LEAST else known[schema.rpartition(".")[2]]
        case list():
            branches = [_least(branch, known) for branch in schema]  # all of them: a later field may name their types
            return b"\x00" + branches[0]
        case {"type": "record", "fields": fields}:
            value = b"".join(_least(field["type"], known) for field in fields)[: _MAX_BYTES + 1]
        case {"type": "array", "items": items}:
            _least(items, known)
            return b"\x00"
        case {"type": "map", "values": values}:
            _least(values, known)
            return b"\x00"
        case {"type": "enum"}:
            value = b"\x00"
        case {"type": "fixed", "size": size}:
            value = bytes(min(size, _MAX_BYTES + 1))
        case {"type": inner}:
            return _least(inner, known)
        case _:
            raise AssertionError("the schema was checked before")
    known[schema["name"].rpartition(".")[2]] = value
    return value
