"""REPAIR: a new log from whatever an old one still says, of the files that still exist."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CorruptTable, TableExists, TableNotFound, UnsupportedTable
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.repair import repair_into, repair_log
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, one_thread
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore
from support.tables import add_file
from support.writers.handmade import HandMade, metadata
from support.writers.handmade import add as add_line
from support.writers.handmade import file as foreign_file
from support.writers.handmade import remove as remove_line
from support.writers.scala import ScalaTable

LOG = "_transaction_log"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "table"


def local_world(home: Path, *partition_by: str) -> World:
    return World(*partition_by, store=LocalStore(str(home), FakeAmbient(), durable=False))


def repaired(home: Path) -> Path:
    """The place of a new table, which has the data files of the old one."""
    target = home.parent / "repaired"
    target.mkdir()
    for file in home.rglob("*.parquet"):
        copy = target / file.relative_to(home)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return target


def opened(root: Path) -> Table:
    return Table.open(str(root), resources=one_thread())


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_sound_log_is_rebuilt_whole(home: Path) -> None:
    world = local_world(home)
    world.appends(7, hours=1)
    target = repaired(home)
    result = repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    assert (result.status, result.source_version, result.total_splits, result.valid_splits) == ("SUCCESS", 7, 7, 7)
    assert opened(target).snapshot().paths() == world.table.snapshot().paths()


def test_the_result_names_both_places(home: Path) -> None:
    local_world(home).append()
    target = repaired(home)
    result = repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    assert (result.source_path, result.target_path) == (f"{home}/{LOG}", f"{target}/{LOG}")


def test_the_repaired_table_verifies_without_a_finding(home: Path) -> None:
    local_world(home).appends(4, hours=1)
    target = repaired(home)
    repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    assert opened(target).verify().findings == ()


def test_it_writes_two_versions_of_plain_text_that_end_with_a_newline(home: Path) -> None:
    local_world(home).appends(4, hours=1)
    target = repaired(home)
    repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    log = target / LOG
    assert [path.name for path in sorted(log.iterdir()) if path.name[0] != "."] == [f"{0:020d}.json", f"{1:020d}.json"]
    assert [next(iter(line)) for line in lines(log / f"{0:020d}.json")] == ["seal", "protocol", "metaData"]
    assert [next(iter(line)) for line in lines(log / f"{1:020d}.json")] == ["seal", *["add"] * 4]
    assert (log / f"{1:020d}.json").read_bytes().endswith(b"}\n")


def test_every_add_changes_data_and_has_short_statistics(home: Path) -> None:
    world = local_world(home)
    long = "x" * 100
    world.store.put("a.parquet", bytes(1000))
    world.table.append([add_file("a", 1000, min_values={"text": long}, max_values={"text": long}, data_change=False)])
    target = repaired(home)
    repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    (_, line) = lines(target / LOG / f"{1:020d}.json")
    add = line["add"]
    assert isinstance(add, dict)
    assert add["dataChange"] is True
    assert len(add["minValues"]["text"]) <= 32


def test_metadata_partitions_and_document_mappings_survive(home: Path) -> None:
    world = local_world(home, "region")
    file = add_file("a", 5, region="eu", doc_mapping_json='[{"name":"text","type":"text"}]')
    world.store.put(file.path, bytes(5))
    world.accepted(world.table.append([file]))
    target = repaired(home)
    repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    after = opened(target)
    assert after.metadata.partition_columns == ("region",)
    (row,) = after.snapshot().files(["partition_values", "doc_mapping_json"]).to_pylist()
    assert (dict(row["partition_values"]), row["doc_mapping_json"]) == (
        {"region": "eu"},
        '[{"name":"text","type":"text"}]',
    )


def test_files_that_no_longer_exist_are_left_out_and_named(home: Path) -> None:
    world = local_world(home)
    files = world.appends(3, hours=1)
    world.store.delete([files[1].path])
    target = repaired(home)
    result = repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    assert (result.total_splits, result.valid_splits, result.missing_splits) == (3, 2, 1)
    assert (result.missing, result.status) == ((files[1].path,), "SUCCESS")


def test_the_source_is_left_as_it_is(home: Path) -> None:
    world = local_world(home)
    world.appends(4, hours=1)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    repair_log(f"{home}/{LOG}", f"{repaired(home)}/{LOG}", resources=one_thread())
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_a_target_that_is_not_empty_is_refused(home: Path) -> None:
    local_world(home).append()
    target = repaired(home)
    (target / LOG).mkdir()
    (target / LOG / "something").write_text("here")
    with pytest.raises(TableExists, match="something"):
        repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())


@pytest.mark.parametrize(("source", "target"), [("table", "other/_transaction_log"), ("t/_transaction_log",) * 2])
def test_addresses_that_make_no_sense_are_refused(source: str, target: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        repair_log(f"{tmp_path}/{source}", f"{tmp_path}/{target}", resources=one_thread())


def test_without_a_log_there_is_nothing_to_repair(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound):
        repair_log(f"{tmp_path}/none/{LOG}", f"{tmp_path}/target/{LOG}", resources=one_thread())


# What can be damaged, and the files that are still found.

Damage = Callable[[HandMade], None]


def built(home: Path, build: Damage) -> LogReader:
    home.mkdir()
    made = HandMade(home)
    made.start()
    build(made)
    for name in "abcdef":
        (home / f"{name}.parquet").write_bytes(bytes(1000))
    return LogReader(LocalStore(str(home), FakeAmbient()), one_thread())


def salvaged(home: Path, build: Damage) -> tuple[list[str], str]:
    reader = built(home, build)
    target = MemoryStore(FakeAmbient(), uri="memory://target")
    result = repair_into(reader, reader.store, target)
    text = target.get(f"{1:020d}.json").decode()
    added = [line["add"]["path"] for line in map(json.loads, text.splitlines()) if "add" in line]
    return sorted(added), result.status


def _a_broken_newest_version(made: HandMade) -> None:
    made.version(1, add_line(foreign_file("a")))
    made.version(2, add_line(foreign_file("b")))
    made.raw_version(3, b'{"add":{"path":"c.par')


def _a_gap(made: HandMade) -> None:
    made.version(1, add_line(foreign_file("a")))
    made.version(3, add_line(foreign_file("c")), remove_line("a.parquet"))


def _a_broken_state_with_versions_from_the_start(made: HandMade) -> None:
    made.version(1, add_line(foreign_file("a")))
    made.version(2, add_line(foreign_file("b")))
    info = made.manifest([foreign_file("a"), foreign_file("b")])
    made.state(2, [info])
    made.log.put(info["path"], b"damaged")
    made.pointer(2)


def _one_broken_manifest_of_two(made: HandMade) -> None:
    kept = made.manifest([foreign_file("a"), foreign_file("d")])
    lost = made.manifest([foreign_file("b")])
    made.state(5, [kept, lost], tombstones=["d.parquet"])
    made.log.put(lost["path"], b"damaged")
    made.version(6, add_line(foreign_file("c")))
    made.pointer(5)


def _a_broken_newest_state_above_a_sound_one(made: HandMade) -> None:
    made.state(4, [made.manifest([foreign_file("a"), foreign_file("b")])])
    made.state(5, [made.manifest([foreign_file("a"), foreign_file("b"), foreign_file("c")])])
    made.log.put("state-v00000000000000000005/_manifest.avro", b"damaged")
    made.pointer(5)


def _a_version_with_an_absurd_number(made: HandMade) -> None:
    made.version(1, add_line(foreign_file("a")))
    made.version(2**63 - 1, add_line(foreign_file("b")))


@pytest.mark.parametrize(
    ("build", "paths", "status"),
    [
        (_a_broken_newest_version, ["a.parquet", "b.parquet"], "PARTIAL_SUCCESS"),
        (_a_gap, ["c.parquet"], "PARTIAL_SUCCESS"),
        (_a_broken_state_with_versions_from_the_start, ["a.parquet", "b.parquet"], "SUCCESS"),
        (_one_broken_manifest_of_two, ["a.parquet", "c.parquet"], "PARTIAL_SUCCESS"),
        (_a_broken_newest_state_above_a_sound_one, ["a.parquet", "b.parquet"], "PARTIAL_SUCCESS"),
        (_a_version_with_an_absurd_number, ["a.parquet", "b.parquet"], "PARTIAL_SUCCESS"),
    ],
)
def test_what_a_damaged_log_still_says_is_saved(home: Path, build: Damage, paths: list[str], status: str) -> None:
    assert salvaged(home, build) == (paths, status)


def test_the_damage_is_reported_object_by_object(home: Path) -> None:
    reader = built(home, _one_broken_manifest_of_two)
    result = repair_into(reader, reader.store, MemoryStore(FakeAmbient()))
    assert ["is not an Avro file" in result.damage[0], "1 files that manifest" in result.damage[-1]] == [True, True]


def test_metadata_is_found_in_whatever_piece_still_has_it(home: Path) -> None:
    """Version 0 is gone and the newest state is broken, but version 2 changed the metadata."""

    def build(made: HandMade) -> None:
        made.version(2, metadata("changed"), add_line(foreign_file("a")))
        made.state(3, [made.manifest([foreign_file("a")])])
        made.log.delete(f"{0:020d}.json")
        made.log.put("state-v00000000000000000003/_manifest.avro", b"damaged")

    reader = built(home, build)
    target = MemoryStore(FakeAmbient())
    repair_into(reader, reader.store, target)
    assert b'"id":"changed"' in target.get(f"{0:020d}.json")


def _without_metadata(made: HandMade) -> None:
    made.log.delete(f"{0:020d}.json")
    made.state(1, [made.manifest([foreign_file("a")])])
    made.pointer(1)


def test_without_any_metadata_it_says_what_is_needed(home: Path) -> None:
    reader = built(home, _without_metadata)
    with pytest.raises(CorruptTable, match="Give the metadata"):
        repair_into(reader, reader.store, MemoryStore(FakeAmbient()))


def test_a_log_of_which_nothing_is_left_is_no_empty_table(home: Path) -> None:
    def build(made: HandMade) -> None:
        made.log.put(f"{0:020d}.json", b"{")
        made.raw_version(1, b"{")

    reader = built(home, build)
    target = MemoryStore(FakeAmbient())
    with pytest.raises(CorruptTable, match="--from-files"):
        repair_into(reader, reader.store, target, Metadata("given", '{"type":"struct","fields":[]}'))
    assert list(target.list()) == []


def test_where_there_is_no_log_it_says_what_else_can_be_done(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="--from-files"):
        repair_log(f"{tmp_path}/none/{LOG}", f"{tmp_path}/target/{LOG}", resources=one_thread())


def test_given_metadata_stands_in_for_what_is_lost(home: Path) -> None:
    reader = built(home, _without_metadata)
    target = MemoryStore(FakeAmbient())
    result = repair_into(reader, reader.store, target, Metadata("given", '{"type":"struct","fields":[]}'))
    assert (result.valid_splits, b'"id":"given"' in target.get(f"{0:020d}.json")) == (1, True)


def test_a_table_that_needs_a_newer_reader_is_not_taken_apart(home: Path) -> None:
    def build(made: HandMade) -> None:
        made.version(1, {"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}})

    reader = built(home, build)
    with pytest.raises(UnsupportedTable):
        repair_into(reader, reader.store, MemoryStore(FakeAmbient()))


def test_a_scala_table_of_states_only_is_rebuilt(home: Path) -> None:
    made = ScalaTable(home)
    made.append(3)
    made.append(2)
    expected = made.expected()
    for path in expected.paths:
        (home / path).write_bytes(b"split")
    reader = LogReader(LocalStore(str(home), FakeAmbient()), one_thread())
    result = repair_into(reader, reader.store, MemoryStore(FakeAmbient()))
    assert (result.source_version, result.valid_splits) == (expected.version, 5)


def test_a_kill_before_the_last_write_leaves_no_table_that_looks_empty(home: Path) -> None:
    reader = built(home, _a_broken_newest_version)
    for death in deaths(lambda: MemoryStore(FakeAmbient()), lambda store: repair_into(reader, reader.store, store)):
        if death.store.head(f"{0:020d}.json") is not None:
            assert death.store.head(f"{1:020d}.json") is not None, death.step


def test_a_lost_answer_is_asked_for_again(home: Path) -> None:
    reader = built(home, _a_gap)
    target = FaultyStore(MemoryStore(FakeAmbient()), on("create", Fault.LOST_ANSWER, times=2))
    assert repair_into(reader, reader.store, target).valid_splits == 1


def test_many_files_are_spread_over_versions(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.repair.repair.ADDS_PER_VERSION", 2)
    world = local_world(home)
    world.appends(5, hours=1)
    target = repaired(home)
    repair_log(f"{home}/{LOG}", f"{target}/{LOG}", resources=one_thread())
    table = opened(target)
    assert (table.version, table.snapshot().num_files) == (3, 5)


def test_the_objects_of_the_new_log_lie_at_the_root_of_the_target(home: Path) -> None:
    reader = built(home, _a_gap)
    target = MemoryStore(FakeAmbient())
    repair_into(reader, reader.store, target)
    assert [f"{LOG}/{info.key}" for info in target.list()] == [version_key(0), version_key(1)]
