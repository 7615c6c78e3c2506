"""Batches by every codec of Kafka are unpacked as far as is allowed, and their faults are told."""

import gzip
import struct

import pyarrow as pa
import pytest
import zstandard

from headgate_bus.kafka.fetched.unpacking import CODECS, Unpacking, unpacked
from support.memory import rss_growth_of

DATA = b"".join(b"record %d;" % number for number in range(1_000))
ALLOWED = Unpacking(1 << 20, 8 << 20, tuple(CODECS), "(the bound)")
FRAMED_BY_JAVA = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def by_arrow(codec: str, data: bytes) -> bytes:
    return bytes(pa.Codec(codec).compress(data, asbytes=True))


def blocks_of_snappy(*blocks: bytes) -> bytes:
    return FRAMED_BY_JAVA + b"".join(struct.pack(">I", len(block)) + block for block in blocks)


PACKED = {
    "not packed": (0, DATA),
    "gzip": (1, gzip.compress(DATA)),
    "snappy": (2, by_arrow("snappy", DATA)),
    "snappy in blocks": (2, blocks_of_snappy(by_arrow("snappy", DATA[:500]), by_arrow("snappy", DATA[500:]))),
    "lz4": (3, by_arrow("lz4", DATA)),
    "lz4 in frames": (3, by_arrow("lz4", DATA[:500]) + by_arrow("lz4", DATA[500:])),
    "zstd": (4, zstandard.compress(DATA)),
}
BY_CODECS = [name for name in PACKED if name != "not packed"]


@pytest.mark.parametrize("name", PACKED)
def test_what_is_sound_comes_out_as_it_went_in(name: str) -> None:
    codec, packed = PACKED[name]
    assert unpacked(codec, memoryview(packed), ALLOWED) == (DATA, None)


@pytest.mark.parametrize("name", BY_CODECS)
@pytest.mark.parametrize("bound", [len(DATA) - 1, len(DATA)])
def test_what_is_beyond_the_bound_stays_packed(name: str, bound: int) -> None:
    codec, packed = PACKED[name]
    data, fault = unpacked(codec, memoryview(packed), Unpacking(bound, 8 << 20, tuple(CODECS), "(the bound)"))
    assert DATA.startswith(data)
    if bound == len(DATA):
        assert fault is None
    else:
        assert fault is not None
        assert fault.is_over_bound
        assert fault.reason == f"it unpacks to more than the {bound} bytes that are read (the bound)"


@pytest.mark.parametrize("name", BY_CODECS)
def test_bytes_that_are_none_of_the_codec_are_told(name: str) -> None:
    data, fault = unpacked(PACKED[name][0], memoryview(b"\xff" * 40), ALLOWED)
    assert data == b""
    assert fault is not None
    assert fault.reason.startswith("it can't be unpacked (")


@pytest.mark.parametrize("name", [name for name in BY_CODECS if name != "zstd"])
def test_bytes_that_end_early_are_told(name: str) -> None:
    """By zstd they only are fewer: the records that a batch counts aren't there."""
    codec, packed = PACKED[name]
    for damaged in (packed[:-5], packed[: len(packed) // 2]):
        data, fault = unpacked(codec, memoryview(damaged), ALLOWED)
        assert DATA.startswith(data)
        assert fault is not None
        assert fault.reason.startswith("it can't be unpacked (")
        assert not fault.is_over_bound


@pytest.mark.parametrize("name", BY_CODECS)
def test_any_byte_may_be_another(name: str) -> None:
    codec, packed = PACKED[name]
    for place in range(min(len(packed), 120)):
        for other in (0, 1, 0x7F, 0x80, 0xFF):
            changed = packed[:place] + bytes([other]) + packed[place + 1 :]
            data, _ = unpacked(codec, memoryview(changed), ALLOWED)
            assert len(data) <= ALLOWED.max_batch_bytes


@pytest.mark.parametrize("blocks", [b"\x00\x00", struct.pack(">I", 0), struct.pack(">I", 9) + b"\x80" * 9])
def test_a_block_of_snappy_that_lies_about_itself_is_told(blocks: bytes) -> None:
    data, fault = unpacked(CODECS["snappy"], memoryview(FRAMED_BY_JAVA + blocks), ALLOWED)
    assert data == b""
    assert fault is not None


def test_a_bomb_of_lz4_or_snappy_takes_the_memory_of_the_bound() -> None:
    program = """
import struct
import pyarrow as pa
from headgate_bus.kafka.fetched.unpacking import CODECS, Unpacking, unpacked
zeros = bytes(256 << 20)
lz4, snappy = (pa.Codec(name).compress(zeros, asbytes=True) for name in ("lz4", "snappy"))
small = pa.Codec("snappy").compress(zeros[:1 << 20], asbytes=True)
blocks = b"\\x82SNAPPY\\x00" + bytes(8) + (struct.pack(">I", len(small)) + small) * 256
lying = b"\\xff\\xff\\xff\\xff\\x0f" + small
del zeros
allowed = Unpacking(16 << 20, 8 << 20, tuple(CODECS), "")
settled()
for codec, packed in (("lz4", lz4), ("snappy", snappy), ("snappy", blocks), ("snappy", lying)):
    data, fault = unpacked(CODECS[codec], memoryview(packed), allowed)
    assert fault.is_over_bound, fault
"""
    assert rss_growth_of(program) < 3 * (16 << 20)
