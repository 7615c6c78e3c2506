"""Manifests as Avro containers: what another Avro library makes of ours, and ours of files with other fields."""

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Index, LobFile, Stat
from headgate_table.avro.container import varint
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus import Manifest, ManifestForm, decode_manifest, encode_manifest
from headgate_table.milvus.format.container_schemas import schema_of
from headgate_table.milvus.format.limits import MAX_ITEMS
from support.milvus.strategies import manifests

CONTAINERS = [form for form in ManifestForm if form.is_container]
FILE = {"path": "a.parquet", "start_index": 0, "end_index": 105, "properties": {"file_size": "1024"}}
GROUP = {"columns": ["embedding"], "files": [FILE], "format": "parquet"}
RECORD: dict[str, Any] = {
    "column_groups": [GROUP],
    "delta_logs": [{"path": "d.log", "type": 2, "num_entries": 7}],
    "stats": {"bm25": {"paths": ["b.idx"], "metadata": {"k": "v"}}},
    "indexes": [
        {
            "column_name": "embedding",
            "index_name": "embedding_hnsw",
            "index_type": "HNSW",
            "path": "embedding.idx",
            "field_id": 101,
            "index_id": 102,
            "build_id": 103,
            "index_version": 104,
            "num_rows": 105,
            "serialized_size": 106,
            "mem_size": 107,
            "current_index_version": 108,
            "current_scalar_index_version": 109,
            "index_store_path_version": 110,
            "index_file_keys": ["index_params", "data"],
            "properties": {"M": "16"},
        }
    ],
    "lob_files": [{"path": "1/_data/l", "field_id": 1, "total_rows": 2, "valid_rows": 1, "file_size_bytes": 2048}],
}
MANIFEST = Manifest(
    (ColumnGroup(("embedding",), (ColumnGroupFile("a.parquet", 0, 105, properties={"file_size": "1024"}),)),),
    (DeltaLog("d.log", 7, 2),),
    {"bm25": Stat(("b.idx",), {"k": "v"})},
    (
        Index(
            "embedding",
            "HNSW",
            "embedding.idx",
            {"M": "16"},
            "embedding_hnsw",
            101,
            102,
            103,
            104,
            105,
            106,
            107,
            108,
            109,
            110,
            ("index_params", "data"),
        ),
    ),
    (LobFile("1/_data/l", 1, 2, 1, 2048),),
    ManifestForm.CONTAINER_V6,
)


def container(schema: Any, *records: dict[str, Any], codec: str = "null") -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), records, codec=codec)
    return out.getvalue()


def changed(form: ManifestForm = ManifestForm.CONTAINER_V6) -> dict[str, Any]:
    """A schema that may be changed."""
    copied: dict[str, Any] = json.loads(json.dumps(schema_of(form)))
    return copied


def test_a_file_of_another_library_is_read_whole() -> None:
    assert decode_manifest(container(schema_of(ManifestForm.CONTAINER_V6), RECORD), "m") == MANIFEST


def test_another_library_reads_ours_whole() -> None:
    assert list(fastavro.reader(io.BytesIO(encode_manifest(MANIFEST)))) == [RECORD]


@pytest.mark.parametrize("form", CONTAINERS)
@settings(max_examples=25)
@given(data=st.data())
def test_another_library_writes_the_same_record_as_we_do(form: ManifestForm, data: st.DataObject) -> None:
    manifest = data.draw(manifests(form))
    (record,) = fastavro.reader(io.BytesIO(encode_manifest(manifest)))
    assert decode_manifest(container(schema_of(form), record), "m") == manifest  # type: ignore[arg-type]  # a record


@pytest.mark.parametrize("codec", ["deflate", "zstandard", "snappy"])
def test_compressed_containers_are_read(codec: str) -> None:
    assert decode_manifest(container(schema_of(ManifestForm.CONTAINER_V6), RECORD, codec=codec), "m") == MANIFEST


def test_our_marker_is_the_one_that_was_asked_for() -> None:
    sync = bytes(range(16))
    assert encode_manifest(MANIFEST, sync=sync).endswith(sync)


def test_fields_in_another_order_are_read_by_their_names() -> None:
    schema = changed()
    schema["fields"].reverse()
    assert decode_manifest(container(schema, RECORD), "m") == MANIFEST


def test_records_of_other_names_are_the_same_to_us() -> None:
    schema = changed()
    schema["fields"][2]["type"]["values"]["name"] = "SegmentStatistic"
    assert decode_manifest(container(schema, RECORD), "m") == MANIFEST


def test_missing_fields_have_their_defaults() -> None:
    schema = changed()
    schema["fields"] = schema["fields"][1:2]
    found = decode_manifest(container(schema, RECORD), "m")
    assert (found.delta_logs, found.column_groups, found.stats) == (MANIFEST.delta_logs, (), {})


