"""Small Avro files that would be large in memory, though their bytes are within bounds: many records, items or fields.

What could take the memory of the machine runs in a process of its own, with a bound that is lowered where that shows the same.
"""

import io
import json
from typing import Any

import fastavro
import pytest

from headgate_table.avro import container as container_module
from headgate_table.avro import items, records
from headgate_table.avro.container import MAX_DECOMPRESSED_BYTES, MAX_RECORDS, parse_container
from headgate_table.avro.items import check_items
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.entries import decode_entries
from headgate_table.indextables.format.state_manifest import decode_state
from support.memory import rss_growth_of
from support.writers import avro_schemas
from support.writers.avro_bytes import avro_string, block, encode_record, header, zigzag
from support.writers.handmade import file

NAME = "_transaction_log/some.avro"
SYNC = bytes(range(16))
UUID = "0e21b1a2-7d1f-4c5e-9d8a-0a1b2c3d4e5f"


def raw(schema: Any, count: int, data: bytes, codec: str = "zstandard") -> bytes:
    """A file with one block, whatever it holds."""
    head = header([("avro.schema", json.dumps(schema).encode()), ("avro.codec", codec.encode())], SYNC)
    return head + block(codec, count, data, SYNC)


def record(*fields: tuple[str, Any], name: str = "R") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": field, "type": kind} for field, kind in fields]}


BOOLEAN = record(("x", "boolean"))
ENTRY = record(("path", "string"), ("size", "long"), ("modificationTime", "long"))
ODD_ENTRY = record(("path", ["string", "null"]), ("size", "long"), ("modificationTime", "long"))
"""Which only the slow path reads."""


def state_of(item: Any, count: int, each: bytes) -> bytes:
    """A state whose manifests are so many items."""
    schema = record(("stateVersion", "long"), ("manifests", {"type": "array", "items": item}))
    return raw(schema, 1, zigzag(7) + zigzag(count) + each * count + zigzag(0))


def tombstones_of(texts: list[str], *, in_blocks: int = 0) -> bytes:
    """A record with a list of texts, and a field after it that tells whether the list was passed over to its end."""
    body = b""
    step = in_blocks or max(1, len(texts))
    for start in range(0, len(texts), step):
        part = b"".join(map(avro_string, texts[start : start + step]))
        count = len(texts[start : start + step])
        body += (zigzag(-count) + zigzag(len(part)) if in_blocks else zigzag(count)) + part
    return body + zigzag(0) + avro_string("end")


_PROLOGUE = """
import sys
sys.path.insert(0, sys.argv[1])
from headgate_table.avro import items, records
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.entries import decode_entries
from headgate_table.indextables.format.state_manifest import decode_state
from test_hostile_items import *
decode_entries(parse_container(raw(ODD_ENTRY, 1, zigzag(0) + avro_string("a") + zigzag(1) + zigzag(1)), NAME), ["path"])

def refused(read, why):
    settled()
    try:
        read()
    except CorruptTable as error:
        assert NAME in str(error) and why in str(error), error
    else:
        raise SystemExit("it was read")
"""

