"""Unpacks the bytes of a batch up to a bound, by the settings of its consumer."""

import gzip
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Protocol

import zstandard
from kafka.record.default_records import DefaultRecordBatch

from headgate_bus.interface import Unread

MAX_BATCH_BYTES = 16 << 20
"""Of a batch of messages that was unpacked. Our producers pack 256 KiB, or one message of a mebibyte at the most; other clients
pack what shrinks into a mebibyte. A hostile batch of that size unpacks to tens of gigabytes."""
MAX_WINDOW_BYTES = 8 << 20
"""What a decompressor may need to look back. Levels up to 19 need no more; a hostile frame may ask for gigabytes."""
CHUNK_BYTES = 128 << 10
NOT_PACKED, GZIP = DefaultRecordBatch.CODEC_NONE, DefaultRecordBatch.CODEC_GZIP
SNAPPY, LZ4, ZSTD = DefaultRecordBatch.CODEC_SNAPPY, DefaultRecordBatch.CODEC_LZ4, DefaultRecordBatch.CODEC_ZSTD
CODECS = {"zstd": ZSTD, "gzip": GZIP, "lz4": LZ4, "snappy": SNAPPY}

_SNAPPY_BLOCKS = b"\x82SNAPPY\x00"
"""Begins what Java's clients send: blocks, each behind its length. Others send one block and nothing around it."""
_SNAPPY_BLOCKS_HEADER_BYTES = len(_SNAPPY_BLOCKS) + 8
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Unpacking:
    """The bounds that a consumer sets for its batches."""

    max_batch_bytes: int
    max_window_bytes: int
    codecs: tuple[str, ...]
    beyond: str
    """The name of the first bound, and what to do about a batch that unpacks to more."""


MESSAGES = Unpacking(MAX_BATCH_BYTES, MAX_WINDOW_BYTES, ("zstd", "gzip"), "(MAX_BATCH_BYTES): send smaller batches")
"""For the topics of a bus, which are packed by no other codecs."""


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def unpacked(codec: int, packed: memoryview, allowed: Unpacking) -> tuple[bytes, Unread | None]:
    """The bytes up to the bound or up to the first fault; and why there are no more."""
    if codec == NOT_PACKED:
        return bytes(packed), None
    if codec not in [CODECS[name] for name in allowed.codecs]:
        read = f"{', '.join(allowed.codecs[:-1])} and {allowed.codecs[-1]}"
        return b"", Unread(f"it is packed by a codec that isn't read here (number {codec}); read are {read}")
    data = bytearray()
    try:
        for chunk in _chunks(codec, packed, allowed):
            data += chunk
            if len(data) > allowed.max_batch_bytes:
                del data[allowed.max_batch_bytes :]
                raise _Beyond
    except _Beyond:
        reason = f"it unpacks to more than the {allowed.max_batch_bytes} bytes that are read {allowed.beyond}"
        return bytes(data), Unread(reason, is_over_bound=True)
    except (zstandard.ZstdError, zlib.error, OSError, EOFError) as error:
        return bytes(data), Unread(f"it can't be unpacked ({str(error)[:200]})")
    return bytes(data), None


class _Beyond(Exception):
    """The unpacked bytes exceed the bound."""


def _chunks(codec: int, packed: memoryview, allowed: Unpacking) -> Iterator[bytes]:
    if codec == SNAPPY:
        yield from _unpacked_by_snappy(packed, allowed.max_batch_bytes)
        return
    stream = _stream(codec, packed, allowed)
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _stream(codec: int, packed: memoryview, allowed: Unpacking) -> _Stream:
    if codec == GZIP:
        return gzip.GzipFile(fileobj=BytesIO(packed))
    if codec == ZSTD:
        frames = zstandard.ZstdDecompressor(max_window_size=allowed.max_window_bytes)
        return frames.stream_reader(packed, read_across_frames=True)
    import pyarrow as pa

    frame: _Stream = pa.CompressedInputStream(pa.BufferReader(packed), "lz4")
    return frame


def _unpacked_by_snappy(packed: memoryview, max_bytes: int) -> Iterator[bytes]:
    """A snappy block can't be unpacked in parts, but it states its size first."""
    import pyarrow as pa

    codec = pa.Codec("snappy")
    for block in _snappy_blocks(packed):
        size = _snappy_size(block)
        if size > max_bytes:
            raise _Beyond
        yield codec.decompress(block, decompressed_size=size, asbytes=True)


def _snappy_blocks(packed: memoryview) -> Iterator[memoryview]:
    if packed[: len(_SNAPPY_BLOCKS)] != _SNAPPY_BLOCKS:
        yield packed
        return
    at = _SNAPPY_BLOCKS_HEADER_BYTES
    while at < len(packed):
        start = at + _LENGTH.size
        if start > len(packed):
            raise EOFError("a block of snappy ends within its length")
        at = start + _LENGTH.unpack_from(packed, at)[0]
        yield packed[start:at]


def _snappy_size(block: memoryview) -> int:
    size = 0
    for place, part in enumerate(block[:5]):
        size |= (part & 0x7F) << (7 * place)
        if part < 0x80:
            return size
    raise EOFError("a block of snappy ends within its size")
