"""Avro containers: codecs, schemas of other times, blocks, damage."""

import json
from pathlib import Path
from typing import Any

from support.writers import avro_schemas
from support.writers.avro_bytes import CODECS, avro_string, block, container, encode_record, header, zigzag
from support.writers.avro_schemas import Schema
from support.writers.cases.case import Cases
from support.writers.cases.expected import Expected, Fatal, naming
from support.writers.handmade import HandMade, add, file, metadata, with_field, with_type, without_fields
from support.writers.invented import START_MS
from support.writers.log_folder import state_name

CASES = Cases("2.4")

A, B, C = file("a", 1_000), file("b", 2_000), file("c", 3_000)
PA = A["path"]
FILES = [A, B, C]
SCHEMA_A = avro_schemas.file_entry_a()
STATE = avro_schemas.state_manifest()
BAD = "manifests/manifest-bad00000.avro"
BAD_NAMED = naming(r"manifest-bad00000\.avro")
RECORD = {"type": "record", "name": "Extra", "fields": [{"name": "x", "type": "long"}]}
ENUM = {"type": "enum", "name": "Kind", "symbols": ["ONE", "TWO"]}
FIXED = {"type": "fixed", "name": "Digest", "size": 4}


def _of(root: Path, info: Any) -> HandMade:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [info(hand)])
    hand.pointer(1)
    return hand


def _entry(name: str, schema: Schema, entries: list[dict[str, Any]] | None = None, **values: Any) -> None:
    """A readable case: A, B and C in one manifest of this schema; A's entry has these values."""

    @CASES.readable(f"entry: {name}")
    def _(root: Path) -> Expected:
        hand = _of(root, lambda hand: hand.manifest(entries or FILES, schema=schema))
        return hand.expected(1, FILES, entries={PA: values})


def _damaged(name: str, data: bytes) -> None:
    @CASES.fatal(f"manifest: {name} is refused, naming the file")
    def _(root: Path) -> Fatal:
        _of(root, lambda hand: hand.raw_manifest(data, 3, name=BAD))
        return Fatal(BAD_NAMED)


def _bad_schema(name: str, schema: Schema, entries: list[dict[str, Any]], field: str) -> None:
    @CASES.fatal(f"entry: {name} is refused, naming file and field")
    def _(root: Path) -> Fatal:
        _of(root, lambda hand: hand.manifest(entries, schema=schema, name=BAD))
        return Fatal(naming(r"manifest-bad00000\.avro", field))


def _each(**changes: Any) -> list[dict[str, Any]]:
    return [{**file, **changes} for file in FILES]


# --- codecs and layout --------------------------------------------------------------------------------------------

for _codec in CODECS:

    @CASES.readable(f"manifest: codec {_codec}", "2.3")
    def _(root: Path, codec: str = _codec) -> Expected:
        return _of(root, lambda hand: hand.manifest(FILES, codec=codec)).expected(1, FILES)

    @CASES.readable(f"state: codec {_codec}", "2.3")
    def _(root: Path, codec: str = _codec) -> Expected:
        hand = HandMade(root)
        hand.start()
        hand.state(1, [hand.manifest(FILES)], codec=codec)
        hand.pointer(1)
        return hand.expected(1, FILES)

    @CASES.readable(f"manifest: several blocks, codec {_codec}", "2.3")
    def _(root: Path, codec: str = _codec) -> Expected:
        many = [file(f"file-{number:03d}") for number in range(100)]
        return _of(root, lambda hand: hand.manifest(many, codec=codec, block_bytes=500)).expected(1, many)


@CASES.readable("manifest: no codec key means null", "2.3")
def _(root: Path) -> Expected:
    return _of(root, lambda hand: hand.manifest(FILES, codec="null", codec_key=False)).expected(1, FILES)


@CASES.readable("manifest: extra header keys, text and bytes", "2.3")
def _(root: Path) -> Expected:
    extra = [("avro.codec.compression_level", b"\x00"), ("writer", b"someone"), ("blob", b"\xff\x00\xfe")]
    return _of(root, lambda hand: hand.manifest(FILES, extra_header=extra)).expected(1, FILES)


@CASES.readable("manifest: codec before the schema in the header", "2.3")
def _(root: Path) -> Expected:
    return _of(root, lambda hand: hand.manifest(FILES, codec_first=True)).expected(1, FILES)


