"""Batches of records byte by byte, and how they get to a broker: what a client that means harm can send.

Nothing of Headgate's and no builder of the Kafka client is used, since these refuse to make what is made here.
"""

import socket
import struct
import time
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import zstandard
from kafka.record.util import calc_crc32c

from support.processes.waiting import LOOK_S

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
LOG_APPEND_TIME = 0x08
BLOCK_BYTES = 128 << 10
ANSWER_LIMIT_S = 60.0
_PRODUCE, _PRODUCE_VERSION = 0, 7
_NOT_LEADING_YET = (3, 5, 6)
"""The topic is unknown, nobody leads it, or somebody else does."""


@dataclass(frozen=True, slots=True)
class RawRecord:
    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[tuple[bytes, bytes | None]] = field(default=())

    def laid_out(self, offset_delta: int) -> bytes:
        body = b"\x00" + varint(0) + varint(offset_delta) + _nullable(self.key) + _nullable(self.value)
        body += varint(len(self.headers))
        body += b"".join(_nullable(name) + _nullable(value) for name, value in self.headers)
        return varint(len(body)) + body


def varint(value: int) -> bytes:
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left > 0x7F:
        out.append(0x80 | left & 0x7F)
        left >>= 7
    out.append(left)
    return bytes(out)


def laid_out(records: Iterable[RawRecord]) -> bytes:
    """The records of a batch, one behind the other, not packed."""
    return b"".join(record.laid_out(number) for number, record in enumerate(records))


def batch_of(packed: bytes, count: int, attributes: int = NONE, *, time_ms: int = 1, base_offset: int = 0) -> bytes:
    """A batch around bytes that are taken as they are."""
    checked = struct.pack(">hiqqqhii", attributes, count - 1, time_ms, time_ms, -1, -1, -1, count) + packed
    rest = struct.pack(">ibI", -1, 2, calc_crc32c(memoryview(checked))) + checked
    return struct.pack(">qi", base_offset, len(rest)) + rest


def old_batch(value: bytes) -> bytes:
    """One record in the format from before Kafka 0.11."""
    message = struct.pack(">bbqii", 1, 0, 1, -1, len(value)) + value
    checked = struct.pack(">I", zlib.crc32(message)) + message
    return struct.pack(">qi", 0, len(checked)) + checked


def zstd_batch(records: Sequence[RawRecord]) -> bytes:
    return batch_of(zstandard.ZstdCompressor().compress(laid_out(records)), len(records), ZSTD)


def bomb_batch(value_bytes: int, *, before: Sequence[RawRecord] = (), behind: Sequence[RawRecord] = ()) -> bytes:
    """Sound records around one whose value is so many zeros: a well-formed batch of a few bytes for each 128 KiB of them."""
    blocks = value_bytes // BLOCK_BYTES
    assert blocks * BLOCK_BYTES == value_bytes, "whole blocks only"
    start = b"\x00" + varint(0) + varint(len(before)) + varint(-1) + varint(value_bytes)
    end = varint(0)
    head = laid_out(before) + varint(len(start) + value_bytes + len(end)) + start
    tail = end + b"".join(record.laid_out(len(before) + 1 + number) for number, record in enumerate(behind))
    return batch_of(zeros_frame(head, blocks, tail), len(before) + 1 + len(behind), ZSTD)


def zeros_frame(head: bytes, blocks: int, tail: bytes) -> bytes:
    """A zstd frame of these bytes with blocks of zeros between them, each written as one byte that is to be repeated."""
    magic, descriptor, window = b"\x28\xb5\x2f\xfd", b"\x00", b"\x38"
    repeated, last = 1 << 1, 1
    zeros = (BLOCK_BYTES << 3 | repeated).to_bytes(3, "little") + b"\x00"
    raw_head = (len(head) << 3).to_bytes(3, "little") + head
    raw_tail = (len(tail) << 3 | last).to_bytes(3, "little") + tail
    return magic + descriptor + window + raw_head + zeros * blocks + raw_tail


def send_batch(server: str, topic: str, batch: bytes) -> int:
    """Into partition 0. The broker's code of an error, 0 for none. It has to speak plain text.

    A broker that doesn't lead the partition yet, since the topic is new, is asked again, as every client does.
    """
    code = _asked(server, topic, batch)
    began = time.monotonic()
    while code in _NOT_LEADING_YET and time.monotonic() - began < ANSWER_LIMIT_S:
        time.sleep(LOOK_S)
        code = _asked(server, topic, batch)
    return code


def _asked(server: str, topic: str, batch: bytes) -> int:
    name = topic.encode()
    request = struct.pack(">hhih", _PRODUCE, _PRODUCE_VERSION, 1, -1)
    request += struct.pack(">hhii", -1, -1, int(ANSWER_LIMIT_S * 1000), 1)
    request += struct.pack(">h", len(name)) + name + struct.pack(">iii", 1, 0, len(batch)) + batch
    host, _, port = server.rpartition(":")
    with socket.create_connection((host, int(port)), ANSWER_LIMIT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        answer = _received(connection, struct.unpack(">i", _received(connection, 4))[0])
    (error,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(name) + 4 + 4)
    return int(error)


def _nullable(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def _received(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        more = connection.recv(count - len(received))
        if not more:
            raise ConnectionError("the broker closed the connection before it answered")
        received += more
    return received