PROGRAMS = {
    "state of many records": """
data = raw(BOOLEAN, 2 << 20, bytes(2 << 20))
refused(lambda: decode_state(data, NAME), "2097152 records")
""",
    "state of many manifests": """
if hasattr(items, "MAX_ITEMS"):
    items.MAX_ITEMS = 1 << 16
data = state_of(record(("path", "string"), ("numEntries", "long"), name="M"), 1 << 20, bytes(2))
refused(lambda: decode_state(data, NAME), "more than 65536 items")
""",
    "state of fields that take no bytes": """
if hasattr(items, "MAX_ITEMS"):
    items.MAX_ITEMS = 1 << 16
nulls = [(f"n{number}", "null") for number in range(9_000)]
data = state_of(record(("path", "string"), *nulls, name="M"), 1_000, bytes(1))
refused(lambda: decode_state(data, NAME), "more than 65536 items")
""",
    "manifest without paths": """
data = raw(record(("size", "long"), ("modificationTime", "long")), 2 << 20, bytes(4 << 20))
refused(lambda: decode_entries(parse_container(data, NAME), ["path"]), "no field path")
""",
    "manifest of a large block": """
if hasattr(records, "MAX_ENTRIES_BLOCK_BYTES"):
    records.MAX_ENTRIES_BLOCK_BYTES = 1 << 20
data = raw(ODD_ENTRY, 1 << 20, bytes(4 << 20))
refused(lambda: decode_entries(parse_container(data, NAME), ["path"]), "more than 1048576 bytes")
""",
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_what_would_be_large_in_memory_is_refused_before_it_is(case: str) -> None:
    """Break: `decode_state` reads all records; `check_items` isn't asked, or counts no fields; `_writers_names` lets what is
    missing be found out later; a block of entries may have any size."""
    assert rss_growth_of(_PROLOGUE + PROGRAMS[case], _here()) < 24 << 20


_MANY_ENTRIES = """
data = raw(ODD_ENTRY, 1 << 20, bytes(4 << 20))
container = parse_container(data, NAME)
settled()
assert decode_entries(container, ["path", "size"]).num_rows == 1 << 20
"""


def test_entries_that_are_read_one_by_one_are_not_held_one_by_one() -> None:
    """Break: `_by_records` makes a list of all records before it makes columns of them."""
    assert rss_growth_of(_PROLOGUE + _MANY_ENTRIES, _here()) < 100 << 20


def test_entries_that_are_read_one_by_one_may_be_none_or_fill_several_pieces() -> None:
    """Break: `_by_records` joins no pieces, or takes the types of the first for those of all."""
    kind = {"type": "map", "values": ["null", "string"]}
    schema = record(*((field["name"], field["type"]) for field in ODD_ENTRY["fields"]), ("partitionValues", kind))
    empty = zigzag(0) + avro_string("a") + zigzag(1) + zigzag(1) + zigzag(0)
    full = empty[:-1] + zigzag(1) + avro_string("p") + zigzag(1) + avro_string("x") + zigzag(0)
    columns = ["path", "partition_values"]
    assert decode_entries(parse_container(raw(schema, 0, b""), NAME), columns).num_rows == 0
    found = decode_entries(parse_container(raw(schema, 1_001, empty * 1_000 + full), NAME), columns)
    assert found.column("path").to_pylist() == ["a"] * 1_001
    assert found.column("partition_values").to_pylist() == [[]] * 1_000 + [[("p", "x")]]


def _here() -> str:
    return __file__.rpartition("/")[0]


def test_a_file_of_more_records_than_entries_can_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `parse_container` believes any number of records."""
    data = raw(ENTRY, 3, (avro_string("a") + zigzag(1) + zigzag(1)) * 3)
    assert decode_entries(parse_container(data, NAME), ["path"]).num_rows == 3
    monkeypatch.setattr(container_module, "MAX_RECORDS", 2)
    with pytest.raises(CorruptTable, match=f"{NAME} claims 3 records"):
        parse_container(data, NAME)


def test_the_bound_on_records_refuses_nothing_that_the_bound_on_bytes_lets_through() -> None:
    least = encode_record(avro_schemas.file_entry_a(), {**file("a"), "path": f"{UUID}.split"})
    assert len(least) > MAX_DECOMPRESSED_BYTES // MAX_RECORDS
    assert len(avro_string(f"{UUID}.split")) > MAX_DECOMPRESSED_BYTES // items.MAX_ITEMS


@pytest.mark.parametrize("missing", ["path", "size", "modificationTime"])
def test_entries_must_have_what_they_mean_nothing_without(missing: str) -> None:
    """Break: `_writers_names` looks only for the columns that are asked for."""
    fields = [(name, kind) for name, kind in (("path", "string"), ("size", "long"), ("modificationTime", "long"))]
    data = raw(record(*(field for field in fields if field[0] != missing)), 1, bytes(2))
    with pytest.raises(CorruptTable, match=f"no field {missing}"):
        decode_entries(parse_container(data, NAME), ["path"])


def test_a_schema_of_few_names_that_stand_for_many_fields_is_refused() -> None:
    """Break: `_named` doesn't count the fields of what it names: a reader builds 2^30 records from no bytes at all."""
    schema: Any = record(("a", "null"), name="R0")
    for level in range(1, 31):
        schema = record(("a", schema), ("b", f"R{level - 1}"), name=f"R{level}")
    whole = record(("path", "string"), ("size", "long"), ("modificationTime", "long"), ("extra", schema), name="E")
    with pytest.raises(CorruptTable, match="more than 10000 fields"):
        decode_entries(parse_container(raw(whole, 1, bytes(3)), NAME), ["path"])


def test_a_type_that_is_named_again_counts_again_and_no_more() -> None:
    """Break: `_remember` keeps all fields so far for those of a type."""
    one = record(*((f"x{number}", "long") for number in range(100)), name="R0")
    whole = record(
        ("path", "string"),
        ("size", "long"),
        ("modificationTime", "long"),
        ("a", one),
        ("b", "R0"),
        ("c", "R0"),
        name="E",
    )
    found = decode_entries(parse_container(raw(whole, 1, avro_string("p") + bytes(302)), NAME), ["path"])
    assert found.column("path").to_pylist() == ["p"]


def test_two_types_of_one_name_are_refused() -> None:
    """Break: `_remember` takes the last of them: what is counted would not be what is built."""
    small = {"type": "fixed", "name": "one.F", "size": 1}
    large = record(*((f"n{number}", "null") for number in range(100)), name="two.F")
    whole = record(
        ("path", "string"), ("size", "long"), ("modificationTime", "long"), ("a", small), ("b", large), name="E"
    )
    with pytest.raises(CorruptTable, match="two types called 'F'"):
        decode_entries(parse_container(raw(whole, 1, bytes(4)), NAME), ["path"])


# --- counting -------------------------------------------------------------------------------------------------------

LIST = record(("texts", {"type": "array", "items": "string"}), ("last", "string"))


@pytest.mark.parametrize("in_blocks", [0, 1, 2])
def test_texts_of_any_length_are_passed_over_exactly(in_blocks: int) -> None:
    """Break: `_texts` takes a length of two bytes for one of one; or trips over blocks that tell their size."""
    texts = ["x" * length for length in (0, 1, 63, 64, 8_191, 8_192, 100_000, 2, 0)]
    data = tombstones_of(texts, in_blocks=in_blocks)
    assert fastavro.schemaless_reader(io.BytesIO(data), LIST, None) == {"texts": texts, "last": "end"}
    check_items(LIST, data, NAME)
    for length in range(len(data) - 5, len(data)):
        with pytest.raises(CorruptTable, match="where its bytes do"):
            check_items(LIST, data[:length], NAME)


@pytest.mark.parametrize(
    ("kind", "value", "count"),
    [
        ({"type": "array", "items": "string"}, ["a"] * 10, 10),
        ({"type": "array", "items": {"type": "string"}}, ["a"] * 10, 10),
        ({"type": "array", "items": "long"}, [2**40] * 10, 10),
        ({"type": "map", "values": "string"}, {str(number): "v" for number in range(10)}, 10),
        ({"type": "array", "items": record(("a", "null"), ("b", "double"), name="I")}, [{"a": None, "b": 1.5}] * 5, 15),
        (["null", {"type": "array", "items": ["null", "boolean"]}], [None, True, False], 3),
        ({"type": "array", "items": {"type": "fixed", "name": "F", "size": 3}}, [b"abc"] * 4, 4),
        ({"type": "array", "items": {"type": "enum", "name": "E", "symbols": ["A", "B"]}}, ["A", "B"], 2),
        ({"type": "array", "items": {"type": "array", "items": "float"}}, [[1.5], [], [2.5, 3.5]], 6),
        (record(("a", "bytes"), name="I"), {"a": b"abc"}, 1),
    ],
    ids=range(10),
)
def test_items_are_counted_whatever_they_are(
    kind: Any, value: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: one of the kinds isn't charged for, or its bytes are passed over wrongly."""
    schema = record(("value", kind), ("last", "string"))
    data = encode_record(schema, {"value": value, "last": "end"})
    monkeypatch.setattr(items, "MAX_ITEMS", count + 2)  # the record's own fields count, too
    check_items(schema, data, NAME)
    with pytest.raises(CorruptTable, match="where its bytes do"):
        check_items(schema, data[:-1], NAME)
    monkeypatch.setattr(items, "MAX_ITEMS", count + 1)
    with pytest.raises(CorruptTable, match=f"{NAME} holds more than {count + 1} items"):
        check_items(schema, data, NAME)


@pytest.mark.parametrize(
    "data",
    [zigzag(2**62), zigzag(-(2**62)) + zigzag(1), zigzag(1) + zigzag(-1), zigzag(1) + zigzag(2**62), b"\xff" * 11, b""],
    ids=["count", "negative count", "negative length", "length", "endless number", "nothing"],
)
def test_a_list_that_lies_about_itself_is_refused(data: bytes) -> None:
    """Break: `_long` or `_text` lets a length out that leads back, or beyond the end."""
    with pytest.raises(CorruptTable, match=NAME):
        check_items(LIST, data, NAME)


def test_a_state_of_two_records_is_no_state() -> None:
    """Break: `decode_state` takes the first of several records."""
    schema = record(("stateVersion", "long"), ("manifests", {"type": "array", "items": "string"}))
    one = zigzag(7) + zigzag(0)
    assert decode_state(raw(schema, 1, one), NAME).version == 7
    for data in (raw(schema, 2, one * 2), raw(schema, 0, b"")):
        with pytest.raises(CorruptTable, match="where one is needed"):
            decode_state(data, NAME)
    assert records.MAX_ENTRIES_BLOCK_BYTES < MAX_DECOMPRESSED_BYTES