@CASES.readable("manifest: empty, without a block", "2.3")
def _(root: Path) -> Expected:
    return _of(root, lambda hand: hand.manifest([])).expected(1, [])


@CASES.readable("manifest: empty beside a full one", "2.3")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest([]), hand.manifest(FILES), hand.manifest([])])
    hand.pointer(1)
    return hand.expected(1, FILES)


@CASES.readable("state: no manifests at all", "2.2")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [])
    hand.pointer(1)
    hand.version(2, add(A))
    return hand.expected(2, [A], per_version={1: (), 2: (PA,)})


_SYNC = bytes(range(16))
_HEADER = header(
    [("avro.schema", json.dumps(SCHEMA_A).encode()), ("avro.codec", b"null")],
    _SYNC,
)


@CASES.readable("manifest: a block of zero entries between others", "2.3")
def _(root: Path) -> Expected:
    first, last = encode_record(SCHEMA_A, A), encode_record(SCHEMA_A, B)
    blocks = [block("null", 1, first, _SYNC), block("null", 0, b"", _SYNC), block("null", 1, last, _SYNC)]
    return _of(root, lambda hand: hand.raw_manifest(_HEADER + b"".join(blocks), 2)).expected(1, [A, B])


@CASES.readable("manifest: maps in several blocks, one with a negative count", "2.3")
def _(root: Path) -> Expected:
    schema = {
        "type": "record",
        "name": "FileEntry",
        "namespace": avro_schemas.NAMESPACE,
        "fields": [
            f for f in SCHEMA_A["fields"] if f["name"] in ("path", "partitionValues", "size", "modificationTime")
        ],
    }
    one = avro_string("date") + avro_string("2024-01-01")
    two = avro_string("region") + avro_string("eu")
    map_bytes = zigzag(-1) + zigzag(len(one)) + one + zigzag(1) + two + zigzag(0)
    record = avro_string(PA) + map_bytes + zigzag(A["size"]) + zigzag(START_MS)
    head = header([("avro.schema", json.dumps(schema).encode()), ("avro.codec", b"null")], _SYNC)
    data = head + block("null", 1, record, _SYNC)
    values = {"partition_values": {"date": "2024-01-01", "region": "eu"}}
    return _of(root, lambda hand: hand.raw_manifest(data, 1)).expected(1, [A], entries={PA: values})


@CASES.readable("manifest: a header whose map comes in two blocks, one with a negative count", "2.3")
def _(root: Path) -> Expected:
    schema = avro_string("avro.schema") + avro_string(json.dumps(SCHEMA_A))
    codec = avro_string("avro.codec") + avro_string("null")
    head = b"Obj\x01" + zigzag(-1) + zigzag(len(schema)) + schema + zigzag(1) + codec + zigzag(0) + _SYNC
    data = head + block("null", 1, encode_record(SCHEMA_A, A), _SYNC)
    return _of(root, lambda hand: hand.raw_manifest(data, 1)).expected(1, [A])


# --- schemas of other times ---------------------------------------------------------------------------------------

