"""State manifests: read as foreign writers left them, written so that fastavro finds what was meant, and obeyed."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.actions.doc_mapping import mapping_hash
from headgate_table.indextables.format.bounds import Bounds
from headgate_table.indextables.format.state_manifest import ManifestInfo, StateManifest, decode_state, encode_state
from headgate_table.indextables.read.entry_reader import read_entries
from support.calls import python_calls
from support.logs.foreign_log import build_on, even_runs, large_path, large_table, one_state
from support.logs.raw_log import RawLog, read_avro
from support.stores import MemoryStore
from support.tables import SYNC, add_file, files, new_table, opened
from support.writers import avro_schemas
from support.writers.avro_bytes import container
from support.writers.handmade import HandMade, file, metadata
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH
from support.writers.log_folder import compact_json

RECORD: dict[str, Any] = {
    "formatVersion": 1,
    "stateVersion": 7,
    "createdAt": 1_775_007_200_000,
    "numFiles": 5,
    "totalBytes": 2**40,
    "manifests": [
        {
            "path": "manifests/manifest-0a1b2c3d.avro",
            "numEntries": 4,
            "minAddedAtVersion": 1,
            "maxAddedAtVersion": 3,
            "partitionBounds": {"date": {"min": "2024-01-01", "max": "2024-01-31"}, "p": {"min": None, "max": None}},
            "tombstoneCount": 2,
            "liveEntryCount": 3,
        },
        {
            "path": "state-v00000000000000000002/manifest-0a1b2c3e.avro",
            "numEntries": 3,
            "minAddedAtVersion": 4,
            "maxAddedAtVersion": 7,
            "partitionBounds": None,
            "tombstoneCount": 0,
            "liveEntryCount": -1,
        },
    ],
    "tombstones": ["date=2024-01-05/ü.parquet", "b.parquet"],
    "schemaRegistry": {DOC_MAPPING_HASH: DOC_MAPPING},
    "protocolVersion": 3,
    "metadata": compact_json(metadata("an-id", ("date",), configuration={"k": "v"})),
}

STATE = StateManifest(
    version=7,
    created_at=1_775_007_200_000,
    num_files=5,
    total_bytes=2**40,
    manifests=(
        ManifestInfo(
            "manifests/manifest-0a1b2c3d.avro",
            4,
            1,
            3,
            {"date": Bounds("2024-01-01", "2024-01-31"), "p": Bounds(None, None)},
            2,
            3,
        ),
        ManifestInfo("state-v00000000000000000002/manifest-0a1b2c3e.avro", 3, 4, 7, None, 0, -1),
    ),
    tombstones=("date=2024-01-05/ü.parquet", "b.parquet"),
    schema_registry={DOC_MAPPING_HASH: DOC_MAPPING},
    protocol_version=3,
)


@pytest.mark.spec("testReadStateManifest")
def test_everything_that_a_state_says_is_read() -> None:
    """Break: `_info` swaps `minAddedAtVersion` and `maxAddedAtVersion`."""
    found = decode_state(container(avro_schemas.state_manifest(), [RECORD], sync=SYNC), "_manifest.avro")
    assert found.metadata is not None
    assert (found.metadata.id, found.metadata.partition_columns) == ("an-id", ("date",))
    assert found.metadata.configuration == {"k": "v"}
    assert found == StateManifest(**{**_fields(STATE), "metadata": found.metadata})


def _fields(state: StateManifest) -> dict[str, Any]:
    return {name: getattr(state, name) for name in state.__dataclass_fields__}


@pytest.mark.spec("testWriteStateManifest")
def test_a_state_is_written_as_one_record_that_says_everything() -> None:
    """Break: `encode_state` writes `state.num_files` as `totalBytes`."""
    meta = Metadata("an-id", "{}", ("date",), {"k": "v"})
    found = read_avro(encode_state(StateManifest(**{**_fields(STATE), "metadata": meta, "coordinator": "x"}), SYNC))
    assert (found.codec, found.block_counts) == ("zstandard", (1,))
    (record,) = found.records
    assert record.pop("coordinator") == "x"
    (body,) = _metadata_bodies(record.pop("metadata"))
    assert (body["id"], body["partitionColumns"], body["configuration"]) == ("an-id", ["date"], {"k": "v"})
    assert record == {key: value for key, value in RECORD.items() if key != "metadata"}


def _metadata_bodies(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text).values())


@pytest.mark.spec("testStateManifestWithTombstones")
def test_a_state_lists_what_was_removed_since_its_manifests_were_written() -> None:
    """Break: `_plan` starts the tombstones anew instead of with those of the base."""
    table = new_table(interval=1)
    table.append(files("a", 30))
    table.delete(paths=["a-00003.parquet"])
    table.delete(paths=["a-00001.parquet", "a-00007.parquet"])
    log = RawLog(table.store)
    assert log.state(2)["tombstones"] == ["a-00003.parquet"]
    assert log.state(3)["tombstones"] == ["a-00003.parquet", "a-00001.parquet", "a-00007.parquet"]
    assert len(log.live(3)) == 27


@pytest.mark.spec("testStateManifestWithSchemaRegistry")
@pytest.mark.parametrize("key", [DOC_MAPPING_HASH, f"docMappingSchema.{DOC_MAPPING_HASH}"], ids=["bare", "prefixed"])
def test_document_mappings_are_found_under_either_form_of_key(key: str) -> None:
    """Break: `_read` keeps the registry's keys as they are, without `bare_hash`."""
    entry = {**file("a"), "docMappingRef": DOC_MAPPING_HASH}
    table = opened(build_on(MemoryStore(), one_state([entry], schemaRegistry={key: DOC_MAPPING})))
    assert table.snapshot().files(["doc_mapping_json"]).to_pylist() == [{"doc_mapping_json": DOC_MAPPING}]


