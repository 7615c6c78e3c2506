"""Avro files that are cut, damaged or made to hurt: each is refused by name, in bounded time and memory, or read right.

What could crash or hang the process runs in one of its own.
"""

import bz2
import contextlib
import hashlib
import json
import lzma
import zlib
from collections.abc import Sequence
from typing import Any

import cramjam
import pyarrow as pa
import pytest
import zstandard

from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, FieldKind
from headgate_table.avro import container as container_module
from headgate_table.avro import decode
from headgate_table.avro.container import _USUAL_BYTES, parse_container
from headgate_table.avro.encode import encode_manifest
from headgate_table.avro.records import read_records
from headgate_table.avro.sentinel import TOKEN
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.entries import ALL_COLUMNS, decode_entries
from headgate_table.indextables.format.state_manifest import decode_state
from support.logs.foreign_log import large_manifest
from support.memory import rss_growth_of
from support.processes.isolated import run_isolated
from support.tables import SCHEMA_A, fresh_resources, text_of
from support.writers import avro_schemas
from support.writers.avro_bytes import avro_bytes, avro_string, block, container, header, zigzag
from support.writers.handmade import file, with_field

NAME = "_transaction_log/manifests/manifest-0a1b2c3d.avro"
SYNC = bytes(range(16))
MAGIC = b"Obj\x01"


def raw(schema: Any, *blocks: tuple[int, bytes], codec: str = "null") -> bytes:
    """A file with these blocks, whatever they hold."""
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    head = header([("avro.schema", text), ("avro.codec", codec.encode())], SYNC)
    return head + b"".join(block(codec, count, data, SYNC) for count, data in blocks)


def read(data: bytes, columns: Sequence[str] = ALL_COLUMNS) -> pa.Table:
    return decode_entries(parse_container(data, NAME), columns)


def refused(data: bytes) -> str:
    """Why the file is refused; the message names it."""
    with pytest.raises(CorruptTable) as caught:
        read(data)
    assert NAME in str(caught.value)
    return str(caught.value)


def entry_bytes(**changes: Any) -> bytes:
    """The bytes of one entry of the smallest schema that is enough."""
    return avro_string(changes.get("path", "a")) + zigzag(changes.get("size", 5)) + zigzag(7)


SMALL = {
    "type": "record",
    "name": "FileEntry",
    "fields": [
        {"name": "path", "type": "string"},
        {"name": "size", "type": "long"},
        {"name": "modificationTime", "type": "long"},
    ],
}

# --- frames ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["null", "zstandard"])
def test_every_prefix_of_a_state_is_refused_by_name(codec: str) -> None:
    """Break: `decode_state` takes a file without records for an empty state."""
    record = {
        "formatVersion": 1,
        "stateVersion": 7,
        "createdAt": 1,
        "numFiles": 1,
        "totalBytes": 1,
        "manifests": [],
        "tombstones": ["a"],
        "schemaRegistry": {"k": "v"},
        "protocolVersion": 4,
        "metadata": None,
    }
    data = container(avro_schemas.state_manifest(), [record], sync=SYNC, codec=codec)
    assert decode_state(data, NAME).version == 7
    for length in range(len(data)):
        with pytest.raises(CorruptTable, match=NAME):
            decode_state(data[:length], NAME)


@pytest.mark.parametrize(
    "damage",
    [
        MAGIC + zigzag(2**62),
        MAGIC + zigzag(-(2**62)) + zigzag(5),
        MAGIC + zigzag(1) + zigzag(2**62) + b"avro.schema",
        MAGIC + zigzag(1) + zigzag(-7) + b"avro.schema",
        MAGIC + b"\xff" * 100,
        MAGIC + zigzag(1) + avro_string("avro.codec") + avro_string("null") + b"\x00" + SYNC,
        b"Obj\x02" + SYNC,
        b"PAR1" + bytes(100),
        b"",
    ],
    ids=["keys", "negative keys", "key", "negative key", "varint", "no schema", "magic", "parquet", "empty"],
)
def test_a_header_that_lies_about_its_lengths_is_refused(damage: bytes) -> None:
    """Break: `_read_bytes` trusts its length; `MAX_HEADER_KEYS` isn't looked at."""
    refused(damage)