_entry("18 fields", avro_schemas.file_entry_18())
_entry("25 fields", avro_schemas.file_entry_b())
_entry("an early jar's field order and namespace", avro_schemas.file_entry_jar())
_entry(
    "an early jar's time range as a long is its text",
    avro_schemas.file_entry_jar(),
    _each(timeRangeStart=1_775_007_200, timeRangeEnd=1_775_007_300),
    time_range_start="1775007200",
    time_range_end="1775007300",
)
_entry(
    "an early jar's null hasFooterOffsets is false",
    avro_schemas.file_entry_jar(),
    _each(hasFooterOffsets=None),
    has_footer_offsets=False,
)
_entry("another record name and namespace", {**SCHEMA_A, "name": "Entry", "namespace": "somewhere.else"})
_entry("no namespace", {key: value for key, value in SCHEMA_A.items() if key != "namespace"})
_entry("fields in reverse order", {**SCHEMA_A, "fields": list(reversed(SCHEMA_A["fields"]))})
_entry(
    "nullable partition values",
    with_type(SCHEMA_A, "partitionValues", {"type": "map", "values": ["null", "string"]}),
    _each(partitionValues={"date": "2024-01-01", "region": None}),
    partition_values={"date": "2024-01-01", "region": None},
)
_entry(
    "a union around partitionValues",
    with_type(SCHEMA_A, "partitionValues", ["null", {"type": "map", "values": "string"}]),
    _each(partitionValues=None),
    partition_values={},
)
_entry("a union around size", with_type(SCHEMA_A, "size", ["null", "long"]), size=1_000)
_entry("a union with null last around size", with_type(SCHEMA_A, "size", ["long", "null"]), size=1_000)
_entry("a union around path", with_type(SCHEMA_A, "path", ["null", "string"]))
_entry(
    "a union around modificationTime",
    with_type(SCHEMA_A, "modificationTime", ["null", "long"]),
    modification_time=START_MS,
)
_entry(
    "a text as size", with_type(SCHEMA_A, "size", "string"), [{**f, "size": str(f["size"])} for f in FILES], size=1_000
)
_entry("an int as size", with_type(SCHEMA_A, "size", "int"), size=1_000)
_entry(
    "a long as numMergeOps", with_type(SCHEMA_A, "numMergeOps", ["null", "long"]), _each(numMergeOps=2), num_merge_ops=2
)
_entry("a required numRecords", with_type(SCHEMA_A, "numRecords", "long"), num_records=10)
_entry("no dataChange means true", without_fields(SCHEMA_A, "dataChange"), data_change=True)
_entry("no partitionValues means none", without_fields(SCHEMA_A, "partitionValues"), partition_values={})
_entry(
    "no added-at fields means 0",
    without_fields(SCHEMA_A, "addedAtVersion", "addedAtTimestamp"),
    added_at_version=0,
    added_at_timestamp=0,
)
_entry(
    "only the three fields that nobody can do without",
    {**SCHEMA_A, "fields": [f for f in SCHEMA_A["fields"] if f["name"] in ("path", "size", "modificationTime")]},
    size=1_000,
    num_records=None,
)
_entry(
    "a timestamp type on modificationTime",
    with_type(SCHEMA_A, "modificationTime", {"type": "long", "logicalType": "timestamp-millis"}),
    modification_time=START_MS,
)
_entry(
    "every optional field null",
    SCHEMA_A,
    _each(numRecords=None),
    stats=None,
    min_values=None,
    num_records=None,
    companion_source_files=None,
    companion_delta_version=None,
)
_entry(
    "every optional field set",
    avro_schemas.file_entry_b(),
    _each(
        stats="{}",
        minValues={"id": "1"},
        maxValues={"id": "9"},
        footerStartOffset=10,
        footerEndOffset=20,
        hasFooterOffsets=True,
        deleteOpstamp=3,
        splitTags=["x", "y"],
        numMergeOps=4,
        docMappingJson="[]",
        docMappingRef="T1PNoYwrqgwDVLtf",
        uncompressedSizeBytes=99,
        timeRangeStart="1",
        timeRangeEnd="2",
        addedAtVersion=7,
        addedAtTimestamp=START_MS,
        companionSourceFiles=["p.parquet"],
        companionDeltaVersion=5,
        companionFastFieldMode="HYBRID",
    ),
    stats="{}",
    min_values={"id": "1"},
    max_values={"id": "9"},
    footer_start_offset=10,
    footer_end_offset=20,
    has_footer_offsets=True,
    delete_opstamp=3,
    split_tags=["x", "y"],
    num_merge_ops=4,
    doc_mapping_json="[]",
    doc_mapping_ref="T1PNoYwrqgwDVLtf",
    uncompressed_size_bytes=99,
    time_range_start="1",
    time_range_end="2",
    added_at_version=7,
    added_at_timestamp=START_MS,
    companion_source_files=["p.parquet"],
    companion_delta_version=5,
    companion_fast_field_mode="HYBRID",
)

_EXTRA: dict[str, tuple[Any, Any]] = {
    "a string": ("string", "x"),
    "bytes": ("bytes", b"\x00\xff"),
    "a double": ("double", 1.5),
    "a record": (RECORD, {"x": 1}),
    "a nullable record": (["null", RECORD], {"x": 1}),
    "an array of records": ({"type": "array", "items": RECORD}, [{"x": 1}, {"x": 2}]),
    "a map of longs": ({"type": "map", "values": "long"}, {"k": 3}),
    "a union of several": (["null", "string", "long"], 5),
    "an enum": (ENUM, "TWO"),
    "a fixed": (FIXED, b"abcd"),
    "a null": ("null", None),
}