def test_a_union_with_null_is_read() -> None:
    schema = changed()
    schema["fields"][2]["type"] = ["null", schema["fields"][2]["type"]]
    assert decode_manifest(container(schema, RECORD), "m").stats == MANIFEST.stats


def _add_to(schema: dict[str, Any], where: str) -> None:
    groups = schema["fields"][0]["type"]["items"]
    records = {
        "manifest": schema,
        "groups": groups,
        "files": groups["fields"][1]["type"]["items"],
        "stats": schema["fields"][2]["type"]["values"],
        "indexes": schema["fields"][3]["type"]["items"],
    }
    records[where]["fields"].append({"name": "novelty", "type": "string", "default": "new"})


@pytest.mark.parametrize(
    ("where", "called"),
    [
        ("manifest", "novelty"),
        ("groups", "column_groups.novelty"),
        ("files", "column_groups.files.novelty"),
        ("stats", "stats.novelty"),
        ("indexes", "indexes.novelty"),
    ],
)
def test_a_manifest_with_an_unknown_field_is_read_and_never_written(where: str, called: str) -> None:
    schema = changed()
    _add_to(schema, where)
    manifest = decode_manifest(container(schema, RECORD), "m")
    assert manifest.column_groups == MANIFEST.column_groups
    with pytest.raises(UnsupportedTable, match=f"would lose the field {called}. Only a newer Headgate"):
        encode_manifest(manifest)


def test_a_known_field_of_an_unknown_type_is_refused() -> None:
    schema = changed()
    schema["fields"][1]["type"] = "string"
    with pytest.raises(UnsupportedTable, match="the field delta_logs has a type that we don't know"):
        decode_manifest(container(schema, {**RECORD, "delta_logs": "d.log"}), "m")


def test_a_data_file_without_a_path_is_refused() -> None:
    schema = changed()
    del schema["fields"][0]["type"]["items"]["fields"][1]["type"]["items"]["fields"][0]
    with pytest.raises(UnsupportedTable, match=r"column_groups.files.path is missing"):
        decode_manifest(container(schema, RECORD), "m")


def test_a_container_without_a_record_is_refused() -> None:
    with pytest.raises(CorruptTable, match="without a record"):
        decode_manifest(container(schema_of(ManifestForm.CONTAINER_V6)), "m")


def test_a_container_of_two_records_is_refused() -> None:
    with pytest.raises(CorruptTable, match="holds 2 records"):
        decode_manifest(container(schema_of(ManifestForm.CONTAINER_V6), RECORD, RECORD), "m")


def test_bytes_behind_a_containers_record_are_refused() -> None:
    record = b"\x00" * 6
    with pytest.raises(CorruptTable, match="1 bytes are left over"):
        decode_manifest(_raw_container(json.dumps(schema_of(ManifestForm.CONTAINER_V5)).encode(), record), "m")


def test_a_truncated_container_is_refused() -> None:
    with pytest.raises(CorruptTable, match="truncated"):
        decode_manifest(encode_manifest(MANIFEST)[:-20], "m")


def test_a_schema_that_names_a_field_twice_is_refused() -> None:
    field = {"name": "novelty", "type": "long"}
    text = json.dumps({"type": "record", "name": "Manifest", "fields": [field, field]}).encode()
    data = _raw_container(text, b"\x02\x04")
    with pytest.raises(CorruptTable, match="names a field twice"):
        decode_manifest(data, "m")


def test_records_that_take_no_bytes_cost_no_time() -> None:
    schema: Any = "null"
    for depth in range(30):
        fields = [{"name": "one", "type": schema}, {"name": "two", "type": f"r{depth - 1}" if depth else "null"}]
        schema = {"type": "record", "name": f"r{depth}", "fields": fields}
    with pytest.raises(CorruptTable, match="more than 10000 fields"):
        decode_manifest(_raw_container(json.dumps(schema).encode(), b"\x00" * 4), "m")


def test_fields_that_take_no_bytes_count_as_items() -> None:
    """Break: `_record` charges nothing, or one for all fields."""
    nulls = [{"name": f"n{number}", "type": "null"} for number in range(9_000)]
    item = {"type": "record", "name": "item", "fields": [{"name": "one", "type": "long"}, *nulls]}
    many = {"name": "many", "type": {"type": "array", "items": item}}
    schema = {"type": "record", "name": "Manifest", "fields": [many]}
    count = MAX_ITEMS // 9_000 + 1
    data = varint(count) + bytes(count) + b"\x00"
    with pytest.raises(CorruptTable, match=f"more than {MAX_ITEMS}"):
        decode_manifest(_raw_container(json.dumps(schema).encode(), data), "m")


def _raw_container(schema: bytes, record: bytes) -> bytes:
    from headgate_table.avro.container import block_bytes, header_bytes

    sync = bytes(16)
    return header_bytes(schema, "null", sync) + block_bytes(1, record, "null", sync)
