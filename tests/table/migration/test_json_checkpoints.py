"""`state.format=json`: JSON checkpoints in place of states, for readers from before Avro states.

What was written is read by `support.logs.json_reader`, which knows nothing of states or of our code.
"""

from pathlib import Path

import pytest

from headgate_schemas.messages.operations import Committed, CompactState, Receipt
from headgate_table.errors import CorruptTable
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.logs.foreign_log import copy_to
from support.logs.json_reader import read_json_table
from support.logs.raw_log import RawLog, read_lines
from support.stores import Fault, FaultyStore, MemoryStore
from support.stores.faulty import on
from support.stores.kills import deaths
from support.tables import add_file, files, new_table, opened
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH
from support.writers.scala import ScalaTable
from support.writers.scala_json import ScalaJsonTable

JSON = {"state.format": "json"}
MAPPING = '[{"name":"id","type":"i64"}]'


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def in_json(store: Store, interval: int = 10) -> Table:
    return opened(store, interval=interval, settings=JSON)


def with_states() -> Table:
    """Two partitions, document mappings, a tombstone, states up to version 4 and a version file after them."""
    table = new_table(None, "region", interval=1)
    table.append([add_file(f"eu{n}", region="eu", doc_mapping_json=MAPPING, min_values={"id": "1"}) for n in range(5)])
    table.append([add_file(f"us{n}", region="us") for n in range(5)])
    table.alter(configuration={"owner": "ada"})
    table.delete(paths=["region=eu/eu1.parquet"])
    opened(table.store, interval=10).append([add_file("late", region="us")])
    return table


@pytest.mark.spec("testMixedFormatRollback")
def test_a_table_with_states_becomes_readable_for_a_json_reader() -> None:
    """Break: `_write_state` ignores `state.format`; or `is_as_new_as` compares versions only, so that the pointer stays."""
    table = with_states()
    expected = {row["path"]: row for row in table.snapshot().files().to_pylist()}
    rolled_back = in_json(table.store)
    version = rolled_back.checkpoint()
    found = read_json_table(table.store)
    assert found.version == version == 5
    assert sorted(found.files) == sorted(expected)
    for path, file in found.files.items():
        row = expected[path]
        assert file["partitionValues"] == dict(row["partition_values"])
        assert (file["size"], file["numRecords"], file.get("minValues")) == (
            row["size"],
            row["num_records"],
            None if row["min_values"] is None else dict(row["min_values"]),
        )
    assert {path for path, file in found.files.items() if file.get("docMappingJson") == MAPPING} == {
        f"region=eu/eu{n}.parquet" for n in (0, 2, 3, 4)
    }
    assert found.metadata["configuration"]["owner"] == "ada"
    assert found.protocol["minReaderVersion"] == 3


@pytest.mark.spec("testMixedFormatRollback")
def test_a_checkpoint_takes_the_place_of_a_state_of_the_same_version() -> None:
    """Break: `_without_replaced_state` returns the listing as it is; or `is_as_new_as` compares versions only."""
    table = with_states()
    version = table.checkpoint()
    assert RawLog(table.store).pointer()["format"] == "avro-state"
    live = table.snapshot().paths()
    assert in_json(table.store).checkpoint() == version
    assert sorted(read_json_table(table.store).files) == live
    again = in_json(table.store)
    assert (again.describe().format, again.snapshot().paths()) == ("json", live)
    assert (again.protocol.min_reader_version, again.describe().status) == (3, "OK")


@pytest.mark.spec("testMixedFormatRollback")
def test_the_way_back_to_states_is_open() -> None:
    """Break: `DirectCommitter.checkpoint` takes a JSON checkpoint for a state."""
    table = with_states()
    in_json(table.store).checkpoint()
    in_json(table.store).append([add_file("json", region="us")])
    in_json(table.store).checkpoint()
    live = opened(table.store).snapshot().paths()
    avro = opened(table.store)
    version = avro.checkpoint()
    log = RawLog(table.store)
    assert log.pointer()["format"] == "avro-state"
    assert sorted(log.live(version)) == live
    assert (avro.protocol.min_reader_version, opened(table.store).describe().format) == (4, "avro-state")


@pytest.mark.spec("testMixedFormatRollback")
def test_writes_after_the_rollback_stay_readable_for_a_json_reader() -> None:
    """Break: `_write_state` ignores `state.format` where a state is due; or `_states_run_ahead` makes one."""
    table = with_states()
    states = RawLog(table.store).states()
    writer = in_json(table.store, interval=3)
    writer.checkpoint()
    for number in range(7):
        committed(writer.append([add_file(f"new{number}", region="eu", doc_mapping_json=f"[{number}]")]))
        assert sorted(read_json_table(table.store).files) == writer.snapshot().paths()
    committed(writer.delete(where="region = 'us'"))
    committed(writer.overwrite([add_file("last", region="eu")], where="region = 'eu'"))
    assert sorted(read_json_table(table.store).files) == ["region=eu/last.parquet"]
    assert opened(table.store).snapshot().paths() == ["region=eu/last.parquet"]
    assert RawLog(table.store).states() == states