@pytest.mark.parametrize(("count", "size"), [(2**62, 3), (-1, 3), (1, 2**62), (1, -3), (1, 10**9), (4, 3)], ids=str)
def test_a_block_that_lies_about_its_counts_is_refused(count: int, size: int) -> None:
    """Break: `_read_blocks` doesn't compare with the end of the file; `payload` not with the count of records."""
    refused(raw(SMALL) + zigzag(count) + zigzag(size) + b"abc" + SYNC)


_LEFT_OVER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_hostile_avro import SMALL, entry_bytes, raw, refused
one = entry_bytes()
for blocks in [((2, one * 3),), ((2, one * 3), (1, one)), ((0, one),), ((1, one), (0, one), (1, one)), ((1, one + b"x"),)]:
    assert "left over" in refused(raw(SMALL, *blocks)), blocks
print("done")
"""


def test_bytes_left_over_behind_the_records_are_refused_and_never_loop() -> None:
    """Break: `_decode_part` gives DataFusion the blocks as they are: it loops for ever over what is left."""
    assert "done" in run_isolated(_LEFT_OVER, _here(), timeout_s=60)


def _here() -> str:
    return __file__.rpartition("/")[0]


def test_a_wrong_byte_in_any_sync_marker_is_refused() -> None:
    """Break: `_read_blocks` doesn't compare sync markers."""
    data = raw(SMALL, (1, entry_bytes()), (1, entry_bytes(path="b")))
    first, second = (block.start + block.size for block in parse_container(data, NAME).blocks)
    for place in (*range(first, first + 16), *range(second, second + 16)):
        assert "sync marker" in refused(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])


def test_fewer_records_than_claimed_are_refused() -> None:
    """Break: `decode_columns` takes what DataFusion yields before the end."""
    refused(raw(SMALL, (3, entry_bytes() * 2)))
    refused(raw(SMALL, (2, entry_bytes() + avro_string("cut"))))


def test_empty_blocks_between_others_are_fine() -> None:
    """Break: a block of no records and no bytes is taken for damage."""
    found = read(raw(SMALL, (0, b""), (1, entry_bytes(path="a")), (0, b""), (1, entry_bytes(path="b"))), ["path"])
    assert found.column("path").to_pylist() == ["a", "b"]


# --- flips ----------------------------------------------------------------------------------------------------------

_FLIPS = """
import collections, io, sys
sys.path.insert(0, sys.argv[1])
import fastavro
from headgate_table.avro.sentinel import TOKEN
from headgate_table.errors import CorruptTable
from headgate_table.avro.container import parse_container
from test_hostile_avro import NAME, flip_rows, flip_subject
data = flip_subject(sys.argv[2])
first, last = parse_container(data, NAME).blocks[0].start, parse_container(data, NAME).blocks[-1]
told = collections.Counter()
good = flip_rows(data)
for bit in range(int(sys.argv[3]), 8 * len(data), 23):
    flipped = bytearray(data)
    flipped[bit // 8] ^= 1 << bit % 8
    flipped = bytes(flipped)
    try:
        found = flip_rows(flipped)
    except CorruptTable as error:
        assert NAME in str(error), (bit, error)
        told["refused"] += 1
        continue
    if found == good:
        told["same"] += 1
        continue
    assert len(found) == len(good), bit
    if first <= bit // 8:
        told["another value"] += 1  # inside of the records: a value that nothing can check
        continue
    # In the header: fastavro must understand the changed schema as we do.
    theirs = [dict(record) for record in fastavro.reader(io.BytesIO(flipped))]
    for ours, other in zip(found, theirs):
        assert all(other[name] == value for name, value in ours.items() if name in other), bit
    told["another schema"] += 1
print(dict(told))
"""


def flip_subject(codec: str) -> bytes:
    entries = [
        {**file("a", 77, region="eu"), "splitTags": ["x", "y"], "minValues": {"id": "1"}, "numRecords": 5},
        {**file("b", 5, region="us"), "stats": "{}", "docMappingRef": "r"},
        {**file("c", 6, region="ü"), "maxValues": {}},
    ]
    return container(avro_schemas.file_entry_a(), entries, sync=SYNC, codec=codec)


def flip_rows(data: bytes) -> list[dict[str, Any]]:
    """Entries keyed by the format's names."""
    found = []
    for row in read(data).to_pylist():
        found.append(
            {
                field.name: dict(row[field.column])
                if field.kind is FieldKind.STRING_MAP and row[field.column] is not None
                else row[field.column]
                for field in ENTRY_FIELDS
            }
        )
    return found


