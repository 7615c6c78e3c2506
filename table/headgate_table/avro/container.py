"""The frame of an Avro object container file: header, blocks, codecs; every length is checked before it is used.

`decode` (in bulk) or `records` (one by one) reads the contents of the blocks.
"""

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import cramjam
import zstandard

from headgate_table.avro.seal import check_seal
from headgate_table.errors import CorruptTable

MAGIC = b"Obj\x01"
SYNC_BYTES = 16
MAX_SCHEMA_BYTES = 1 << 20
"""A schema of 25 fields takes 3 KiB; the bound stops a header from costing more than the file."""
MAX_HEADER_KEYS = 1000
MAX_DECOMPRESSED_BYTES = 512 << 20
"""Of one file, in all. The same limit as other readers of this format have (docs/format.md, section 1.1)."""

MAX_RECORDS = MAX_DECOMPRESSED_BYTES // 64
"""Of one file. An entry of a known writer takes more than these 64 bytes; a record may take a single one, and hundreds in memory,
so that bytes alone don't bound it."""

_MAX_FRAME_BLOCKS = 1_000_000
"""Of one zstandard frame. Known writers put 128 KiB into each."""

_STEP_BYTES = 1 << 20
_USUAL_BYTES = 1 << 17
"""Known writers end a block at half of that. It is unfolded in one call, which takes a third of the time of growing steps."""


@dataclass(frozen=True, slots=True)
class Block:
    count: int
    start: int
    size: int