@pytest.mark.spec("testStateManifestWithSchemaRegistry")
def test_document_mappings_of_later_versions_join_the_registry() -> None:
    """Break: `_plan` takes the base's registry only."""
    other = '[{"name":"n","type":"i64"}]'
    table = new_table(interval=1)
    table.append([add_file("a", doc_mapping_json=DOC_MAPPING)])
    table.append([add_file("b", doc_mapping_json=other)])
    log = RawLog(table.store)
    assert log.state(1)["schemaRegistry"] == {DOC_MAPPING_HASH: DOC_MAPPING}
    assert log.state(2)["schemaRegistry"] == {DOC_MAPPING_HASH: DOC_MAPPING, mapping_hash(other): other}


@pytest.mark.spec("testStateManifestVersionBounds")
def test_each_manifest_says_which_versions_added_its_entries() -> None:
    """Break: `describe_manifest` takes the greatest version for both bounds."""
    table = new_table(interval=3)
    for version in range(1, 7):
        table.append(files(f"v{version}", 2))
    infos = RawLog(table.store).state(6)["manifests"]
    assert [(info["minAddedAtVersion"], info["maxAddedAtVersion"]) for info in infos] == [(1, 3), (4, 6)]


@pytest.mark.spec("testStateManifestNumFiles")
def test_the_number_of_files_is_that_of_the_live_ones() -> None:
    """Break: `_plan` doesn't subtract what died; or subtracts a file that a version both added and removed later."""
    table = new_table(interval=1)
    table.append(files("a", 20))
    table.delete(paths=["a-00000.parquet"])
    table.overwrite(files("b", 3))
    log = RawLog(table.store)
    assert [log.state(version)["numFiles"] for version in log.states()] == [20, 19, 3]
    assert [len(log.live(version)) for version in log.states()] == [20, 19, 3]


@pytest.mark.spec("testStateManifestNumFiles")
def test_a_file_that_came_and_went_between_two_states_is_not_counted() -> None:
    """Break: `_plan` counts `delta.removed` whether or not the base holds the path."""
    table = new_table()
    table.append(files("a", 5))
    table.checkpoint()
    table.append([add_file("short-lived")])
    table.delete(paths=["short-lived.parquet"])
    table.append([add_file("last")])
    table.checkpoint()
    state = RawLog(table.store).state(4)
    assert (state["numFiles"], state["tombstones"]) == (6, [])


@pytest.mark.spec("testStateManifestTotalBytes")
def test_the_total_of_bytes_is_that_of_the_live_files() -> None:
    """Break: `_plan` keeps the bytes of what died, as some writers do."""
    table = new_table(interval=1)
    table.append([add_file("a", 100), add_file("b", 20), add_file("c", 3)])
    table.delete(paths=["b.parquet"])
    table.append([add_file("d", 4000)])
    log = RawLog(table.store)
    assert [log.state(version)["totalBytes"] for version in log.states()] == [123, 103, 4103]
    assert log.pointer()["sizeInBytes"] == 4103


@pytest.mark.spec("testApplyTombstones")
def test_a_tombstone_hides_its_path_in_every_manifest() -> None:
    """Break: `_live` filters the first manifest only; or `hidden` leaves out the state's tombstones."""
    build = one_state([file("a"), file("b")], [file("b"), file("c")], tombstones=["b.parquet", "absent.parquet"])
    assert opened(build_on(MemoryStore(), build)).snapshot().paths() == ["a.parquet", "c.parquet"]


@pytest.mark.spec("testEmptyTombstones")
def test_a_state_without_tombstones_hides_nothing() -> None:
    """Break: `_live` returns no rows when there is nothing to hide."""
    build = one_state([file("a"), file("b")], tombstones=[])
    snapshot = opened(build_on(MemoryStore(), build)).snapshot()
    assert (snapshot.paths(), snapshot.log.state.tombstones if snapshot.log.state else None) == (
        ["a.parquet", "b.parquet"],
        (),
    )


def _with_tombstones(count: int) -> Callable[[], int]:
    runs = even_runs(1, 1, 30_000)
    day = runs[0][0][1]

    def build(made: HandMade) -> None:
        large_table(made, runs, tombstones=[large_path(number * 2, day) for number in range(count)])

    table = opened(build_on(MemoryStore(), build, "date"))
    log = table.snapshot().log
    return lambda: read_entries(table.store, table.reader.resources, log, ("path", "size"))[0].num_rows


@pytest.mark.spec("testLargeTombstoneList")
def test_twelve_thousand_tombstones_cost_no_more_steps_than_ten() -> None:
    """Break: `_live` filters once per tombstone (or in a Python loop over entries)."""
    few, many = _with_tombstones(10), _with_tombstones(12_000)
    assert (few(), many()) == (29_990, 18_000)
    assert python_calls(many) < python_calls(few) + 100
