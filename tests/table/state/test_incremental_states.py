"""Incremental states: what is there stays as it is; only what changed is written."""

import pytest

from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.store.interface import Store
from support.logs.foreign_log import build_on
from support.logs.raw_log import RawLog
from support.stores import FaultyStore, MemoryStore
from support.tables import add_file, files, new_table, opened
from support.writers.handmade import HandMade, file


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def bytes_of(store: Store, names: set[str]) -> dict[str, bytes]:
    return {name: RawLog(store).raw(name) for name in names}


def writes(store: FaultyStore, first: int = 0) -> list[tuple[str, str]]:
    """What was written after that many steps: method and place, without the ids in names."""
    return [(step.operation, step.key.split("/", 1)[1][:9]) for step in store.steps[first:] if step.writes]


@pytest.mark.spec("testIncrementalAddFiles")
def test_adding_files_writes_one_manifest_and_rewrites_none() -> None:
    """Break: `_plan` writes the entries of the base again (`added` of all live files, `manifests = []`)."""
    store = FaultyStore(MemoryStore())
    table = new_table(store, interval=1)
    table.append(files("a", 10))
    before = bytes_of(store, RawLog(store).manifests())
    steps = len(store.steps)
    table.append(files("b", 3))
    log = RawLog(store)
    assert bytes_of(store, set(before)) == before
    assert len(log.manifests() - set(before)) == 1
    assert [row["path"] for row in log.manifest_of(2).records] == [f"b-{n:05d}.parquet" for n in range(3)]
    assert writes(store, steps) == [
        ("create", "000000000"),
        ("put", "manifests"),
        ("create", "state-v00"),
        ("swap", "_last_che"),
    ]


@pytest.mark.spec("testIncrementalRemoveFiles")
def test_removing_files_writes_tombstones_and_no_manifest() -> None:
    """Break: `_new_manifests` writes a manifest when nothing was added; or `died` is always empty."""
    store = FaultyStore(MemoryStore())
    table = new_table(store, interval=1)
    table.append(files("a", 10))
    manifests = RawLog(store).manifests()
    table.delete(paths=["a-00004.parquet"])
    log = RawLog(store)
    assert log.manifests() == manifests
    assert log.state(2)["manifests"] == log.state(1)["manifests"]
    assert log.state(2)["tombstones"] == ["a-00004.parquet"]


@pytest.mark.spec("testIncrementalMixedAddRemove")
def test_one_commit_may_add_and_remove() -> None:
    """Break: `_plan` ignores `delta.removed` when there is something added."""
    table = new_table(None, "region", interval=1)
    table.append([add_file("a", region="eu"), add_file("b", region="eu"), add_file("c", region="us")])
    version = committed(table.overwrite([add_file("d", region="eu")], where="region = 'eu'"))
    log = RawLog(table.store)
    assert sorted(log.live(version)) == ["region=eu/d.parquet", "region=us/c.parquet"]
    assert log.state(version)["tombstones"] == ["region=eu/a.parquet", "region=eu/b.parquet"]
    assert len(log.state(version)["manifests"]) == 2
    assert table.snapshot().paths() == sorted(log.live(version))


@pytest.mark.spec("testManifestReuse")
def test_a_new_state_names_the_manifests_of_the_one_before() -> None:
    """Break: `carried_path` gives a shared manifest the folder of its state."""
    table = new_table(interval=1)
    for name in "abc":
        table.append(files(name, 2))
    log = RawLog(table.store)
    paths = {version: [info["path"] for info in log.state(version)["manifests"]] for version in log.states()}
    assert paths[3][:2] == paths[2]
    assert paths[2][:1] == paths[1]
    assert log.manifests() == set(paths[3])


@pytest.mark.spec("testManifestReuseWithPartialOverlap")
def test_only_the_manifests_of_files_that_came_back_are_rewritten() -> None:
    """Break: `_without` rewrites every manifest; or keeps the entry of the file that came back, or its tombstone."""
    table = new_table(interval=1)
    for name in "abc":
        table.append(files(name, 4))
    for path in table.snapshot().paths():
        table.store.put(path, b"data")
    gone = committed(table.delete(paths=["b-00001.parquet", "c-00002.parquet"]))
    log = RawLog(table.store)
    before = [info["path"] for info in log.state(gone)["manifests"]]
    table.append(files("d", 1))
    back = committed(table.restore(gone - 1))
    state = log.state(back)
    after = [info["path"] for info in state["manifests"]]
    assert before[0] in after
    assert before[1] not in after
    assert before[2] not in after
    assert "b-00001.parquet" not in state["tombstones"]
    entries = [entry["path"] for entry in log.entries(back)]
    assert sorted(log.live(back)) == sorted(f"{name}-{n:05d}.parquet" for name in "abc" for n in range(4))
    assert len(entries) == len(set(entries))