@dataclass(frozen=True, slots=True)
class Container:
    """A parsed file. `blocks` still hold compressed bytes; `name` is the file's name in errors."""

    name: str
    data: bytes
    schema_text: bytes
    codec: str
    blocks: tuple[Block, ...]
    header: Mapping[str, bytes]

    @property
    def num_records(self) -> int:
        return sum(block.count for block in self.blocks)

    def payload(self, block: Block, limit: int = MAX_DECOMPRESSED_BYTES) -> bytes:
        """The uncompressed bytes of a block, at most `limit` of them."""
        raw = memoryview(self.data)[block.start : block.start + block.size]
        try:
            plain = _decompress(self.codec, raw, limit)
        except _TooLarge:
            raise CorruptTable(
                f"{self.name}: a block decompresses to more than {limit} bytes; refused, the file is damaged or hostile"
            ) from None
        except (
            zlib.error,
            lzma.LZMAError,
            OSError,
            EOFError,
            ValueError,
            zstandard.ZstdError,
            cramjam.DecompressionError,
        ) as error:
            raise CorruptTable(f"{self.name}: a block can't be decompressed as {self.codec}: {error}") from error
        if block.count > len(plain):
            raise CorruptTable(f"{self.name}: a block claims {block.count} records in {len(plain)} bytes")
        return plain

    def payloads(self, max_block_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[tuple[Block, bytes]]:
        """All blocks with their uncompressed bytes; each one and the whole file are bounded."""
        left = MAX_DECOMPRESSED_BYTES
        for block in self.blocks:
            plain = self.payload(block, min(left, max_block_bytes))
            left -= len(plain)
            yield block, plain


def parse_container(data: bytes, name: str) -> Container:
    """Check the whole frame of the file: magic, header, every block's length and sync marker."""
    if data[:4] != MAGIC:
        found = "it is empty" if not data else f"it starts with {data[:4]!r}"
        raise CorruptTable(
            f"{name} is not an Avro file: {found}. Run `headgate table verify` to see what else is damaged"
        )
    header, position = _read_header(data, name)
    check_seal(header, data, name)
    schema_text = header.get("avro.schema")
    if schema_text is None:
        raise CorruptTable(f"{name}: the Avro header has no schema")
    if len(schema_text) > MAX_SCHEMA_BYTES:
        raise CorruptTable(
            f"{name}: the Avro schema takes {len(schema_text)} bytes; more than {MAX_SCHEMA_BYTES} are refused"
        )
    codec = header.get("avro.codec", b"null").decode("ascii", "replace")
    if codec not in _DECOMPRESSORS:
        raise CorruptTable(f"{name} uses the Avro codec {codec!r}; known are {', '.join(sorted(_DECOMPRESSORS))}")
    sync = data[position : position + SYNC_BYTES]
    if len(sync) < SYNC_BYTES:
        raise CorruptTable(f"{name} is truncated inside of its Avro header")
    container = Container(name, data, schema_text, codec, _read_blocks(data, position + SYNC_BYTES, sync, name), header)
    if container.num_records > MAX_RECORDS:
        raise CorruptTable(
            f"{name} claims {container.num_records} records; more than {MAX_RECORDS} in one file are refused"
        )
    return container


def header_bytes(schema_text: bytes, codec: str, sync: bytes, more: Mapping[str, bytes] | None = None) -> bytes:
    pairs = {"avro.schema": schema_text, "avro.codec": codec.encode("ascii"), **(more or {})}
    body = b"".join(varint(len(key)) + key.encode("ascii") + varint(len(value)) + value for key, value in pairs.items())
    return MAGIC + varint(len(pairs)) + body + b"\x00" + sync


def block_bytes(count: int, plain: bytes, codec: str, sync: bytes, level: int = 3) -> bytes:
    packed = compress(codec, plain, level)
    return b"".join((varint(count), varint(len(packed)), packed, sync))


def varint(value: int) -> bytes:
    """Avro's zig-zag variable-length long."""
    rest = (value << 1) ^ (value >> 63)
    out = bytearray()
    while rest > 0x7F:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def compress(codec: str, plain: bytes, level: int = 3) -> bytes:
    match codec:
        case "null":
            return plain
        case "zstandard":
            # Avro has no checksums of its own; with the frame's checksum, every reader finds damage.
            return zstandard.ZstdCompressor(level=level, write_content_size=False, write_checksum=True).compress(plain)
        case "deflate":
            packer = zlib.compressobj(wbits=-15)
            return packer.compress(plain) + packer.flush()
        case "snappy":
            return bytes(cramjam.snappy.compress_raw(plain)) + zlib.crc32(plain).to_bytes(4, "big")
        case _:
            raise ValueError(f"we don't write the Avro codec {codec!r}")


def parse_schema(container: Container) -> Any:
    """The writer's schema as JSON."""
    try:
        return json.loads(container.schema_text)
    except (ValueError, RecursionError) as error:
        raise CorruptTable(f"{container.name}: the Avro schema in the header is not JSON: {error}") from error


def _read_header(data: bytes, name: str) -> tuple[dict[str, bytes], int]:
    header: dict[str, bytes] = {}
    position = len(MAGIC)
    try:
        while True:
            count, position = read_varint(data, position)
            if count == 0:
                return header, position
            if count < 0:
                _, position = read_varint(data, position)
                count = -count
            if count + len(header) > MAX_HEADER_KEYS:
                raise CorruptTable(
                    f"{name}: the Avro header claims {count} keys; more than {MAX_HEADER_KEYS} are refused"
                )
            for _ in range(count):
                key, position = _read_bytes(data, position)
                value, position = _read_bytes(data, position)
                header[key.decode("utf-8")] = value
    except IndexError:
        raise CorruptTable(f"{name} is truncated inside of its Avro header") from None
    except UnicodeDecodeError:
        raise CorruptTable(f"{name} is damaged: its Avro header has a key that is not UTF-8") from None


def _read_blocks(data: bytes, position: int, sync: bytes, name: str) -> tuple[Block, ...]:
    blocks = []
    end = len(data)
    while position < end:
        try:
            count, position = read_varint(data, position)
            size, position = read_varint(data, position)
        except IndexError:
            raise CorruptTable(f"{name} is truncated: it ends inside of a block's header") from None
        if count < 0 or size < 0:
            raise CorruptTable(f"{name}: a block claims {count} records in {size} bytes; the file is damaged")
        if position + size + SYNC_BYTES > end:
            raise CorruptTable(
                f"{name} is truncated: a block of {size} bytes at byte {position} doesn't fit into the file's {end} bytes"
            )
        if data[position + size : position + size + SYNC_BYTES] != sync:
            raise CorruptTable(
                f"{name}: the sync marker after the block at byte {position} is wrong; the file is damaged"
            )
        blocks.append(Block(count, position, size))
        position += size + SYNC_BYTES
    return tuple(blocks)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The number that begins here, and its end. Raises `IndexError` if there is none."""
    shift = result = 0
    while True:
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (result >> 1) ^ -(result & 1), position
        shift += 7
        if shift > 63:
            raise IndexError("a varint of more than 10 bytes")


def _read_bytes(data: bytes, position: int) -> tuple[bytes, int]:
    length, position = read_varint(data, position)
    if length < 0 or position + length > len(data):
        raise IndexError("a length beyond the end of the file")
    return data[position : position + length], position + length


class _TooLarge(Exception):
    """More output than allowed; turned into `CorruptTable` by callers that know the file's name."""


def _decompress(codec: str, raw: memoryview, limit: int) -> bytes:
    return _DECOMPRESSORS[codec](raw, limit)


def _bounded(reader: Any, limit: int) -> bytes:
    pieces = []
    total = 0
    while piece := reader.read(_STEP_BYTES):
        total += len(piece)
        if total > limit:
            raise _TooLarge
        pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _null(raw: memoryview, limit: int) -> bytes:
    if len(raw) > limit:
        raise _TooLarge
    return bytes(raw)


def _deflate(raw: memoryview, limit: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=-15)
    plain = unpacker.decompress(raw, limit + 1 if limit < _STEP_BYTES else _STEP_BYTES)
    pieces = [plain]
    total = len(plain)
    while unpacker.unconsumed_tail:
        plain = unpacker.decompress(unpacker.unconsumed_tail, _STEP_BYTES)
        pieces.append(plain)
        total += len(plain)
        if total > limit:
            raise _TooLarge
    if total > limit:
        raise _TooLarge
    if not unpacker.eof:
        raise EOFError("the deflate stream ends too early")
    plain = b"".join(pieces)
    # fastavro cuts the stream out of a zlib stream, and leaves a part of the zlib checksum behind it.
    if not zlib.adler32(plain).to_bytes(4, "big").startswith(unpacker.unused_data):
        raise ValueError(f"{len(unpacker.unused_data)} bytes follow the deflate stream")
    return plain


def _zstandard(raw: memoryview, limit: int) -> bytes:
    _check_frame_ends(raw)
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    at_once = min(limit, _USUAL_BYTES)
    with suppress(zstandard.ZstdError):
        # A frame with a stated size, which known writers don't write, gets that much memory whatever the bound is.
        if zstandard.frame_content_size(raw) <= at_once:
            return unpacker.decompress(raw, max_output_size=at_once)
    # The output grows step by step if it didn't fit; a damaged frame fails here.
    with unpacker.stream_reader(raw, read_across_frames=False) as reader:
        return _bounded(reader, limit)


def _check_frame_ends(raw: memoryview) -> None:
    """The library ignores bytes after a frame, so this finds its end by the sizes of its blocks."""
    has_checksum = zstandard.get_frame_parameters(raw).has_checksum
    position = zstandard.frame_header_size(raw)
    is_last = False
    blocks = 0
    while not is_last and position < len(raw):
        blocks += 1
        if blocks > _MAX_FRAME_BLOCKS:
            raise ValueError(f"the zstandard frame has more than {_MAX_FRAME_BLOCKS} blocks")
        head = int.from_bytes(raw[position : position + 3], "little")
        is_last, is_run, size = bool(head & 1), head >> 1 & 3 == 1, head >> 3
        position += 3 + (1 if is_run else size)
    behind = len(raw) - position - (4 if has_checksum else 0)
    if behind > 0:
        raise ValueError(f"{behind} bytes follow the zstandard frame")


def _snappy(raw: memoryview, limit: int) -> bytes:
    if len(raw) < 5:
        raise EOFError("the block is too short for snappy")
    length = shift = 0
    for byte in raw[:5]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if length > limit:
        raise _TooLarge
    plain = bytes(cramjam.snappy.decompress_raw(raw[:-4]))
    if zlib.crc32(plain).to_bytes(4, "big") != bytes(raw[-4:]):
        raise ValueError("the checksum doesn't match")
    return plain


def _bzip2(raw: memoryview, limit: int) -> bytes:
    return _streams(bz2.BZ2Decompressor, raw, limit)


def _xz(raw: memoryview, limit: int) -> bytes:
    return _streams(lzma.LZMADecompressor, raw, limit)


def _streams(new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor], raw: memoryview, limit: int) -> bytes:
    """All streams, one after the other. Any other byte is an error, and so is a missing end."""
    pieces = []
    total = 0
    waiting = bytes(raw)
    while True:
        unpacker = new()
        while not unpacker.eof:
            piece = unpacker.decompress(waiting, _STEP_BYTES)
            waiting = b""
            if not piece and unpacker.needs_input:
                raise EOFError("the compressed stream ends too early")
            pieces.append(piece)
            total += len(piece)
            if total > limit:
                raise _TooLarge
        waiting = unpacker.unused_data
        if not waiting:
            return b"".join(pieces)


_DECOMPRESSORS = {
    "null": _null,
    "deflate": _deflate,
    "zstandard": _zstandard,
    "snappy": _snappy,
    "bzip2": _bzip2,
    "xz": _xz,
}
