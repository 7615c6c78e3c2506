"""Schemas of file entries that grow, shrink, rename and widen: what older and newer readers and writers make of each other.

The other side is fastavro with the schemas of known writers.
"""

import io
from typing import Any

import fastavro
import pytest

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS
from headgate_schemas.messages.operations import Committed
from headgate_table.avro.container import parse_container
from headgate_table.avro.encode import encode_manifest
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.entries import ALL_COLUMNS, decode_entries
from support.logs.foreign_log import build_on
from support.logs.raw_log import RawLog, read_avro
from support.stores.memory import MemoryStore
from support.tables import SCHEMA_A, SCHEMA_B, SYNC, add_file, entries, new_table, opened, text_of
from support.writers import avro_schemas
from support.writers.avro_bytes import container
from support.writers.handmade import HandMade, file, with_field, with_type, without_fields

Schema = dict[str, Any]

FIELD_IDS = {
    "path": 100,
    "partitionValues": 101,
    "size": 102,
    "modificationTime": 103,
    "dataChange": 104,
    "stats": 110,
    "minValues": 111,
    "maxValues": 112,
    "numRecords": 113,
    "footerStartOffset": 120,
    "footerEndOffset": 121,
    "hasFooterOffsets": 124,
    "deleteOpstamp": 123,
    "splitTags": 132,
    "numMergeOps": 134,
    "docMappingJson": 133,
    "docMappingRef": 135,
    "uncompressedSizeBytes": 136,
    "timeRangeStart": 137,
    "timeRangeEnd": 138,
    "addedAtVersion": 140,
    "addedAtTimestamp": 141,
    "companionSourceFiles": 150,
    "companionDeltaVersion": 151,
    "companionFastFieldMode": 152,
}
"""docs/format.md, section 2.1."""


def read(schema: Schema, *records: dict[str, Any], columns: Any = ALL_COLUMNS) -> list[dict[str, Any]]:
    data = container(schema, records, sync=SYNC)
    found: list[dict[str, Any]] = decode_entries(parse_container(data, "manifest-x.avro"), columns).to_pylist()
    return found


def ids(schema: Schema) -> dict[str, int]:
    return {field["name"]: field["field-id"] for field in schema["fields"]}


def renamed(schema: Schema, old: str, new: str) -> Schema:
    fields = [{**field, "name": new} if field["name"] == old else field for field in schema["fields"]]
    return {**schema, "fields": fields}


@pytest.mark.spec("testAddNewField")
def test_a_field_of_schema_b_comes_with_its_own_id_and_leaves_the_others_alone() -> None:
    """Break: `schema_for` looks at one of the columns of schema B only; the field is lost when its manifest is written."""
    table = new_table(interval=1)
    table.append([add_file("a")])
    table.append([add_file("b", time_range_end="2025")])
    log = RawLog(table.store)
    before, after = log.manifest_of(1).schema, log.manifest_of(2).schema
    added = set(ids(after)) - set(ids(before))
    assert added == {"deleteOpstamp", "docMappingJson", "timeRangeStart", "timeRangeEnd"}
    assert {name: ids(after)[name] for name in ids(before)} == ids(before)
    assert not {ids(after)[name] for name in added} & set(ids(before).values())
    assert [row["timeRangeEnd"] for row in log.manifest_of(2).records] == ["2025"]


@pytest.mark.spec("testFieldIdPreservation")
@pytest.mark.parametrize("fields", [SCHEMA_A, SCHEMA_B], ids=["A", "B"])
def test_field_ids_are_those_of_the_format(fields: Any) -> None:
    """Break: `file_entry_a.avsc` gives `numMergeOps` the id 131 that the old texts give it."""
    schema = read_avro(encode_manifest(entries(1), fields, text_of(fields), SYNC)).schema
    assert ids(schema) == {name: FIELD_IDS[name] for name in ids(schema)}
    assert {field.name: field.field_id for field in ENTRY_FIELDS} == FIELD_IDS


