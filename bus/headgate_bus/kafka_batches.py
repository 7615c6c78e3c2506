"""What a fetched batch of records holds, whatever it is: records as they are, and what can't be read as one for all the rest.

Anybody who may write to a topic chooses the bytes of a batch. So they are unpacked up to a bound, and nothing in them is an
error: it would come again whenever the batch is read, and nothing behind it would ever be reached.
"""

import gzip
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, Protocol

import zstandard
from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.util import decode_varint

from headgate_bus.interface import Unread

MAX_BATCH_BYTES = 16 << 20
"""Of a batch that was unpacked. Our producers pack 256 KiB, or one message of a mebibyte at the most; other clients pack what
shrinks into a mebibyte. A hostile batch of that size unpacks to tens of gigabytes."""
MAX_WINDOW_BYTES = 8 << 20
"""What a decompressor may need to look back. Levels up to 19 need no more; a hostile frame may ask for gigabytes."""
MAX_HEADERS = 1_000
"""Those of a record that are read. Ours have nine; in a batch there is room for millions, each a hundred times its size in memory."""
CHUNK_BYTES = 128 << 10
CURRENT_FORMAT = 2
"""Of batches, since Kafka 0.11."""
NOT_PACKED, GZIP, ZSTD = DefaultRecordBatch.CODEC_NONE, DefaultRecordBatch.CODEC_GZIP, DefaultRecordBatch.CODEC_ZSTD


class UnreadBytes(bytes):
    """In the place of a record's value: a batch as it came, because of records in it that can't be read."""

    unread: Unread


class _Stream(Protocol):
    def read(self, size: int) -> bytes: ...


def records_of(batch: Any, weigh: Callable[[int], None]) -> Iterator[Any]:
    """The records of one of the client's batches, in the client's own form. The last may stand for all that are left.

    `weigh` is told how many bytes were unpacked for it.
    """
    if batch.magic < CURRENT_FORMAT:
        yield _rest(batch, batch.base_offset, Unread("its format is from before Kafka 0.11"))
        return
    packed = memoryview(batch._buffer)[DefaultRecordBatch.HEADER_STRUCT.size :]
    data, fault = unpacked(batch.compression_type, packed)
    weigh(len(data))
    offset, at = batch.base_offset, 0
    for _ in range(batch.records_count):
        try:
            record, at = _record(batch, data, at)
            if not offset <= record.offset <= batch.last_offset:
                raise ValueError  # the client would go on reading behind it, wherever that is
        except (ValueError, IndexError):
            fault = fault or Unread("it isn't laid out as records are")
            yield _rest(batch, offset, fault)
            return
        yield record
        offset = record.offset + 1


def unpacked(codec: int, packed: memoryview) -> tuple[bytes, Unread | None]:
    """The bytes up to the bound or to where they can't be unpacked any more, and why there are no more of them."""
    if codec == NOT_PACKED:
        return bytes(packed), None
    if codec == ZSTD:
        frames = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        return _read_bounded(frames.stream_reader(packed, read_across_frames=True))
    if codec == GZIP:
        return _read_bounded(gzip.GzipFile(fileobj=BytesIO(packed)))
    return b"", Unread(f"it is packed by a codec that isn't read here (number {codec}); read are zstd and gzip")


def _read_bounded(stream: _Stream) -> tuple[bytes, Unread | None]:
    data = bytearray()
    try:
        while len(data) <= MAX_BATCH_BYTES and (chunk := stream.read(CHUNK_BYTES)):
            data += chunk
    except (zstandard.ZstdError, zlib.error, OSError, EOFError) as error:
        return bytes(data), Unread(f"it can't be unpacked ({str(error)[:200]})")
    if len(data) <= MAX_BATCH_BYTES:
        return bytes(data), None
    reason = (
        f"it unpacks to more than the {MAX_BATCH_BYTES} bytes that are read (MAX_BATCH_BYTES): send smaller batches"
    )
    del data[MAX_BATCH_BYTES:]
    return bytes(data), Unread(reason, is_over_bound=True)


def _record(batch: Any, data: bytes, at: int) -> tuple[Any, int]:
    """The record that begins here, and where it ends. Raises `ValueError` or `IndexError` where there is none."""
    length, at = decode_varint(data, at)
    end = at + length
    if not at < end <= len(data):
        raise ValueError
    time_delta, at = decode_varint(data, at + 1)  # behind the attributes, which mean nothing
    offset_delta, at = decode_varint(data, at)
    key, at = _field(data, at, end)
    value, at = _field(data, at, end)
    count, at = decode_varint(data, at)
    headers = []
    for _ in range(min(count, MAX_HEADERS)):
        name, at = _field(data, at, end)
        content, at = _field(data, at, end)
        headers.append(((name or b"").decode(errors="replace"), content))
    if at > end or (at < end and count <= MAX_HEADERS):
        raise ValueError
    by_bus = batch.timestamp_type == DefaultRecordBatch.LOG_APPEND_TIME
    time_ms = batch.max_timestamp if by_bus else batch.first_timestamp + time_delta
    offset = batch.base_offset + offset_delta
    return DefaultRecord(length, offset, time_ms, batch.timestamp_type, key, value, headers), end


def _field(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise ValueError
    return data[at : at + length], at + length


def _rest(batch: Any, offset: int, fault: Unread) -> Any:
    """One record in the place of all from here to the end of the batch."""
    is_current = batch.magic >= CURRENT_FORMAT
    last = batch.last_offset if is_current else batch.base_offset
    time_ms, time_type = (batch.max_timestamp, batch.timestamp_type) if is_current else (0, None)
    value = UnreadBytes(batch._buffer)
    value.unread = Unread(
        f"what lies at the offsets {offset} to {last} is in a batch that can't be read whole: {fault.reason}. Its authors have to"
        f" propose it again. The bytes are those of the batch",
        fault.is_over_bound,
    )
    return DefaultRecord(len(value), offset, time_ms, time_type, None, value, [])