@pytest.mark.parametrize(("codec", "first_bit"), [("null", 0), ("null", 11), ("zstandard", 5)])
def test_a_flipped_bit_is_refused_or_changes_nothing_but_a_value(codec: str, first_bit: int) -> None:
    """Break: `_decode_part` gives DataFusion more rows to read than there are (`limit`, batch) or drops the sentinel."""
    assert "refused" in run_isolated(_FLIPS, _here(), codec, str(first_bit), timeout_s=240)


def test_a_flipped_bit_in_a_block_that_we_compressed_never_changes_a_value() -> None:
    """Break: `compress` writes zstandard frames without their checksum."""
    rows = [{**file(f"date=2024-01-0{day}/{day}.parquet", day), "addedAtVersion": day} for day in range(1, 6)]
    entries = read(container(avro_schemas.file_entry_a(), rows, sync=SYNC))
    data = encode_manifest(entries, SCHEMA_A, text_of(SCHEMA_A), SYNC)
    changed = []
    for bit in range(8 * (data.index(SYNC) + len(SYNC)), 8 * len(data), 3):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(CorruptTable):
            if not read(bytes(flipped)).equals(entries):
                changed.append(bit)
    assert changed == []


# --- bombs ----------------------------------------------------------------------------------------------------------

_BOMB_BYTES = 64 << 20


def bomb(codec: str, size: int = _BOMB_BYTES) -> bytes:
    """A packed block of zeros."""
    zeros = bytes(size)
    match codec:
        case "deflate":
            return zlib.compress(zeros, 9)[2:-4]
        case "zstandard":
            return zstandard.ZstdCompressor(level=3, write_content_size=False).compress(zeros)
        case "snappy":
            return bytes(cramjam.snappy.compress_raw(zeros)) + zlib.crc32(zeros).to_bytes(4, "big")
        case "bzip2":
            return bz2.compress(zeros)
        case _:
            return lzma.compress(zeros)


_BOMB = """
import sys
sys.path.insert(0, sys.argv[1])
from headgate_table.avro.container import parse_container
from headgate_table.avro.sentinel import TOKEN
from headgate_table.errors import CorruptTable
from test_hostile_avro import NAME, SMALL, SYNC, avro_bytes, bomb, raw, zigzag
codec = sys.argv[2]
packed = parse_container(raw(SMALL, codec=codec) + zigzag(10) + avro_bytes(bomb(codec, 64 << 20)) + SYNC, NAME)
small = parse_container(raw(SMALL, codec=codec) + zigzag(10) + avro_bytes(bomb(codec, 1 << 16)) + SYNC, NAME)
small.payload(small.blocks[0], 1 << 20)
settled()
try:
    packed.payload(packed.blocks[0], 1 << 20)
except CorruptTable as error:
    assert NAME in str(error) and "decompresses to more than" in str(error), error
else:
    raise SystemExit("the bomb went off")
"""


_LIAR = """
import sys
sys.path.insert(0, sys.argv[1])
import zstandard
from headgate_table.avro.container import parse_container
from headgate_table.errors import CorruptTable
from test_hostile_avro import NAME, SMALL, SYNC, avro_bytes, raw, zigzag
honest = zstandard.ZstdCompressor(write_content_size=True).compress(bytes(300))
assert honest[4:7] == bytes([0x60, 0x2c, 0x00]), honest[:8].hex()  # one segment, whose size of 300 is told in two bytes
lying = honest[:4] + bytes([0xE0]) + (100 << 20).to_bytes(8, "little") + honest[7:]
container = parse_container(raw(SMALL, codec="zstandard") + zigzag(1) + avro_bytes(lying) + SYNC, NAME)
settled()
try:
    container.payload(container.blocks[0], 512 << 20)
except CorruptTable as error:
    assert NAME in str(error), error
else:
    raise SystemExit("the lie was believed")
"""


@pytest.mark.parametrize("codec", ["deflate", "zstandard", "snappy", "bzip2", "xz"])
def test_a_decompression_bomb_is_refused_before_it_takes_memory(codec: str) -> None:
    """Break: `_DECOMPRESSORS[codec]` unpacks at once and looks at the size afterwards."""
    assert rss_growth_of(_BOMB, _here(), codec) < 24 << 20


