"""Version files and other files of action lines: compressed or plain text, read tolerantly, written strictly.

`actions.action_json` has the form of a line (docs/format.md, sections 1.1 and 3), `version_seal` the seal of a file.
"""

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headgate_schemas.actions.action_json import format_action, parse_action
from headgate_schemas.actions.actions import Action, CommitInfo, UnknownAction
from headgate_schemas.errors import MalformedAction
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import is_log_name
from headgate_table.indextables.format.version_seal import SEALED, sealed, unsealed

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
_GZIP_HEAD = 10
_GZIP_FLAGS = 3
_FNAME, _FEXTRA = 8, 4
"""Flags of a gzip header: the name of the file follows it, other things come before that."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def decode_actions(data: bytes, name: str) -> list[Action]:
    """All actions of a file, in order. Damage raises `CorruptTable` with the file's name and the line.

    A file without a single action, known or unknown, is damaged, because no known writer makes one. A file of Headgate
    without actions still has its seal.
    """
    packed = _unpacked(data, name)
    text, has_seal = unsealed(packed.text, name)
    actions = list(iterate_actions(text, name))
    if has_seal or any(isinstance(action, CommitInfo) for action in actions):
        _check_end(packed, name)
    if not has_seal and not any(map(_says_something, actions)):
        what = (
            "holds no action of a table's log: another file was put in its place"
            if actions
            else "is empty: it was cut off, or its writer was interrupted"
        )
        raise CorruptTable(
            f"{name} {what}. Restore it from a copy of the table; `headgate table verify` shows what is affected"
        )
    if not has_seal and any(isinstance(action, CommitInfo) and action.body.get(SEALED) is True for action in actions):
        raise CorruptTable(
            f"{name} has lost its first line, which seals it. Restore it from a copy of the table; `headgate table verify` "
            f"shows what is affected"
        )
    return actions


def _says_something(action: Action) -> bool:
    """Whether the line has the form of an action. What kind it is, a newer writer may know."""
    match action:
        case UnknownAction():
            return bool(action.key)
        case CommitInfo():
            return bool(action.body)
        case _:
            return True


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


def encode_version(version: int, actions: Iterable[Action], *, compressed: bool = True) -> bytes:
    """The bytes of a version file: its seal and one line per action, in the compression that every known reader
    accepts.
    """
    text = sealed(version, format_lines(actions))
    return pack(text) if compressed else text


def encode_actions(actions: Iterable[Action], *, compressed: bool = True, name: str = "") -> bytes:
    """The bytes without a seal, for JSON checkpoints: their oldest reader fails on an unknown line."""
    text = format_lines(actions)
    return pack(text, name) if compressed else text


def format_lines(actions: Iterable[Action]) -> bytes:
    return "".join(format_action(action) + "\n" for action in actions).encode("utf-8")


def pack(text: bytes, name: str = "") -> bytes:
    """Compressed. With a name, the gzip header contains it, so that a misplaced file is noticed."""
    packed = gzip.compress(text, compresslevel=6, mtime=0)
    if name:
        head = bytearray(packed[:_GZIP_HEAD])
        head[_GZIP_FLAGS] |= _FNAME
        packed = bytes(head) + name.encode("ascii") + b"\x00" + packed[_GZIP_HEAD:]
    return _PREFIX + packed


@dataclass(frozen=True, slots=True)
class _Unpacked:
    text: bytes
    behind: int = 0
    """Bytes that follow the compressed text."""


def unpack(data: bytes, name: str) -> bytes:
    """The text of a file in any form of a known writer."""
    return _unpacked(data, name).text


def _check_end(packed: _Unpacked, name: str) -> None:
    """No bytes may follow the text in a file of Headgate. In files of other writers they are ignored, as by other
    readers.
    """
    if packed.behind:
        raise CorruptTable(
            f"{name} is damaged: {packed.behind} bytes follow its compressed text, which nobody wrote there. Restore it from a "
            f"copy of the table; `headgate table verify` shows what is affected"
        )


def _unpacked(data: bytes, name: str) -> _Unpacked:
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
    return _Unpacked(text)


def _gunzip(data: bytes, name: str) -> _Unpacked:
    """All members of a gzip stream."""
    has_own_name = _check_own_name(data, name)
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
            # In small steps: zlib copies its unread input, so whole files would be copied again and again.
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
    packed = _Unpacked(b"".join(pieces).removeprefix(_BYTE_ORDER_MARK), len(data) - position)
    if has_own_name:
        _check_end(packed, name)
    return packed


def _check_own_name(data: bytes, name: str) -> bool:
    """Check the name in the gzip header. If it is a name of a log, the file must have it, and is one of Headgate."""
    if len(data) <= _GZIP_HEAD or not data[_GZIP_FLAGS] & _FNAME or data[_GZIP_FLAGS] & _FEXTRA:
        return False
    told = data[_GZIP_HEAD : _GZIP_HEAD + 256].partition(b"\x00")[0].decode("latin-1")
    own = name.rpartition("/")[2]
    if is_log_name(own) and is_log_name(told) and told != own:
        raise CorruptTable(
            f"{name} holds what was written as {told}: files were mixed up. Restore it from a copy of the table; "
            f"`headgate table verify` shows what is affected"
        )
    return is_log_name(told) and told == own