@pytest.mark.spec("testMixedFormatRollback")
def test_the_newest_scala_table_is_rolled_back(tmp_path: Path) -> None:
    """Its states have no version files: the checkpoint alone tells of them. Break: `_live` reads the delta only."""
    made = ScalaTable(tmp_path, partition_columns=("region",))
    first = made.append(20, region="eu")
    made.remove(first[:1])
    made.append(3, region="us")
    store = MemoryStore()
    copy_to(store, tmp_path)
    version = in_json(store).checkpoint()
    found = read_json_table(store)
    assert (found.version, tuple(sorted(found.files))) == (version, made.expected().paths)
    assert {file["docMappingJson"] for file in found.files.values()} == {DOC_MAPPING}
    assert f"docMappingSchema.{DOC_MAPPING_HASH}" in found.metadata["configuration"]
    committed(in_json(store).append([add_file("next", region="us")]))
    assert "region=us/next.parquet" in read_json_table(store).files


def test_a_checkpoint_is_due_by_the_same_interval_as_a_state() -> None:
    """Break: `_state_if_due` doesn't count from a JSON checkpoint."""
    table = new_table(interval=3, settings=JSON)
    for number in range(8):
        table.append([add_file(f"f{number}")])
    log = RawLog(table.store)
    assert sorted(name for name in log.keys("") if ".checkpoint." in name) == [
        f"{number:020d}.checkpoint.json" for number in (3, 6)
    ]
    assert (log.states(), log.pointer()["version"], log.pointer()["stateDir"]) == ([], 6, None)


def test_a_new_process_reads_the_checkpoint_and_what_came_after_it() -> None:
    """Break: `based_on_checkpoint` keeps the old delta; or the checkpoint misses a file."""
    table = new_table(interval=3, settings=JSON)
    for number in range(8):
        table.append([add_file(f"f{number}")])
    seen = opened(table.store).snapshot()
    assert seen.paths() == table.snapshot().paths() == [f"f{number}.parquet" for number in range(8)]
    assert seen.statistics.version_files_read == 2


def test_a_large_checkpoint_is_written_in_parts() -> None:
    """Break: `write` doesn't hand `checkpoint.actionsPerPart` on; or the pointer doesn't count the parts."""
    table = new_table(interval=10, settings={**JSON, "checkpoint.actionsPerPart": "4"})
    table.append(files("f", 9))
    table.checkpoint()
    pointer = RawLog(table.store).pointer()
    assert (pointer["format"], pointer["parts"], pointer["size"], pointer["numFiles"]) == ("json-multipart", 3, 11, 9)
    assert sorted(read_json_table(table.store).files) == table.snapshot().paths()
    assert opened(table.store).describe().format == "json-multipart"
    assert opened(table.store).snapshot().num_files == 9


def test_the_part_that_makes_a_checkpoint_valid_is_written_last() -> None:
    """Break: `write` creates the index before its parts."""
    store = FaultyStore(MemoryStore())
    table = new_table(store, settings={**JSON, "checkpoint.actionsPerPart": "4"})
    table.append(files("f", 9))
    steps = len(store.steps)
    table.checkpoint()
    written = [step for step in store.steps[steps:] if step.writes]
    assert [step.operation for step in written] == ["put", "put", "put", "create", "create"]
    assert [step.key.rpartition(".")[0].rpartition(".")[2] for step in written[:4]] == [
        "00001",
        "00002",
        "00003",
        "checkpoint",
    ]
    assert written[4].key.endswith("_last_checkpoint")


def test_a_writer_killed_during_a_checkpoint_loses_no_file() -> None:
    """Break: `advance_pointer` runs before the checkpoint is there; or `checkpoint` doesn't look where the pointer is."""

    def before() -> Store:
        table = new_table(interval=10)
        table.append(files("f", 5))
        table.checkpoint()
        table.delete(paths=["f-00000.parquet"])
        return table.store

    def work(store: Store) -> None:
        opened(store, settings={**JSON, "checkpoint.actionsPerPart": "3"}).checkpoint()

    expected = [f"f-{n:05d}.parquet" for n in range(1, 5)]
    for death in deaths(before, work):
        assert opened(death.store).snapshot().paths() == expected, death.step
        assert opened(death.store, settings=JSON).checkpoint() == 2
        assert sorted(read_json_table(death.store).files) == expected, death.step


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_a_checkpoint_whose_answer_was_lost_is_found_again(fault: Fault) -> None:
    """Break: `_create` takes Unknown for a failure, or for a success."""
    store = MemoryStore()
    new_table(store).append(files("f", 3))
    in_json(FaultyStore(store, on("create", fault, key=".checkpoint.json"))).checkpoint()
    assert sorted(read_json_table(store).files) == [f"f-{n:05d}.parquet" for n in range(3)]


