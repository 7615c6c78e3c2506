"""What batches hold that no honest client sends: all of it arrives as records, and a bomb is unpacked to a bound."""

import gzip
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import zstandard
from kafka.record import MemoryRecords

from headgate_bus.interface import Record
from headgate_bus.kafka.fetched.batches import MAX_HEADERS, records_of
from headgate_bus.kafka.fetched.unpacking import MAX_BATCH_BYTES, MAX_WINDOW_BYTES
from headgate_bus.kafka.records.records import as_records
from support.kafka.raw_batches import (
    GZIP,
    LOG_APPEND_TIME,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    RawRecord,
    batch_of,
    bomb_batch,
    laid_out,
    old_batch,
    varint,
    zeros_frame,
    zstd_batch,
)
from support.memory import rss_growth_of

GOOD = RawRecord(b"table", b"body", [(b"ce_id", b"1")])
FIRST = 70


class _Place:
    partition = 0

    def __lt__(self, other: object) -> bool:
        return False


def read(batch: bytes) -> list[Record]:
    """As the bus hands it over."""
    moved = FIRST.to_bytes(8, "big") + batch[8:]  # the broker numbers a batch; its checksum doesn't cover that
    found = MemoryRecords(moved).next_batch()
    assert found.magic < 2 or found.validate_crc()
    return as_records({_Place(): map(_fetched, records_of(found, lambda _: None))})


def _fetched(record: Any) -> Any:
    """A record as the client's fetcher hands it over: with the leader's epoch of its batch, here an unknown one."""
    names = ("offset", "timestamp", "key", "value", "headers")
    return SimpleNamespace(leader_epoch=-1, **{name: getattr(record, name) for name in names})


def shape(records: Sequence[Record]) -> list[tuple[int, bytes, dict[str, str]]]:
    return [(record.offset, record.body, dict(record.headers)) for record in records]


def only_rest(records: Sequence[Record], batch: bytes) -> str:
    """The reason of the one record that is there, which stands for the whole batch."""
    (rest,) = records
    assert (rest.offset, rest.key, rest.body[8:]) == (FIRST, "", batch[8:])
    assert rest.unread is not None
    return rest.unread.reason


@pytest.mark.parametrize(
    "batch",
    [
        batch_of(laid_out([GOOD, GOOD]), 2, NONE),
        batch_of(gzip.compress(laid_out([GOOD, GOOD])), 2, GZIP),
        batch_of(gzip.compress(laid_out([GOOD])) + gzip.compress(GOOD.laid_out(1)), 2, GZIP),
        zstd_batch([GOOD, GOOD]),
        batch_of(zstandard.compress(laid_out([GOOD])) + zstandard.compress(GOOD.laid_out(1)), 2, ZSTD),
    ],
    ids=["not packed", "gzip", "gzip of two members", "zstd", "zstd of two frames"],
)
def test_sound_batches_are_read_however_they_are_packed(batch: bytes) -> None:
    expected = {"ce_id": "1"}
    assert shape(read(batch)) == [(FIRST, b"body", expected), (FIRST + 1, b"body", expected)]


def test_a_header_that_is_no_unicode_has_replacement_characters() -> None:
    bad = RawRecord(b"table", b"body", [(b"\xff\xfe", b"\xfd"), (b"ce_id", b"1")])
    headers = {"\N{REPLACEMENT CHARACTER}" * 2: "\N{REPLACEMENT CHARACTER}", "ce_id": "1"}
    assert shape(read(zstd_batch([GOOD, bad, GOOD]))) == [
        (FIRST, b"body", {"ce_id": "1"}),
        (FIRST + 1, b"body", headers),
        (FIRST + 2, b"body", {"ce_id": "1"}),
    ]


def test_what_is_null_is_empty() -> None:
    records = read(zstd_batch([RawRecord(None, None, [(b"ce_id", None)])]))
    assert [(record.key, record.body, dict(record.headers)) for record in records] == [("", b"", {"ce_id": ""})]


def test_of_more_headers_than_are_read_the_first_are_there_and_the_record_is_whole() -> None:
    many = RawRecord(b"table", b"body", [(str(number).encode(), b"") for number in range(MAX_HEADERS + 5)])
    first, second = read(zstd_batch([many, GOOD]))
    assert list(first.headers) == [str(number) for number in range(MAX_HEADERS)]
    assert (first.body, second.body) == (b"body", b"body")