@pytest.mark.parametrize("codec", ["deflate", "zstandard"])
@pytest.mark.parametrize("blocks", [1, 12], ids=["one block", "many blocks"])
def test_the_bound_holds_for_the_whole_file(codec: str, blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `payloads` gives every block the whole bound."""
    monkeypatch.setattr(container_module, "MAX_DECOMPRESSED_BYTES", 1 << 20)
    monkeypatch.setattr(decode, "MAX_DECOMPRESSED_BYTES", 1 << 20)
    each = bomb(codec, (2 << 20) // blocks)
    data = raw(SMALL, codec=codec) + b"".join(zigzag(1) + avro_bytes(each) + SYNC for _ in range(blocks))
    assert "decompresses to more than" in refused(data)
    with pytest.raises(CorruptTable, match="decompresses to more than"):
        decode_entries(parse_container(data, NAME), ["path"], fresh_resources().splitters)


@pytest.mark.parametrize("tells_size", [False, True])
@pytest.mark.parametrize("size", [1, 65_536, _USUAL_BYTES, _USUAL_BYTES + 1, 3 << 20])
def test_a_zstandard_frame_of_any_size_is_read_whole(size: int, tells_size: bool) -> None:
    """Break: what doesn't fit into the first call ends where that does."""
    plain = hashlib.shake_128(b"noise").digest(size)
    packed = zstandard.ZstdCompressor(write_content_size=tells_size).compress(plain)
    container = parse_container(raw(SMALL, codec="zstandard") + zigzag(1) + avro_bytes(packed) + SYNC, NAME)
    assert container.payload(container.blocks[0], 4 << 20) == plain
    if size:
        with pytest.raises(CorruptTable, match="decompresses to more than"):
            container.payload(container.blocks[0], size - 1)


def test_a_zstandard_frame_that_lies_about_its_size_is_refused_before_it_takes_memory() -> None:
    """Break: `_zstandard` believes the size that a frame tells."""
    assert rss_growth_of(_LIAR, _here()) < 24 << 20


def test_a_snappy_block_that_lies_about_its_length_is_refused() -> None:
    """Break: `_snappy` allocates what the block says before it looks at the bound."""
    huge = b"\xff\xff\xff\xff\x0f" + b"abc" + bytes(4)
    assert "decompresses to more than" in refused(raw(SMALL, codec="snappy") + zigzag(1) + avro_bytes(huge) + SYNC)
    short = b"\x02abc" + bytes(4)
    refused(raw(SMALL, codec="snappy") + zigzag(1) + avro_bytes(short) + SYNC)


# --- records and schemas ----------------------------------------------------------------------------------------------

_ABSURD = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_hostile_avro import ABSURD, raw, refused
for case, (schema, record) in ABSURD.items():
    print(json.dumps([case, refused(raw(schema, (1, record)))]), flush=True)
"""


def _with(kind: Any) -> dict[str, Any]:
    return with_field(SMALL, {"name": "extra", "type": kind})


ABSURD: dict[str, tuple[Any, bytes]] = {
    "string": (SMALL, zigzag(2**62) + b"a"),
    "negative string": (SMALL, zigzag(-(2**62)) + b"a"),
    "string beyond the end": (SMALL, zigzag(2**31) + b"a"),
    "array": (_with({"type": "array", "items": "string"}), entry_bytes() + zigzag(2**62) + b"\x00"),
    "array, negative": (
        _with({"type": "array", "items": "string"}),
        entry_bytes() + zigzag(-(2**62)) + zigzag(2**62) + b"\x00",
    ),
    "map": (_with({"type": "map", "values": "string"}), entry_bytes() + zigzag(2**61) + b"\x00\x00"),
    "map, half": (_with({"type": "map", "values": "long"}), entry_bytes() + zigzag(2**33) + b"\x00\x00"),
    "bytes": (_with("bytes"), entry_bytes() + zigzag(2**40)),
    "not UTF-8": (SMALL, avro_bytes(b"\xff\xfe") + zigzag(5) + zigzag(7)),
}


@pytest.fixture(scope="module")
def refusals() -> dict[str, str]:
    """By case, how a process refused it that went through all of them; where one harms it, those before it are shown."""
    return dict(json.loads(line) for line in run_isolated(_ABSURD, _here(), timeout_s=60).splitlines())


@pytest.mark.parametrize("case", ABSURD)
def test_an_absurd_length_inside_of_a_record_is_refused_without_harm(case: str, refusals: dict[str, str]) -> None:
    """Break: `_is_decoder_failure` doesn't know DataFusion's panics; or the slow path lets OverflowError out."""
    assert NAME in refusals[case]


def nested(depth: int, kind: str) -> Any:
    schema: Any = "long"
    for level in range(depth):
        schema = {
            "array": {"type": "array", "items": schema},
            "union": ["null", {"type": "array", "items": schema}],
            "record": {"type": "record", "name": f"R{level}", "fields": [{"name": "x", "type": schema}]},
        }[kind]
    return schema


_SELF = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}

SCHEMAS: dict[str, Any] = {
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe",
    "a text": "string",
    "a list": [SMALL],
    "no fields": {"type": "record", "name": "R"},
    "fields of numbers": {"type": "record", "name": "R", "fields": [1, 2]},
    "a field without a type": {"type": "record", "name": "R", "fields": [{"name": "path"}]},
    "an unknown type": _with("strange"),
    "recursive": _with(_SELF),
    "recursive through an array": _with(
        {"type": "record", "name": "N", "fields": [{"name": "n", "type": {"type": "array", "items": "N"}}]}
    ),
    "deep arrays": _with(nested(500, "array")),
    "deep unions": _with(nested(300, "union")),
    "deep records": _with(nested(200, "record")),
    "deep JSON": b"[" * 200_000,
    "deep JSON, whole": b"[" * 100_000 + b"]" * 100_000,
    "deep type": b'{"type":' * 50_000 + b'"long"' + b"}" * 50_000,
    "arrays of nulls": _with({"type": "array", "items": "null"}),
    "arrays of empty records": _with({"type": "array", "items": {"type": "record", "name": "E", "fields": []}}),
    "arrays of empty fixed": _with({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}),
    "a huge fixed": _with({"type": "fixed", "name": "F", "size": 2**40}),
    "many fields": {
        "type": "record",
        "name": "R",
        "fields": [{"name": f"f{n}", "type": "long"} for n in range(10_001)],
    },
    "a million fields": b'{"type":"record","name":"R","fields":['
    + b",".join(b'{"name":"f%d","type":"long"}' % n for n in range(1_000_000))
    + b"]}",
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_hostile_schema_is_refused_before_any_library_sees_it(case: str) -> None:
    """Break: `checked_schema` returns what it parsed without a look."""
    schema = SCHEMAS[case]
    assert "schema" in refused(raw(schema, (1, entry_bytes() + bytes(50))))
    with pytest.raises(CorruptTable, match=NAME):
        read_records(parse_container(raw(schema, (1, entry_bytes() + bytes(50))), NAME))


def test_ten_thousand_unknown_fields_are_passed_over() -> None:
    """Break: `MAX_FIELDS` is far too low, or a look-up over all fields is made for each."""
    extra = [{"name": f"f{n}", "type": "long"} for n in range(9_000)]
    schema = {**SMALL, "fields": [*SMALL["fields"], *extra]}
    found = read(raw(schema, (1, entry_bytes(path="p") + zigzag(1) * 9_000)), ["path", "size"])
    assert found.to_pylist() == [{"path": "p", "size": 5}]


# --- the slow path ----------------------------------------------------------------------------------------------------


def test_what_datafusion_refuses_is_read_by_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `_by_records` gives the decoder's error up instead of trying, or mixes up columns."""
    data = large_manifest([(range(300), {"date": "2024-01-01"})])
    fast = read(data)

    def fail(*_: object) -> pa.Table:
        raise RuntimeError("no")

    monkeypatch.setattr(decode, "_decode_part", fail)
    assert read(data).equals(fast)


@pytest.mark.parametrize("kind", ["union", "enum", "fixed"])
def test_types_that_only_some_readers_know_do_no_harm(kind: str) -> None:
    """Break: the fallback is taken for damage; or the sentinel isn't a value of such a type."""
    types: dict[str, tuple[Any, bytes]] = {
        "union": (["null", "string", "long", {"type": "array", "items": "int"}], zigzag(2) + zigzag(5)),
        "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, zigzag(1)),
        "fixed": ({"type": "fixed", "name": "F", "size": 3}, b"abc"),
    }
    chosen, value = types[kind]
    found = read(raw(_with(chosen), (2, (entry_bytes(path="p") + value) * 2)), ["path", "size"])
    assert found.to_pylist() == [{"path": "p", "size": 5}] * 2


def test_a_path_that_is_spelled_like_the_sentinel_is_a_path_like_any_other() -> None:
    """Break: rows are cut off at the first path that equals the token."""
    found = read(raw(SMALL, (2, entry_bytes(path=TOKEN) * 2)), ["path"])
    assert found.column("path").to_pylist() == [TOKEN] * 2