@pytest.mark.spec("testReadOldSchemaWithNewReader")
def test_fields_that_an_old_writer_did_not_know_are_null_or_have_their_default() -> None:
    """Break: `_absent` raises for every missing field, or `_DEFAULTS` says False for `data_change`."""
    schema = without_fields(avro_schemas.file_entry_18(), "dataChange", "addedAtVersion", "addedAtTimestamp", "stats")
    (found,) = read(schema, file("a"))
    assert (found["data_change"], found["added_at_version"], found["added_at_timestamp"]) == (True, 0, 0)
    assert all(found[column] is None for column in ("stats", "companion_source_files", "delete_opstamp"))


@pytest.mark.parametrize("name", ["path", "size", "modificationTime"])
def test_a_manifest_without_a_field_that_nothing_can_replace_is_refused(name: str) -> None:
    """Break: `_REQUIRED` is empty; the entries get a path or a size of null."""
    schema = without_fields(avro_schemas.file_entry_a(), name)
    with pytest.raises(CorruptTable, match=rf"manifest-x\.avro.*{name}"):
        read(schema, file("a"))


@pytest.mark.spec("testReadNewSchemaWithOldReader")
@pytest.mark.parametrize("position", [0, 8, None], ids=["first", "middle", "last"])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("string", "new"),
        (["null", "double"], None),
        ({"type": "array", "items": {"type": "record", "name": "X", "fields": [{"name": "y", "type": "long"}]}}, []),
        ({"type": "map", "values": "bytes"}, {"k": b"v"}),
    ],
    ids=["string", "double", "records", "map"],
)
def test_fields_of_a_newer_writer_are_passed_over(position: int | None, kind: Any, value: Any) -> None:
    """Break: `decode_columns` takes columns by their place; `checked_schema` refuses unknown types."""
    schema = with_field(avro_schemas.file_entry_a(), {"name": "fromTheFuture", "type": kind, "field-id": 900}, position)
    (found,) = read(schema, {**file("a", 77, region="eu"), "fromTheFuture": value})
    assert (found["path"], found["size"], found["partition_values"]) == ("region=eu/a.parquet", 77, [("region", "eu")])


@pytest.mark.parametrize("known", [avro_schemas.file_entry_18(), avro_schemas.file_entry_a()], ids=[18, 21])
@pytest.mark.parametrize("fields", [SCHEMA_A, SCHEMA_B], ids=["A", "B"])
def test_our_manifests_resolve_against_the_schemas_of_older_readers(known: Schema, fields: Any) -> None:
    """Break: a field of schema A loses its name or its type in the `.avsc` file: the state is unreadable in Scala."""
    data = encode_manifest(entries(3), fields, text_of(fields), SYNC)
    found = list(fastavro.reader(io.BytesIO(data), reader_schema=known))
    assert [set(row) for row in found if isinstance(row, dict)] == [set(ids(known))] * 3
    assert [row["size"] for row in found if isinstance(row, dict)] == [10_000, 10_001, 10_002]


@pytest.mark.spec("testRenameField")
def test_a_renamed_field_is_found_by_its_id() -> None:
    """Break: `_writers_names` looks at names only: the number of records is lost, a renamed size refuses the table."""
    schema = renamed(renamed(avro_schemas.file_entry_a(), "numRecords", "rowCount"), "size", "lengthBytes")
    entry = {**file("a"), "rowCount": 5, "lengthBytes": 77}
    (found,) = read(schema, entry)
    assert (found["num_records"], found["size"]) == (5, 77)


