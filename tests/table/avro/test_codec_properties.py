"""Properties of the codecs: random entries are written to the bytes that fastavro writes, and random writers are read."""

import io
import json
from typing import Any

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.avro_schemas import schema_text
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, EntryField, FieldKind
from headgate_table.avro.container import block_bytes, parse_container, varint
from headgate_table.avro.encode import encode_manifest, encode_records
from headgate_table.indextables.format.entries import decode_entries
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from support.drawn.state_strategies import states
from support.logs.raw_log import read_avro
from support.tables import SCHEMA_A, SCHEMA_B, SYNC, arrow_entries, text_of
from support.writers.avro_bytes import container, zigzag
from support.writers.avro_schemas import NAMESPACE

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LONGS = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300), st.sampled_from([2**63 - 1, -(2**63), 0]))
VALUES: dict[FieldKind, st.SearchStrategy[Any]] = {
    FieldKind.STRING: TEXTS,
    FieldKind.LONG: LONGS,
    FieldKind.INT: st.one_of(st.integers(-(2**31), 2**31 - 1), st.integers(-3, 3)),
    FieldKind.BOOLEAN: st.booleans(),
    FieldKind.STRING_MAP: st.dictionaries(TEXTS, TEXTS, max_size=4),
    FieldKind.STRING_LIST: st.lists(TEXTS, max_size=4),
}
AVRO_TYPES: dict[FieldKind, Any] = {
    FieldKind.STRING: "string",
    FieldKind.LONG: "long",
    FieldKind.INT: "int",
    FieldKind.BOOLEAN: "boolean",
    FieldKind.STRING_MAP: {"type": "map", "values": "string"},
    FieldKind.STRING_LIST: {"type": "array", "items": "string"},
}
REQUIRED = ("path", "size", "modificationTime")


def values_of(field: EntryField, optional: bool) -> st.SearchStrategy[Any]:
    return st.none() | VALUES[field.kind] if optional else VALUES[field.kind]


ROWS = st.lists(
    st.fixed_dictionaries({field.column: values_of(field, field.optional) for field in ENTRY_FIELDS}), max_size=6
)


def avro_row(row: dict[str, Any], fields: tuple[EntryField, ...]) -> dict[str, Any]:
    return {field.name: row[field.column] for field in fields}


@given(rows=ROWS, fields=st.sampled_from([SCHEMA_A, SCHEMA_B]))
def test_records_have_the_bytes_that_fastavro_gives_them(
    rows: list[dict[str, Any]], fields: tuple[EntryField, ...]
) -> None:
    """Break: `_longs` stops after nine bytes; or an empty map gets a count before its terminator."""
    schema = fastavro.parse_schema(json.loads(text_of(fields)))
    expected = []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, avro_row(row, fields))
        expected.append(out.getvalue())
    assert encode_records(arrow_entries(rows, fields), fields).to_pylist() == expected


@given(rows=ROWS, codec=st.sampled_from(["null", "zstandard", "snappy", "deflate"]))
def test_a_manifest_of_random_entries_is_what_fastavro_reads(rows: list[dict[str, Any]], codec: str) -> None:
    """Break: `block_bytes` writes the uncompressed length."""
    data = encode_manifest(arrow_entries(rows, SCHEMA_B), SCHEMA_B, text_of(SCHEMA_B), SYNC, codec=codec)
    found = read_avro(data)
    assert (found.codec, found.records) == (codec, [avro_row(row, SCHEMA_B) for row in rows])