def test_another_writers_checkpoint_of_the_same_version_is_taken() -> None:
    """Also when its parts are others than ours would be. Break: `_existing` answers with what we planned."""
    table = new_table(interval=10)
    table.append(files("f", 5))
    late = in_json(table.store)
    assert late.version == 1
    opened(table.store, settings={**JSON, "checkpoint.actionsPerPart": "3"}).checkpoint()
    theirs = RawLog(table.store).pointer()
    table.store.delete(["_transaction_log/_last_checkpoint"])
    assert late.checkpoint() == 1
    pointer = RawLog(table.store).pointer()
    assert (pointer["checkpointId"], pointer["parts"]) == (theirs["checkpointId"], 3)
    assert len(read_json_table(table.store).files) == 5


def test_a_checkpoint_that_lists_other_files_stops_the_table() -> None:
    """Break: `_existing` doesn't compare."""
    table = new_table(interval=10, settings=JSON)
    table.append([add_file("a")])
    table.snapshot()
    stranger = new_table(interval=10, settings=JSON)
    stranger.append([add_file("x")])
    stranger.checkpoint()
    name = "_transaction_log/00000000000000000001.checkpoint.json"
    table.store.create(name, stranger.store.get(name))
    with pytest.raises(CorruptTable, match=r"checkpoint\.json .* was written by another program over version 1"):
        table.checkpoint()


def test_a_checkpoint_holds_no_line_that_an_old_reader_refuses() -> None:
    """It is compressed whatever the settings say. Break: `write` copies commit infos or skips into the checkpoint."""
    table = new_table(interval=10, settings={**JSON, "transaction.compression.enabled": "false"})
    table.append(files("f", 2))
    table.checkpoint()
    data = RawLog(table.store).raw("00000000000000000001.checkpoint.json")
    assert data[:4] == b"\x01\x01\x1f\x8b"
    assert [next(iter(line)) for line in read_lines(data)] == ["protocol", "metaData", "add", "add"]


def test_fields_that_no_entry_has_are_kept_from_version_files() -> None:
    """Break: `_live` takes all files from entries."""
    table = new_table(interval=10, settings=JSON)
    table.append([add_file("a", tags={"k": "v"}, hotcache_start_offset=7)])
    table.checkpoint()
    file = read_json_table(table.store).files["a.parquet"]
    assert (file["tags"], file["hotcacheStartOffset"]) == ({"k": "v"}, 7)


def test_the_protocol_of_an_older_table_stays(tmp_path: Path) -> None:
    """Break: `json_protocol` writes 3 always."""
    made = ScalaJsonTable(tmp_path, protocol=(2, 2), checkpoint_every=0)
    made.append(2)
    store = MemoryStore()
    copy_to(store, tmp_path)
    in_json(store).checkpoint()
    assert read_json_table(store).protocol["minReaderVersion"] == 2


def test_a_json_table_has_nothing_to_compact() -> None:
    """Break: `Table.compact` asks for a state."""
    table = new_table(interval=10, settings=JSON)
    table.append(files("f", 5))
    assert committed(table.compact()) == 1
    assert RawLog(table.store).states() == []


def test_a_swap_of_manifests_is_refused_where_there_are_none() -> None:
    """Break: `_compact` accepts what names no manifest of the newest state."""
    table = new_table(interval=10, settings=JSON)
    table.append(files("f", 5))
    table.checkpoint()
    receipt = table.commit(CompactState(base=1, removes=("manifests/manifest-0.avro",), adds=()))
    assert not isinstance(receipt, Committed)


def test_history_can_be_truncated_behind_a_checkpoint() -> None:
    """Break: `_assert_pointer` asks for a state of the newest version."""
    table = new_table(interval=3, settings=JSON)
    for number in range(8):
        table.append([add_file(f"f{number}")])
    report = table.truncate_history()
    assert (report.status, report.checkpoint_version, report.files_preserved) == ("SUCCESS", 8, 8)
    assert report.versions_deleted > 0
    assert opened(table.store).snapshot().num_files == 8
    assert len(read_json_table(table.store).files) == 8
