"""The checksum of a whole Avro file in its own header. Avro has none, so a changed field name would go unnoticed.

Two header keys, which all known readers ignore (docs/format.md, section 13): the SHA-256 of the file, computed with
zeros in its place, and the file's name in the log. Files of other writers, and of earlier releases, have neither.
"""

import hashlib
from collections.abc import Mapping

from headgate_schemas.columns.near_names import damaged_name
from headgate_table.errors import CorruptTable

DIGEST_KEY = "headgate.sha256"
NAME_KEY = "headgate.name"

_ZEROS = b"0" * 64
_LENGTH = b"\x80\x01"
"""64, as the header writes it."""
_MARK = DIGEST_KEY.encode("ascii") + _LENGTH
_KNOWN = frozenset(("avro.schema", "avro.codec", DIGEST_KEY, NAME_KEY))
_ADVICE = "Restore it from a copy of the table; `headgate table verify` shows what else is damaged"


def seal_keys(name: str) -> dict[str, bytes]:
    """The header keys of a file of this name, before `sealed` puts in its digest."""
    return {NAME_KEY: name.encode("utf-8"), DIGEST_KEY: _ZEROS}


def sealed(data: bytes) -> bytes:
    """The whole file with its digest. Its header was made with `seal_keys`."""
    start = data.index(_MARK) + len(_MARK)
    return b"".join((data[:start], _digest(data, start), data[start + len(_ZEROS) :]))


def has_seal(data: bytes) -> bool:
    """Whether this Headgate wrote the file, by a file that was read and found whole."""
    return _MARK in data


def check_seal(header: Mapping[str, bytes], data: bytes, name: str) -> None:
    """Raises `CorruptTable` if the file was changed. A file without a seal must only have no damaged keys."""
    changed = damaged_name(header.keys(), _KNOWN)
    if changed is not None:
        raise CorruptTable(
            f"{name} is damaged: its header has the key {changed[0]!r} where {changed[1]!r} belongs. {_ADVICE}"
        )
    if DIGEST_KEY not in header:
        if NAME_KEY in header:
            raise CorruptTable(f"{name} is damaged: its header has lost the checksum. {_ADVICE}")
        return
    start = data.find(_MARK) + len(_MARK)
    if header[DIGEST_KEY] != _digest(data, start):
        raise CorruptTable(f"{name} is damaged: its checksum is wrong. {_ADVICE}")


def check_place(header: Mapping[str, bytes], name: str) -> None:
    """Raises `CorruptTable` if the file was written under another name."""
    own = header.get(NAME_KEY, b"").decode("utf-8", "replace")
    if own and not name.endswith(f"/{own}"):
        raise CorruptTable(f"{name} holds what was written as {own}: files were mixed up. {_ADVICE}")


def _digest(data: bytes, start: int) -> bytes:
    view = memoryview(data)
    digest = hashlib.sha256(view[:start])
    digest.update(_ZEROS)
    digest.update(view[start + len(_ZEROS) :])
    return digest.hexdigest().encode("ascii")
