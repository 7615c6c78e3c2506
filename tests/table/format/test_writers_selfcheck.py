"""The generators of foreign tables against the format's facts: bytes, keys, headers. Our reader has no part in it."""

import gzip
import io
import json
import zlib
from pathlib import Path
from typing import Any

import fastavro
import pytest

from support.logs.known_keys import POINTER_KEYS
from support.writers import avro_schemas
from support.writers.cases.case import Case
from support.writers.cases.cases import CASES
from support.writers.cases.expected import Expected, Fatal
from support.writers.legacy_jar import LegacyJarTable
from support.writers.log_folder import state_name, version_name
from support.writers.repair_json import repaired_table
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable
from support.writers.scala_json import ScalaJsonTable


def _avro(data: bytes) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    reader = fastavro.reader(io.BytesIO(data), return_record_name=False)
    return dict(reader.metadata), [dict(record) for record in reader]  # type: ignore[arg-type]  # our records are dicts


def _state(log: Path, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    header, records = _avro((log / state_name(number) / "_manifest.avro").read_bytes())
    return header, records[0]


def _live(log: Path, number: int) -> set[str]:
    """Read a state independently of generator and reader: entries minus tombstones."""
    _, state = _state(log, number)
    found = set()
    for info in state["manifests"]:
        path = info["path"]
        place = Path(path) if path.startswith("/") else log / path if "/" in path else log / state_name(number) / path
        found |= {entry["path"] for entry in _avro(place.read_bytes())[1]}
    return found - set(state["tombstones"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_builds_what_its_kind_says(case: Case, tmp_path: Path) -> None:
    built = case.build(tmp_path / "table")
    assert isinstance(built, Expected if case.readable else Fatal)
    assert case.filtered == (isinstance(built, Expected) and bool(built.where))


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    trees = []
    for name in ("one", "two"):
        table = ScalaTable(tmp_path / name, partition_columns=("date",))
        table.append(3, date="2024-01-01")
        trees.append({p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.avro")})
    assert trees[0] == trees[1]


# --- Scala --------------------------------------------------------------------------------------------------------


def test_scala_version_0_is_01_01_and_java_gzip(tmp_path: Path) -> None:
    data = ScalaTable(tmp_path).log.get(version_name(0))
    assert data[:12] == bytes.fromhex("01011f8b0800000000000000")
    first, second = gzip.decompress(data[2:]).decode().splitlines()
    assert (
        first == '{"protocol":{"minReaderVersion":4,"minWriterVersion":4,"readerFeatures":null,"writerFeatures":null}}'
    )
    assert list(json.loads(second)["metaData"]) == [
        "id",
        "name",
        "description",
        "format",
        "schemaString",
        "partitionColumns",
        "configuration",
        "createdTime",
    ]


def test_scala_pointer_has_nine_keys_and_no_newline(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    table.append(2)
    data = table.log.get("_last_checkpoint")
    pointer = json.loads(data)
    assert list(pointer) == POINTER_KEYS
    assert not data.endswith(b"\n")
    assert (pointer["parts"], pointer["checkpointId"], pointer["size"], pointer["numFiles"]) == (None, None, 2, 2)
    assert pointer["createdTime"] < _state(table.log.path, 1)[1]["createdAt"]


def test_scala_writes_one_version_file_and_a_state_per_commit(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    for _number in range(3):
        table.append(1)
    names = sorted(p.name for p in table.log.path.iterdir() if not p.name.startswith("."))
    assert names == [version_name(0), "_last_checkpoint", "manifests", *(state_name(n) for n in (1, 2, 3))]


def test_scala_sidecars_hold_the_checksum_of_each_512_bytes(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    table.append(30)
    manifest = next((table.log.path / "manifests").glob("*.avro"))
    data, sidecar = manifest.read_bytes(), (manifest.parent / f".{manifest.name}.crc").read_bytes()
    assert sidecar[:8] == b"crc\x00\x00\x00\x02\x00"
    sums = [zlib.crc32(data[start : start + 512]) for start in range(0, len(data), 512)]
    assert [int.from_bytes(sidecar[8 + 4 * n : 12 + 4 * n], "big") for n in range(len(sums))] == sums


def test_scala_manifest_is_one_zstandard_block_after_schema_and_codec(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    table.append(3)
    data = next((table.log.path / "manifests").glob("*.avro")).read_bytes()
    header, entries = _avro(data)
    assert list(header) == ["avro.schema", "avro.codec"]
    assert header["avro.codec"] == "zstandard"
    assert data.count(bytes.fromhex("28b52ffd0058")) == 1
    assert [entry["addedAtVersion"] for entry in entries] == [0, 0, 0]
    assert all(entry["uncompressedSizeBytes"] == entry["footerStartOffset"] for entry in entries)
    assert all(entry["addedAtTimestamp"] > entry["modificationTime"] for entry in entries)


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        (avro_schemas.file_entry_18(), 18),
        (avro_schemas.file_entry_a(), 21),
        (avro_schemas.file_entry_b(), 25),
        (avro_schemas.file_entry_jar(), 25),
    ],
)
def test_file_entry_schemas_have_the_known_number_of_fields(schema: dict[str, Any], count: int) -> None:
    assert len(schema["fields"]) == count


def test_schema_a_writes_name_type_doc_default_and_id_in_that_order() -> None:
    orders = {tuple(field) for field in avro_schemas.file_entry_a()["fields"]}
    assert orders == {("name", "type", "doc", "field-id"), ("name", "type", "doc", "default", "field-id")}


def test_schema_b_holds_its_four_more_fields_where_the_writer_puts_them() -> None:
    names = [field["name"] for field in avro_schemas.file_entry_b()["fields"]]
    assert names[12:20] == [
        "deleteOpstamp",
        "splitTags",
        "numMergeOps",
        "docMappingJson",
        "docMappingRef",
        "uncompressedSizeBytes",
        "timeRangeStart",
        "timeRangeEnd",
    ]


def test_scala_states_have_bare_registry_keys_and_no_metadata(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    table.append(1)
    _, state = _state(table.log.path, 1)
    assert (list(state["schemaRegistry"]), state["metadata"]) == (["gC45RGOqJ_Grt0xH"], None)
    assert state["manifests"][0]["liveEntryCount"] == -1


def test_scala_tombstones_up_to_a_tenth_and_compacts_above(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    files = table.append(20)
    table.remove(files[:2])
    assert _state(table.log.path, 2)[1]["tombstones"] == [file["path"] for file in files[:2]]
    table.remove(files[2:3])
    assert _state(table.log.path, 3)[1]["tombstones"] == []
    assert _live(table.log.path, 3) == {file["path"] for file in files[3:]}


def test_scala_selective_compaction_drops_tombstones_of_kept_manifests(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path, partition_columns=("date",))
    kept = table.append(20, date="2024-01-01")
    dirty = table.append(4, date="2024-01-02")
    table.remove([kept[0], *dirty[:3]])
    assert kept[0]["path"] in _live(table.log.path, 3)
    assert len(_live(table.log.path, 3)) == 21


@pytest.mark.parametrize(("release", "high"), [("0.4.5", "9"), ("0.5.1", "9"), ("0.5.4", "12")])
def test_scala_bounds_are_text_before_0_5_2(release: str, high: str, tmp_path: Path) -> None:
    table = ScalaTable(tmp_path, release=release, partition_columns=("month",))
    table.commit([table.invented.file({"month": str(month)}) for month in range(1, 13)])
    bounds = _state(table.log.path, 1)[1]["manifests"][0]["partitionBounds"]
    assert bounds == {"month": {"min": "1", "max": high}}


def test_scala_names_carried_manifests_by_their_old_state(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path, home="state")
    table.append(1)
    table.append(1)
    first, second = (info["path"] for info in _state(table.log.path, 2)[1]["manifests"])
    assert first.startswith(f"{state_name(1)}/manifest-")
    assert "/" not in second


def test_scala_late_checkpoint_takes_number_0_and_leaves_the_pointer(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path)
    table.append(2)
    table.append(2)
    assert table.checkpoint(at=0) == 0
    assert len(_live(table.log.path, 0)) == 4
    assert json.loads(table.log.get("_last_checkpoint"))["version"] == 2
    assert list(json.loads(_state(table.log.path, 0)[1]["metadata"])) == ["metaData"]
    assert table.checkpoint() == 3


def test_scala_live_files_agree_with_an_independent_reading(tmp_path: Path) -> None:
    table = ScalaTable(tmp_path, partition_columns=("date",), home="state")
    for day in range(1, 8):
        files = table.append(5, date=f"2024-01-{day:02d}")
        table.remove(files[:1])
    for number, paths in table.per_version.items():
        assert number == 0 or _live(table.log.path, number) == set(paths)


def test_scala_multi_part_checkpoint_lists_its_parts(tmp_path: Path) -> None:
    table = ScalaJsonTable(tmp_path, checkpoint_every=2, actions_per_part=3)
    table.append(4)
    table.append(4)
    index = json.loads(table.log.get(f"{2:020d}.checkpoint.json"))
    assert list(index) == ["version", "checkpointId", "parts", "createdTime", "format"]
    assert len(index["checkpointId"]) == 12
    assert index["parts"] == [f"{2:020d}.checkpoint.{index['checkpointId']}.{n:05d}.json" for n in (1, 2, 3, 4)]
    assert b"docMappingSchema.gC45RGOqJ_Grt0xH" in gzip.decompress(table.log.get(index["parts"][0])[2:])


# --- Rust, early jars, repair -------------------------------------------------------------------------------------


def test_rust_versions_are_plain_gzip_without_nulls(tmp_path: Path) -> None:
    table = RustTable(tmp_path)
    table.append(1)
    data = table.log.get(version_name(1))
    assert data[:3] == b"\x1f\x8b\x08"
    text = gzip.decompress(data).decode()
    assert "null" not in text
    assert text.endswith("}\n")


def test_rust_pointer_has_no_null_keys(tmp_path: Path) -> None:
    table = RustTable(tmp_path)
    table.append(1)
    assert list(json.loads(table.log.get("_last_checkpoint"))) == [
        key for key in POINTER_KEYS if key not in ("parts", "checkpointId")
    ]


def test_rust_states_are_zstandard_with_a_one_byte_level(tmp_path: Path) -> None:
    table = RustTable(tmp_path)
    table.append(1)
    data = (table.log.path / state_name(1) / "_manifest.avro").read_bytes()
    assert b"\x38avro.codec.compression_level\x02\x00" in data
    assert data.find(b"avro.codec") < data.find(b"avro.schema")


def test_rust_manifests_are_uncompressed_with_16_digit_ids_and_many_blocks(tmp_path: Path) -> None:
    table = RustTable(tmp_path)
    table.append(200)
    manifest = next((tmp_path / "_transaction_log" / "manifests").iterdir())
    assert len(manifest.name) == len("manifest-.avro") + 16
    blocks = list(fastavro.block_reader(io.BytesIO(manifest.read_bytes())))
    assert len(blocks) > 3
    assert sum(block.num_records for block in blocks) == 200


def test_rust_state_counts_versions_and_prefixes_registry_keys(tmp_path: Path) -> None:
    table = RustTable(tmp_path)
    table.append(1)
    table.append(2)
    _, state = _state(table.log.path, 2)
    infos = [(i["minAddedAtVersion"], i["maxAddedAtVersion"], i["liveEntryCount"]) for i in state["manifests"]]
    assert infos == [(1, 1, 1), (2, 2, 2)]
    assert list(state["schemaRegistry"]) == ["docMappingSchema.gC45RGOqJ_Grt0xH"]


def test_rust_live_files_agree_with_an_independent_reading(tmp_path: Path) -> None:
    table = RustTable(tmp_path)
    for number in range(12):
        files = table.append(10)
        if number % 3 == 0:
            table.commit([table.file()], files[:1])
    for number, paths in table.per_version.items():
        assert number == 0 or _live(table.log.path, number) == set(paths)


def test_early_jar_states_are_json_with_the_manifest_inside(tmp_path: Path) -> None:
    table = LegacyJarTable(tmp_path, partition_columns=("date",))
    table.append(2, date="2024-01-01")
    folder = table.log.path / state_name(1)
    state = json.loads((folder / "_manifest").read_bytes())
    assert state["manifests"][0]["path"] == "manifest-0000.avro"
    assert state["partitionBounds"] == {"minValues": {"date": "2024-01-01"}, "maxValues": {"date": "2024-01-01"}}
    header, _ = _avro((folder / "manifest-0000.avro").read_bytes())
    schema = json.loads(header["avro.schema"])
    assert schema["namespace"] == "io.indextables.txlog"
    assert [field["name"] for field in schema["fields"]][:3] == ["path", "size", "partitionValues"]


def test_repair_writes_plain_text_without_a_final_newline(tmp_path: Path) -> None:
    repaired_table(tmp_path)
    data = (tmp_path / "_transaction_log" / version_name(1)).read_bytes()
    assert data.startswith(b'{"add":{')
    assert data.endswith(b"}")