@pytest.mark.spec("testStateVersionIncrement")
def test_states_are_numbered_as_the_versions_they_are_of() -> None:
    """Break: `StateManifest(version=...)` or `state_key` counts states instead of versions."""
    table = new_table(interval=3)
    for number in range(7):
        table.append(files(f"f{number}", 1))
    log = RawLog(table.store)
    assert log.states() == [3, 6]
    assert [log.state(version)["stateVersion"] for version in (3, 6)] == [3, 6]
    assert log.versions() == list(range(8))
    assert (table.checkpoint(), log.states()) == (7, [3, 6, 7])


@pytest.mark.spec("testMultipleIncrementalWrites")
@pytest.mark.parametrize("interval", [1, 4])
def test_a_chain_of_states_says_what_the_versions_say(interval: int) -> None:
    """Break: `rebased` keeps the old delta, so that the next state applies it twice; or `back` misses a path."""
    table = new_table(interval=interval)
    live: dict[int, set[str]] = {0: set()}
    for number in range(1, 17):
        if number % 3:
            added = files(f"f{number}", 3)
            version = committed(table.append(added))
            live[version] = live[version - 1] | {file.path for file in added}
        else:
            gone = sorted(live[number - 1])[:: number % 4 + 2]
            version = committed(table.delete(paths=gone))
            live[version] = live[version - 1] - set(gone)
    log = RawLog(table.store)
    assert log.states() == [version for version in range(1, 17) if version % interval == 0]
    for version in log.states():
        assert set(log.live(version)) == live[version]
        assert log.state(version)["numFiles"] == len(live[version])
    assert all(set(table.snapshot(version=version).paths()) == paths for version, paths in live.items())


@pytest.mark.spec("testIncrementalWritePartitionBounds")
def test_a_new_manifest_carries_the_bounds_of_its_own_entries() -> None:
    """Break: `describe_manifest` takes the bounds of the first partition column only; or compares numbers as text."""
    table = new_table(None, "region", "month", interval=1)
    table.append([add_file("a", region="eu", month=2), add_file("b", region="us", month=12)])
    table.append([add_file("c", region="ap", month=7)])
    infos = RawLog(table.store).state(2)["manifests"]
    assert [info["partitionBounds"] for info in infos] == [
        {"region": {"min": "eu", "max": "us"}, "month": {"min": "2", "max": "12"}},
        {"region": {"min": "ap", "max": "ap"}, "month": {"min": "7", "max": "7"}},
    ]


def test_the_bounds_of_an_unpartitioned_table_are_null() -> None:
    """Break: `compute_partition_bounds` returns an empty map."""
    table = new_table(interval=1)
    table.append(files("a", 2))
    assert RawLog(table.store).state(1)["manifests"][0]["partitionBounds"] is None


def test_a_manifest_holds_no_more_entries_than_the_setting_allows() -> None:
    """Break: `_new_manifests` writes `added` whole."""
    table = new_table(interval=1, settings={"state.entriesPerManifest": "4"})
    table.append(files("a", 10))
    log = RawLog(table.store)
    assert [info["numEntries"] for info in log.state(1)["manifests"]] == [4, 4, 2]
    assert [entry["path"] for entry in log.entries(1)] == [f"a-{n:05d}.parquet" for n in range(10)]


def test_a_manifest_inside_of_a_state_folder_is_carried_by_its_place() -> None:
    """Break: `carried_path` returns the path as it is: the next state looks for the manifest in its own folder."""

    def build(made: HandMade) -> None:
        folder = "state-v00000000000000000001"
        info = made.manifest([file("a")], name=f"{folder}/manifest-0000.avro")
        made.state(1, [{**info, "path": "manifest-0000.avro"}])
        made.pointer(1)

    table = opened(build_on(MemoryStore(), build), interval=1)
    table.append([add_file("b")])
    log = RawLog(table.store)
    assert log.state(2)["manifests"][0]["path"] == "state-v00000000000000000001/manifest-0000.avro"
    assert sorted(log.live(2)) == ["a.parquet", "b.parquet"]