for _name, (_kind, _value) in _EXTRA.items():
    for _place, _position in {"first": 0, "middle": 9, "last": None}.items():
        _entry(
            f"{_name} more, {_place}",
            with_field(SCHEMA_A, {"name": "zzz", "type": _kind}, _position),
            _each(zzz=_value),
            size=1_000,
        )

_bad_schema("no path", without_fields(SCHEMA_A, "path"), FILES, "path")
_bad_schema("no size", without_fields(SCHEMA_A, "size"), FILES, "size")
_bad_schema("no modificationTime", without_fields(SCHEMA_A, "modificationTime"), FILES, "modificationTime")
_bad_schema("a null size", with_type(SCHEMA_A, "size", ["null", "long"]), [A, {**B, "size": None}], "size")
_bad_schema("a null path", with_type(SCHEMA_A, "path", ["null", "string"]), [A, {**B, "path": None}], "path")
_bad_schema("a text that is no number as size", with_type(SCHEMA_A, "size", "string"), _each(size="large"), "size")

# --- damaged manifests --------------------------------------------------------------------------------------------

_GOOD = container(SCHEMA_A, FILES, sync=_SYNC)
_NULL = container(SCHEMA_A, FILES, sync=_SYNC, codec="null")

_damaged("an empty file", b"")
_damaged("four bytes", b"Obj\x01")
_damaged("another kind of file", b"PAR1" + bytes(100))
_damaged("a cut header", _GOOD[:200])
_damaged("a cut block", _GOOD[:-30])
_damaged("a cut uncompressed block", _NULL[:-30])
_damaged("a missing last sync marker", _GOOD[:-16])
_damaged("a wrong sync marker", _GOOD[:-1] + b"\x00")
_damaged("an unknown codec", _GOOD.replace(b"\x12zstandard", b"\x12lz4-codec"))
_damaged("a schema that is no JSON", header([("avro.schema", b"{record"), ("avro.codec", b"null")], _SYNC))
_damaged("a schema that is no record", header([("avro.schema", b'"long"'), ("avro.codec", b"null")], _SYNC))
_damaged("no schema", header([("avro.codec", b"null")], _SYNC))
_damaged("a block that claims too much", _HEADER + zigzag(1) + zigzag(1 << 40) + b"x" * 50)
_damaged("a block with a negative size", _HEADER + zigzag(1) + zigzag(-5) + _SYNC)
_damaged("a string that claims too much", _HEADER + block("null", 1, zigzag(1 << 50) + b"x", _SYNC))
_damaged(
    "a string that is not UTF-8",
    _HEADER + block("null", 1, encode_record(SCHEMA_A, A).replace(b"a.par", b"\xff\xfear"), _SYNC),
)
_damaged("a block with fewer entries than it says", _HEADER + block("null", 2, encode_record(SCHEMA_A, A), _SYNC))
_damaged("a damaged zstandard block", _GOOD[:-40] + bytes(b ^ 0xFF for b in _GOOD[-40:-30]) + _GOOD[-30:])

# --- the state manifest -------------------------------------------------------------------------------------------


@CASES.readable("state: extra fields everywhere, header keys too")
def _(root: Path) -> Expected:
    schema = with_field(STATE, {"name": "coordinator", "type": ["null", RECORD], "default": None})
    schema = with_field(schema, {"name": "first", "type": {"type": "map", "values": "bytes"}}, 0)
    manifests = next(f for f in schema["fields"] if f["name"] == "manifests")
    item = with_field(manifests["type"]["items"], {"name": "digest", "type": "string"}, 1)
    schema = with_type(schema, "manifests", {"type": "array", "items": item})
    hand = HandMade(root)
    hand.start()
    info = {**hand.manifest(FILES), "digest": "sha256:00"}
    hand.state(1, [info], schema=schema, coordinator={"x": 9}, first={"k": b"\xff"})
    hand.pointer(1)
    return hand.expected(1, FILES)


@CASES.readable("state: without the fields that have defaults")
def _(root: Path) -> Expected:
    schema = without_fields(STATE, "tombstones", "schemaRegistry", "protocolVersion", "metadata")
    manifests = next(f for f in schema["fields"] if f["name"] == "manifests")
    item = without_fields(manifests["type"]["items"], "partitionBounds", "tombstoneCount", "liveEntryCount")
    schema = with_type(schema, "manifests", {"type": "array", "items": item})
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest(FILES)], schema=schema)
    hand.pointer(1)
    return hand.expected(1, FILES)


