"""The records of a fetched batch. One record stands for the rest of a batch that can't be read.

Anybody with write access to a topic chooses the bytes of a batch. So batches are unpacked up to a bound, and no content
raises an error: the error would come again at every read, and nobody could read past the batch.
"""

from collections.abc import Callable, Iterator
from typing import Any

from kafka.record.default_records import DefaultRecord, DefaultRecordBatch
from kafka.record.util import decode_varint

from headgate_bus.interface import Unread
from headgate_bus.kafka.fetched.unpacking import MESSAGES, Unpacking, unpacked

MAX_HEADERS = 1_000
"""Those of a record that are read. Ours have nine; in a batch there is room for millions, each a hundred times its size in memory."""
CURRENT_FORMAT = 2
"""Of batches, since Kafka 0.11."""


class UnreadBytes(bytes):
    """Takes the place of a record's value: the batch's bytes, because some of its records can't be read."""

    fault: Unread
    first: int
    """Of the offsets where they lie."""
    last: int


def records_of(batch: Any, weigh: Callable[[int], None], allowed: Unpacking = MESSAGES) -> Iterator[Any]:
    """The records of one of the client's batches, in the client's own form. The last one may stand for all that are
    left.

    `weigh` is called with the number of bytes that were unpacked for the batch.
    """
    if batch.magic < CURRENT_FORMAT:
        yield _rest(batch, batch.base_offset, Unread("its format is from before Kafka 0.11"))
        return
    packed = memoryview(batch._buffer)[DefaultRecordBatch.HEADER_STRUCT.size :]
    data, fault = unpacked(batch.compression_type, packed, allowed)
    weigh(len(data))
    offset, at = batch.base_offset, 0
    for _ in range(batch.records_count):
        try:
            record, at = _record(batch, data, at)
            if not offset <= record.offset <= batch.last_offset:
                raise ValueError  # The client would continue after this offset, wherever it is.
        except (ValueError, IndexError):
            fault = fault or Unread("it isn't laid out as records are")
            yield _rest(batch, offset, fault)
            return
        yield record
        offset = record.offset + 1


def _record(batch: Any, data: bytes, at: int) -> tuple[Any, int]:
    """The record that begins here, and its end. Raises `ValueError` or `IndexError` if there is none."""
    length, at = decode_varint(data, at)
    end = at + length
    if not at < end <= len(data):
        raise ValueError
    time_delta, at = decode_varint(data, at + 1)  # after the attributes, which have no meaning
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
    """One record for everything from here to the end of the batch."""
    is_current = batch.magic >= CURRENT_FORMAT
    last = batch.last_offset if is_current else batch.base_offset
    time_ms, time_type = (batch.max_timestamp, batch.timestamp_type) if is_current else (0, None)
    value = UnreadBytes(batch._buffer)
    value.fault, value.first, value.last = fault, offset, last
    return DefaultRecord(len(value), offset, time_ms, time_type, None, value, [])