@st.composite
def foreign_files(draw: st.DrawFn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A writer's schema with fields in any order, left out, nullable or not, among unknown ones; and records for it."""
    chosen = [field for field in ENTRY_FIELDS if field.name in REQUIRED or draw(st.booleans())]
    fields: list[dict[str, Any]] = []
    values: dict[str, st.SearchStrategy[Any]] = {}
    for field in chosen:
        kind = AVRO_TYPES[field.kind]
        if field.kind is FieldKind.LONG and draw(st.integers(0, 4)) == 0:
            kind, strategy = "int", VALUES[FieldKind.INT]
        else:
            strategy = VALUES[field.kind]
        nullable = field.optional and draw(st.booleans())
        # DataFusion and fastavro both take the null branch in either place.
        union = ["null", kind] if draw(st.booleans()) else [kind, "null"]
        fields.append({"name": field.name, "type": union if nullable else kind})
        values[field.name] = st.none() | strategy if nullable else strategy
    for number in range(draw(st.integers(0, 3))):
        name = f"unknown{number}"
        kind, strategy = draw(st.sampled_from(_UNKNOWN))
        fields.append({"name": name, "type": kind})
        values[name] = strategy
    shuffled = draw(st.permutations(fields))
    schema = {"type": "record", "name": "FileEntry", "namespace": NAMESPACE, "fields": list(shuffled)}
    return schema, draw(st.lists(st.fixed_dictionaries(values), max_size=5))


_UNKNOWN: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("string", TEXTS),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=5)),
    ({"type": "array", "items": "long"}, st.lists(LONGS, max_size=3)),
    (["null", {"type": "map", "values": "int"}], st.none() | st.dictionaries(TEXTS, st.integers(-9, 9), max_size=3)),
    (
        {"type": "record", "name": "Inner", "fields": [{"name": "x", "type": "long"}]},
        st.fixed_dictionaries({"x": LONGS}),
    ),
]


@settings(max_examples=150)
@given(
    file=foreign_files(),
    codec=st.sampled_from(["null", "zstandard", "snappy"]),
    block_bytes_=st.sampled_from([1, 64_000]),
)
def test_whatever_a_writer_puts_around_the_known_fields_they_are_read(
    file: tuple[dict[str, Any], list[dict[str, Any]]], codec: str, block_bytes_: int
) -> None:
    """Break: `decode_columns` picks columns by their place in the schema; or `_absent` gives no default."""
    schema, records = file
    names = {field["name"] for field in schema["fields"]}
    if sum(field["name"].startswith("unknown") for field in schema["fields"]) > 1:
        schema = _with_own_names(schema)
    data = container(schema, records, sync=SYNC, codec=codec, block_bytes=block_bytes_)
    table = decode_entries(parse_container(data, "m.avro"), [field.column for field in ENTRY_FIELDS])
    expected = []
    for record in records:
        row = {}
        for field in ENTRY_FIELDS:
            row[field.column] = record[field.name] if field.name in names else _DEFAULTS.get(field.name)
        expected.append(row)
    found = [
        {
            field.column: dict(row[field.column])
            if field.kind is FieldKind.STRING_MAP and row[field.column] is not None
            else row[field.column]
            for field in ENTRY_FIELDS
        }
        for row in table.to_pylist()
    ]
    assert found == expected


_DEFAULTS: dict[str, Any] = {
    "partitionValues": {},
    "dataChange": True,
    "hasFooterOffsets": False,
    "addedAtVersion": 0,
    "addedAtTimestamp": 0,
}


def _with_own_names(schema: dict[str, Any]) -> dict[str, Any]:
    """Avro allows each record name once."""
    fields = []
    for number, field in enumerate(schema["fields"]):
        kind = field["type"]
        if isinstance(kind, dict) and kind.get("type") == "record":
            kind = {**kind, "name": f"Inner{number}"}
        fields.append({**field, "type": kind})
    return {**schema, "fields": fields}


@given(value=st.integers(-(2**63), 2**63 - 1))
def test_a_long_has_the_bytes_that_the_format_gives_it(value: int) -> None:
    """Break: `varint` shifts by 31 instead of 63."""
    assert varint(value) == zigzag(value)


@given(plain=st.binary(max_size=2000), codec=st.sampled_from(["null", "zstandard", "snappy", "deflate"]))
def test_a_block_is_unpacked_to_what_was_packed(plain: bytes, codec: str) -> None:
    """Break: `_snappy` cuts three bytes instead of four."""
    head = container({"type": "record", "name": "R", "fields": []}, [], sync=SYNC, codec=codec)
    read = parse_container(head + block_bytes(0, plain, codec, SYNC), "f.avro")
    assert [data for _, data in read.payloads()] == [plain]


@given(state=states())
def test_a_state_survives_writing_and_reading(state: Any) -> None:
    """Break: `encode_state` leaves out `coordinator`; `_info` swaps min and max."""
    assert decode_state(encode_state(state, SYNC), "s.avro") == state


def test_the_schemas_on_file_list_the_fields_in_the_order_of_the_encoder() -> None:
    """Break: two fields change places in `file_entry_a.avsc`."""
    for name, fields in (("file_entry_a", SCHEMA_A), ("file_entry_b", SCHEMA_B)):
        found = [field["name"] for field in json.loads(schema_text(name))["fields"]]
        assert found == [field.name for field in fields]
