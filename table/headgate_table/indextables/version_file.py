"""Version files and other files of action lines: compressed or plain text, read tolerantly, written strictly.

How one line looks is `action_json`'s subject (docs/format.md, sections 1.1 and 3).
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator

from headgate_schemas.action_json import format_action, parse_action
from headgate_schemas.actions import Action
from headgate_schemas.errors import MalformedAction
from headgate_table.errors import CorruptTable

MAX_VERSION_FILE_BYTES = 512 << 20
"""Of one file as it lies on the store: a text without compression."""

MAX_TEXT_BYTES = 512 << 20
"""Decompressed size of one file; the same limit as other readers have."""

MAX_LINES = MAX_TEXT_BYTES // 100
"""Of one file. An add or remove of a known writer takes more than these 100 bytes; a line may take a single one, and what
becomes of it a hundred in memory, so that bytes alone don't bound it."""

MAX_GZIP_MEMBERS = 100_000
"""Known writers make one; programs that compress by blocks make one per block."""

_STEP_BYTES = 16 << 10
_GZIP = b"\x1f\x8b"
_PREFIX = b"\x01\x01"
"""Magic and codec bytes of the form that every known reader takes."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def decode_actions(data: bytes, name: str) -> list[Action]:
    """All actions of a file, in order. Damage raises `CorruptTable` with the file's name and the line."""
    return list(iterate_actions(unpack(data, name), name))


def iterate_actions(text: bytes, name: str) -> Iterator[Action]:
    if text.count(b"\n") > MAX_LINES:
        raise CorruptTable(f"{name} has more than {MAX_LINES} lines; refused as damaged or hostile")
    for number, line in enumerate(io.BytesIO(text), start=1):
        stripped = line.strip()
        if not stripped:
            continue
        try:
            yield parse_action(stripped)
        except MalformedAction as error:
            raise CorruptTable(
                f"{name}, line {number}: {error}. The file can't be trusted; `headgate table verify` shows what is affected"
            ) from error


def encode_actions(actions: Iterable[Action], *, compressed: bool = True) -> bytes:
    """The bytes of a version file: one line per action, in the compression that every known reader takes."""
    text = "".join(format_action(action) + "\n" for action in actions).encode("utf-8")
    return pack(text) if compressed else text


def pack(text: bytes) -> bytes:
    return _PREFIX + gzip.compress(text, compresslevel=6, mtime=0)


def unpack(data: bytes, name: str) -> bytes:
    """The text of a file in any form that a known writer produced."""
    if data[:2] == _GZIP:
        return _gunzip(data, name)
    if data[:1] == b"\x01":
        if data[2:4] == _GZIP:
            return _gunzip(data[2:], name)
        raise CorruptTable(f"{name}: the compression header {data[:4].hex(' ')} is not followed by gzip data")
    if len(data) > MAX_TEXT_BYTES:
        raise CorruptTable(f"{name} takes {len(data)} bytes; more than {MAX_TEXT_BYTES} are refused")
    text = data.removeprefix(_BYTE_ORDER_MARK)
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptTable(f"{name} is neither gzip nor UTF-8 text ({error.reason} at byte {error.start})") from error
    return text


def _gunzip(data: bytes, name: str) -> bytes:
    """All members of a gzip stream. What follows the last one is ignored, as other readers do."""
    pieces = []
    total = 0
    view = memoryview(data)
    position = 0
    members = 0
    while data[position : position + 2] == _GZIP:
        members += 1
        if members > MAX_GZIP_MEMBERS:
            raise CorruptTable(f"{name} has more than {MAX_GZIP_MEMBERS} gzip members; refused as damaged or hostile")
        member = zlib.decompressobj(wbits=31)
        waiting: bytes | memoryview = b""
        while not member.eof:
            # Fed in small steps: zlib copies what it leaves over, so whole files would be copied again and again.
            if not waiting:
                waiting = view[position : position + _STEP_BYTES]
                position += len(waiting)
            is_last = not waiting
            try:
                piece = member.decompress(waiting, 1 << 20)
            except zlib.error as error:
                raise CorruptTable(f"{name}: the gzip data is damaged: {error}") from error
            if is_last and not piece and not member.eof:
                raise CorruptTable(f"{name} is truncated: its gzip data ends too early")
            waiting = member.unconsumed_tail
            pieces.append(piece)
            total += len(piece)
            if total > MAX_TEXT_BYTES:
                raise CorruptTable(
                    f"{name} decompresses to more than {MAX_TEXT_BYTES} bytes; refused as damaged or hostile"
                )
        position -= len(member.unused_data)
    return b"".join(pieces).removeprefix(_BYTE_ORDER_MARK)