@CASES.readable("state: another record name and namespace")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    hand.state(1, [hand.manifest(FILES)], schema={**STATE, "name": "TableState", "namespace": "somewhere.else"})
    hand.pointer(1)
    return hand.expected(1, FILES)


@CASES.readable("state: a registry with bare and with prefixed keys", "2.2")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    registry = {"T1PNoYwrqgwDVLtf": "[]", "docMappingSchema.gC45RGOqJ_Grt0xH": "[]"}
    hand.state(1, [hand.manifest(FILES)], schemaRegistry=registry)
    hand.pointer(1)
    return hand.expected(1, FILES)


_BOUNDS: dict[str, Any] = {
    "absent": None,
    "an empty map": {},
    "null at both ends": {"date": {"min": None, "max": None}},
    "null at the upper end": {"date": {"min": "2024-01-01", "max": None}},
    "another column's": {"region": {"min": "eu", "max": "eu"}},
    "exact": {"date": {"min": "2024-01-01", "max": "2024-01-03"}},
}

for _name, _bound in _BOUNDS.items():

    @CASES.readable(f"bounds: {_name}", "7", filtered=True)
    def _(root: Path, bound: Any = _bound) -> Expected:
        files = [file(str(day), date=f"2024-01-0{day}") for day in (1, 2, 3)]
        other = file("other", date="2024-02-01")
        hand = HandMade(root, ("date",))
        hand.start()
        hand.state(1, [{**hand.manifest(files), "partitionBounds": bound}, hand.manifest([other])])
        hand.pointer(1)
        filters = {
            "date = '2024-01-02'": (files[1]["path"],),
            "date = '2024-02-01'": (other["path"],),
            "date = '2023-01-01'": (),
        }
        return hand.expected(1, [*files, other], where=filters)


@CASES.readable("state: manifests named in every way that is known", "1.2")
def _(root: Path) -> Expected:
    hand = HandMade(root)
    hand.start()
    shared = hand.manifest([A])
    inside = hand.manifest([B], name=f"{state_name(1)}/manifest-0000.avro")
    other = hand.manifest([C], name=f"{state_name(0)}/manifest-0123abcd.avro")
    absolute = hand.manifest([file("d")])
    absolute["path"] = str(hand.log.path / absolute["path"])
    hand.state(1, [shared, {**inside, "path": "manifest-0000.avro"}, other, absolute])
    hand.pointer(1)
    return hand.expected(1, [*FILES, file("d")])


@CASES.fatal("state: a manifest path that climbs out of the table is refused", "1.2")
def _(root: Path) -> Fatal:
    hand = HandMade(root)
    hand.start()
    outside = root.with_name("outside")
    HandMade(outside).log.put("manifest-bad00000.avro", container(SCHEMA_A, FILES, sync=_SYNC))
    info = hand.manifest([A])
    info["path"] = "manifests/../../../outside/_transaction_log/manifest-bad00000.avro"
    hand.state(1, [info])
    hand.pointer(1)
    return Fatal(BAD_NAMED)


_STATE_NAMED = naming(r"state-v0{19}1\W.*_manifest\.avro")


def _damaged_state(name: str, damage: Any) -> None:
    @CASES.fatal(f"state: {name} is refused, naming the file", "2.2")
    def _(root: Path) -> Fatal:
        hand = HandMade(root)
        hand.start()
        hand.state(1, [hand.manifest(FILES)], meta=metadata("table-at-0"))
        hand.pointer(1)
        path = f"{state_name(1)}/_manifest.avro"
        hand.log.put(path, damage(hand.log.get(path)))
        return Fatal(_STATE_NAMED)


_damaged_state("an empty file", lambda _data: b"")
_damaged_state("a cut file", lambda data: data[: len(data) // 2])
_damaged_state("a missing sync marker", lambda data: data[:-16])
_damaged_state("no record", lambda _data: container(STATE, [], sync=_SYNC))
_damaged_state("a file of another kind", lambda _data: b'{"version":1}')
_damaged_state("a manifest of files in its place", lambda _data: _GOOD)