@pytest.mark.parametrize(("attributes", "expected"), [(NONE, 5_007), (LOG_APPEND_TIME, 5_000)])
def test_the_time_of_a_record_is_its_own_or_that_of_the_bus(attributes: int, expected: int) -> None:
    body = b"\x00" + varint(7) + varint(0) + varint(-1) + varint(-1) + varint(0)
    (record,) = read(batch_of(varint(len(body)) + body, 1, attributes, time_ms=5_000))
    assert record.time_ms == expected


def test_a_bomb_is_unpacked_to_the_bound_and_what_lies_before_it_is_read() -> None:
    batch = bomb_batch(1 << 30, before=[GOOD], behind=[GOOD, GOOD])
    first, rest = read(batch)
    assert shape([first]) == [(FIRST, b"body", {"ce_id": "1"})]
    assert (rest.offset, rest.body[8:]) == (FIRST + 1, batch[8:])
    assert rest.unread is not None
    assert rest.unread.is_over_bound
    assert rest.unread.reason == (
        f"what lies at the offsets {FIRST + 1} to {FIRST + 3} is in a batch that can't be read whole: it unpacks to more than the"
        f" {MAX_BATCH_BYTES} bytes that are read (MAX_BATCH_BYTES): send smaller batches. Its authors have to propose it again."
        " The bytes are those of the batch"
    )


def test_a_bomb_takes_the_memory_of_the_bound() -> None:
    program = """
from kafka.record import MemoryRecords
from headgate_bus.kafka.fetched.batches import records_of
from support.kafka.raw_batches import RawRecord, batch_of, bomb_batch
import gzip, io
packed = io.BytesIO()
with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as stream:
    for _ in range(256):
        stream.write(bytes(1 << 20))
batches = [bomb_batch(1 << 30), batch_of(packed.getvalue(), 1, 1)]
settled()
for batch in batches:
    assert len(list(records_of(MemoryRecords(batch).next_batch(), lambda _: None))) == 1
"""
    assert rss_growth_of(program) < 3 * MAX_BATCH_BYTES


def test_a_frame_that_asks_for_gigabytes_to_look_back_is_refused() -> None:
    batch = batch_of(zeros_frame(laid_out([GOOD]), 1, b"").replace(b"\x00\x38", b"\x00\xa8", 1), 1, ZSTD)
    assert MAX_WINDOW_BYTES < 1 << (10 + (0xA8 >> 3))
    assert "it can't be unpacked" in only_rest(read(batch), batch)


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, 5, 6, 7])
def test_codecs_that_are_not_read_are_named(codec: int) -> None:
    batch = batch_of(laid_out([GOOD]), 1, codec)
    assert f"a codec that isn't read here (number {codec})" in only_rest(read(batch), batch)


@pytest.mark.parametrize(
    "packed",
    [
        b"rubbish",
        zstandard.compress(laid_out([GOOD]))[:-4],
        zstandard.compress(b"rubbish"),
        zstandard.compress(b""),
        zstandard.compress(laid_out([GOOD])[:-1]),
        zstandard.compress(varint(-1)),
        zstandard.compress(varint(9) + b"\x00" * 3 + varint(-1) * 2 + varint(1 << 40)),
        zstandard.compress(varint(5) + b"\x00" * 3 + varint(1 << 30) + b"\x00"),
        zstandard.compress(varint(7) + b"\x00" * 3 + varint(-1) * 2 + varint(0) + b"\x00"),
        zstandard.compress(b"\xff" * 20),
    ],
)
def test_what_is_no_record_stands_for_the_batch(packed: bytes) -> None:
    batch = batch_of(packed, 1, ZSTD)
    assert "in a batch that can't be read whole" in only_rest(read(batch), batch)


def test_an_offset_beyond_the_batch_is_not_believed() -> None:
    batch = batch_of(GOOD.laid_out(0) + GOOD.laid_out(1_000_000), 2)
    first, rest = read(batch)
    assert (first.unread, first.offset, rest.offset) == (None, FIRST, FIRST + 1)
    assert rest.unread is not None


def test_a_batch_of_the_old_format_stands_for_itself() -> None:
    batch = old_batch(b"body")
    assert "from before Kafka 0.11" in only_rest(read(batch), batch)


def test_any_bytes_are_records_and_no_error() -> None:
    sound = laid_out([GOOD, GOOD])
    for place in range(len(sound)):
        for other in (0, 1, 0x7F, 0x80, 0xFF):
            changed = sound[:place] + bytes([other]) + sound[place + 1 :]
            records: list[Any] = read(batch_of(changed, 2))
            assert [record.offset for record in records] in ([FIRST], [FIRST, FIRST + 1])