def test_a_known_name_goes_before_an_id() -> None:
    """Break: `renamed` takes in fields with known names: the wrong ids of old texts then mix up columns."""
    schema = avro_schemas.file_entry_a()
    wrong = {"numMergeOps": 135, "splitTags": 134, "hasFooterOffsets": 113}
    fields = [{**f, "field-id": wrong.get(f["name"], f["field-id"])} for f in schema["fields"]]
    schema = without_fields({**schema, "fields": fields}, "docMappingRef", "numRecords")
    (found,) = read(schema, {**file("a"), "numMergeOps": 3, "splitTags": ["t"], "hasFooterOffsets": True})
    assert (found["num_merge_ops"], found["split_tags"], found["has_footer_offsets"]) == (3, ["t"], True)
    assert (found["doc_mapping_ref"], found["num_records"]) == (None, None)


@pytest.mark.spec("testPromoteFieldType")
def test_an_int_where_a_long_is_meant_is_widened() -> None:
    """Break: `_conform` returns the column as it is."""
    schema = avro_schemas.file_entry_a()
    for name in ("size", "modificationTime", "addedAtVersion"):
        schema = with_type(schema, name, "int")
    schema = with_type(schema, "numRecords", ["null", "int"])
    (found,) = read(schema, {**file("a", 2**31 - 1), "modificationTime": -(2**31), "numRecords": 5})
    assert (found["size"], found["modification_time"], found["num_records"]) == (2**31 - 1, -(2**31), 5)


@pytest.mark.spec("testPromoteFieldType")
def test_a_long_where_an_int_is_meant_is_taken_if_it_fits_and_refused_if_not() -> None:
    """Break: `_cast` casts unsafely, and a number wraps around."""
    schema = with_type(avro_schemas.file_entry_a(), "numMergeOps", ["null", "long"])
    assert read(schema, {**file("a"), "numMergeOps": 7})[0]["num_merge_ops"] == 7
    with pytest.raises(CorruptTable, match=r"manifest-x\.avro.*numMergeOps"):
        read(schema, {**file("a"), "numMergeOps": 2**31})


@pytest.mark.parametrize("kind", ["string", "double", {"type": "array", "items": "long"}], ids=str)
def test_a_type_that_means_something_else_is_refused(kind: Any) -> None:
    """Break: `_cast` reads numbers from texts, or cuts fractions."""
    value: Any = {"string": "77x", "double": 77.5}.get(kind, [77]) if isinstance(kind, str) else [77]
    with pytest.raises(CorruptTable, match=r"manifest-x\.avro.*size"):
        read(with_type(avro_schemas.file_entry_a(), "size", kind), {**file("a"), "size": value})


NULLABLE_TEXTS = {"type": "map", "values": ["null", "string"]}


def _with_nulls(made: HandMade) -> None:
    schema = avro_schemas.file_entry_a()
    schema = with_type(schema, "partitionValues", NULLABLE_TEXTS)
    schema = with_type(schema, "minValues", ["null", NULLABLE_TEXTS])
    schema = with_type(schema, "splitTags", ["null", {"type": "array", "items": ["null", "string"]}])
    one = {**file("a", region="eu"), "minValues": {"id": "1", "text": None}, "splitTags": ["x", None, "y"]}
    other = {**file("b"), "partitionValues": {"region": None}, "minValues": None, "splitTags": []}
    made.state(1, [made.manifest([one, other], schema=schema)])
    made.pointer(1)


def test_a_null_inside_of_a_map_or_list_is_read_as_in_an_action_and_written_by_a_compaction() -> None:
    """Break: `_conform` lets such a null through: whoever writes the entry fails for good."""
    store = build_on(MemoryStore(), _with_nulls, "region")
    columns = ["path", "partition_values", "min_values", "split_tags"]
    expected = [
        ("region=eu/a.parquet", [("region", "eu")], [("id", "1")], ["x", "y"]),
        ("b.parquet", [("region", NULL_PARTITION)], None, []),
    ]
    table = opened(store)
    assert [tuple(row.values()) for row in table.snapshot().files(columns).to_pylist()] == expected
    assert isinstance(table.compact(), Committed)
    found = [tuple(row.values()) for row in opened(store).snapshot().files(columns).to_pylist()]
    assert sorted(found) == sorted(expected)
