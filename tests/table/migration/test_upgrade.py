"""From JSON checkpoints to Avro states: reading old tables as they are, and what a first state makes of them.

The old tables are in the manner of the Scala implementation; what was written is read back by fastavro.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.store.interface import Store
from support.logs.foreign_log import copy_to
from support.logs.raw_log import RawLog
from support.stores import FaultyStore, MemoryStore
from support.tables import add_file, opened
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH
from support.writers.scala_json import ScalaJsonTable


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def stored(root: Path) -> MemoryStore:
    store = MemoryStore()
    copy_to(store, root)
    return store


def old_table(root: Path, **options: Any) -> ScalaJsonTable:
    """Twelve versions: a checkpoint at 10, then a removal and an append."""
    made = ScalaJsonTable(root, **options)
    partition = {"region": "eu", "month": "3"} if made.partition_columns else {}
    for _ in range(10):
        made.append(2, **partition)
    made.commit((), list(made.live.values())[3:5])
    made.append(1, **partition)
    return made


@pytest.fixture
def old(tmp_path: Path) -> ScalaJsonTable:
    return old_table(tmp_path, partition_columns=("region", "month"))


@pytest.mark.spec("testReadLegacyJsonCheckpoint")
@pytest.mark.parametrize("actions_per_part", [100_000, 7])
def test_a_json_checkpoint_stands_in_for_the_versions_before_it(tmp_path: Path, actions_per_part: int) -> None:
    """Break: `_read` takes no actions from the base CHECKPOINT; or `read_checkpoint` reads the first part only."""
    made = old_table(tmp_path, actions_per_part=actions_per_part)
    made.delete_versions_below(10)
    snapshot = opened(stored(tmp_path)).snapshot()
    assert (snapshot.version, tuple(snapshot.paths())) == (12, made.expected().paths)
    assert snapshot.statistics.version_files_read == 2


@pytest.mark.spec("testAutoUpgradeOnRead")
def test_reading_an_old_table_gives_a_snapshot_like_any_other_and_writes_nothing(old: ScalaJsonTable) -> None:
    """Break: `added_table` leaves out a column; or reading writes a state."""
    store = FaultyStore(stored(old.log.table))
    snapshot = opened(store).snapshot()
    rows = {row["path"]: row for row in snapshot.files().to_pylist()}
    assert sorted(rows) == sorted(old.live)
    for path, file in old.live.items():
        row = rows[path]
        assert dict(row["partition_values"]) == file["partitionValues"]
        assert (row["size"], row["num_records"], row["footer_start_offset"], row["doc_mapping_ref"]) == (
            file["size"],
            file["numRecords"],
            file["footerStartOffset"],
            file["docMappingRef"],
        )
    assert snapshot.total_bytes == sum(file["size"] for file in old.live.values())
    assert store.count("put", "create", "swap", "delete") == 0


@pytest.mark.spec("testUpgradePreservesAllFiles")
@pytest.mark.parametrize("protocol", [None, (1, 1), (2, 2), (3, 3)], ids=["none", "V1", "V2", "V3"])
def test_the_first_state_lists_every_live_file_once(tmp_path: Path, protocol: tuple[int, int] | None) -> None:
    """Break: `_plan` writes only what was added after the checkpoint."""
    made = old_table(tmp_path, protocol=protocol)
    table = opened(stored(tmp_path))
    assert table.checkpoint() == 12
    log = RawLog(table.store)
    assert sorted(entry["path"] for entry in log.entries(12)) == sorted(made.live)
    assert log.state(12)["numFiles"] == len(made.live)
    assert log.pointer()["stateDir"] == "state-v00000000000000000012"
    assert tuple(opened(table.store).snapshot().paths()) == made.expected().paths


@pytest.mark.spec("testUpgradePreservesPartitionValues")
def test_partition_values_and_their_bounds_are_in_the_first_state(old: ScalaJsonTable) -> None:
    """Break: `added_table` writes empty partition values; or the first manifest gets no bounds."""
    old.append(2, region="us", month="12")
    table = opened(stored(old.log.table))
    log = RawLog(table.store)
    version = table.checkpoint()
    found = {path: entry["partitionValues"] for path, entry in log.live(version).items()}
    assert found == {path: file["partitionValues"] for path, file in old.live.items()}
    (info,) = log.state(version)["manifests"]
    assert info["partitionBounds"] == {"region": {"min": "eu", "max": "us"}, "month": {"min": "3", "max": "12"}}
    assert opened(table.store).snapshot(where="month = 12").num_files == 2


@pytest.mark.spec("testUpgradePreservesStatistics")
def test_statistics_are_in_the_first_state(old: ScalaJsonTable) -> None:
    """Break: `added_table` drops `min_values`, or `num_records`."""
    file = old.invented.file({"region": "eu", "month": "3"})
    old.commit([{**file, "stats": '{"numRecords":2}'}])
    table = opened(stored(old.log.table))
    live = RawLog(table.store).live(table.checkpoint())
    kept = ("stats", "minValues", "maxValues", "numRecords", "uncompressedSizeBytes", "footerEndOffset", "numMergeOps")
    for path, file in old.live.items():
        assert {key: live[path][key] for key in kept} == {key: file[key] for key in kept}
    assert live[file["path"]]["stats"] == '{"numRecords":2}'


@pytest.mark.spec("testUpgradePreservesSchemaRegistry")
def test_document_mappings_are_in_the_first_state_twice(old: ScalaJsonTable) -> None:
    """Under a bare hash in the registry, prefixed in the metadata. Break: `_plan` forgets `log.registry`."""
    table = opened(stored(old.log.table))
    log = RawLog(table.store)
    state = log.state(table.checkpoint())
    assert state["schemaRegistry"] == {DOC_MAPPING_HASH: DOC_MAPPING}
    configuration = json.loads(state["metadata"])["metaData"]["configuration"]
    assert configuration[f"docMappingSchema.{DOC_MAPPING_HASH}"] == DOC_MAPPING
    assert {entry["docMappingRef"] for entry in log.entries(state["stateVersion"])} == {DOC_MAPPING_HASH}
    restored = opened(table.store).snapshot().files(["doc_mapping_json"])
    assert set(restored.column("doc_mapping_json").to_pylist()) == {DOC_MAPPING}


@pytest.mark.spec("testWriteAfterUpgrade")
def test_writes_after_the_upgrade_make_states_and_no_json_checkpoint(old: ScalaJsonTable) -> None:
    """Break: `_base_kind` says CHECKPOINT where the setting says avro."""
    table = opened(stored(old.log.table), interval=2)
    table.checkpoint()
    for number in range(4):
        committed(table.append([add_file(f"new{number}", region="eu", month=3)]))
    log = RawLog(table.store)
    assert log.states() == [12, 14, 16]
    names = sorted(log.keys(""))
    assert [name for name in names if name.endswith(".checkpoint.json")] == ["00000000000000000010.checkpoint.json"]
    assert log.pointer()["format"] == "avro-state"
    assert sorted(log.live(16)) == opened(table.store).snapshot().paths()
    assert len(log.live(16)) == len(old.live) + 4


@pytest.mark.spec("testWriteAfterUpgrade")
def test_an_old_table_is_upgraded_by_the_first_state_that_is_due(old: ScalaJsonTable) -> None:
    """Nobody has to ask for a checkpoint. Break: `_state_if_due` counts from 0 only when there is a state."""
    table = opened(stored(old.log.table), interval=4)
    assert RawLog(table.store).states() == []
    for number in range(2):
        table.append([add_file(f"new{number}", region="eu", month=3)])
    assert RawLog(table.store).states() == [14]


@pytest.mark.spec("testUpgradeFromV2ToV4")
@pytest.mark.parametrize("protocol", [None, (1, 1), (2, 2), (3, 3)], ids=["none", "V1", "V2", "V3"])
def test_a_state_raises_the_protocol_to_4(tmp_path: Path, protocol: tuple[int, int] | None) -> None:
    """In this process and in the next one. Break: `StateManifest` gets `log.protocol`; or `rebased` keeps the old one."""
    old_table(tmp_path, protocol=protocol)
    table = opened(stored(tmp_path))
    found = table.protocol
    assert (found.min_reader_version, found.min_writer_version) == (protocol or (1, 1))
    version = table.checkpoint()
    assert RawLog(table.store).state(version)["protocolVersion"] == 4
    for seen in (table, opened(table.store)):
        assert (seen.protocol.min_reader_version, seen.protocol.min_writer_version) == (4, 4)


@pytest.mark.spec("testUpgradeFromV2ToV4")
def test_versions_from_before_the_upgrade_are_read_as_before(tmp_path: Path) -> None:
    """Break: `at_version` looks for states only."""
    made = old_table(tmp_path, protocol=(2, 2))
    table = opened(stored(tmp_path))
    table.checkpoint()
    table.append([add_file("new")])
    for version, paths in made.per_version.items():
        snapshot = opened(table.store).snapshot(version=version)
        assert tuple(snapshot.paths()) == paths
        assert snapshot.protocol.min_reader_version == (4 if version == 12 else 2)


@pytest.mark.spec("testUpgradeWithActiveTombstones")
def test_removes_after_the_checkpoint_are_carried_out_by_the_upgrade(tmp_path: Path) -> None:
    """A first state needs no tombstones: what is removed is in no manifest. Break: `_plan` ignores `delta.removed`."""
    made = old_table(tmp_path)
    removed = [path for path in made.per_version[10] if path not in made.live]
    assert len(removed) == 2
    table = opened(stored(tmp_path))
    log = RawLog(table.store)
    version = table.checkpoint()
    assert log.state(version)["tombstones"] == []
    assert not set(removed) & {entry["path"] for entry in log.entries(version)}
    more = sorted(made.live)[:2]
    table.delete(paths=more)
    table.checkpoint()
    assert sorted(log.state(version + 1)["tombstones"]) == more
    assert sorted(log.live(version + 1)) == sorted(set(made.live) - set(more))


@pytest.mark.spec("testUpgradeWithActiveTombstones")
def test_a_file_that_was_removed_and_added_again_before_the_upgrade_is_live(tmp_path: Path) -> None:
    """Break: `Delta.apply` ignores an add of a path that was removed."""
    made = old_table(tmp_path)
    back = next(iter(made.live.values()))
    made.commit((), [back])
    made.commit([{**back, "size": 4321}])
    table = opened(stored(tmp_path))
    live = RawLog(table.store).live(table.checkpoint())
    assert live[back["path"]]["size"] == 4321
    assert sorted(live) == sorted(made.live)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """70,000 files in one JSON checkpoint."""
    root = tmp_path_factory.mktemp("large") / "table"
    made = ScalaJsonTable(root, checkpoint_every=0, actions_per_part=40_000)
    template = made.invented.file()
    made.commit({**template, "path": f"part-{number:08d}.split"} for number in range(70_000))
    made.checkpoint()
    made.log.delete("00000000000000000000.json")
    made.log.delete("00000000000000000001.json")
    return root


@pytest.fixture
def large_store(large: Path) -> Store:
    return stored(large)


@pytest.mark.spec("testUpgradeLargeTable")
def test_70000_files_are_upgraded_with_one_reading_and_few_objects(large_store: Store) -> None:
    """Two parts read, two manifests written. Break: `_new_manifests` writes one for each batch of a few entries."""
    store = FaultyStore(large_store)
    table = opened(store)
    assert table.checkpoint() == 1
    written = [step.key.split("/", 1)[1][:9] for step in store.steps if step.writes]
    assert written == ["manifests", "manifests", "state-v00", "_last_che"]
    fetched = [step.key for step in store.steps if step.operation == "get" and ".checkpoint." in step.key]
    assert len(fetched) == len(set(fetched)) == 3
    log = RawLog(large_store)
    assert log.state(1)["numFiles"] == 70_000
    assert [info["numEntries"] for info in log.state(1)["manifests"]] == [50_000, 20_000]
    snapshot = opened(large_store).snapshot()
    assert snapshot.num_files == 70_000
    assert snapshot.statistics.version_files_read == 0
