"""Compaction of states: when it is due, what it rewrites, and that no live file is lost, whoever else writes."""

from collections.abc import Mapping
from typing import Any

import pytest

from headgate_schemas.messages.operations import Committed, CompactState, Receipt, RejectCode, Rejected
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.indextables.compaction.plan import compaction_due
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.settings.options import TableOptions
from headgate_table.table import Table
from support.logs.raw_log import RawLog
from support.stores import MemoryStore
from support.stores.races import race
from support.tables import SteadyAmbient, add_file, files, new_table, opened

OPTIONS = TableOptions()


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def state_of(table: Table) -> StateManifest:
    state = table.snapshot().log.state
    assert state is not None
    return state


def with_tombstones(count: int, dead: int, settings: Mapping[str, str] | None = None) -> Table:
    """A table whose newest state lists `count` entries in one manifest, some of them dead."""
    table = new_table(interval=1, settings=settings)
    added = files("f", count)
    table.append(added)
    if dead:
        table.delete(paths=[file.path for file in added[:dead]])
    return table


def with_manifests(count: int) -> Table:
    table = new_table(interval=1)
    for number in range(count):
        table.append([add_file(f"f{number:03d}")])
    return table


def prepared(table: Table) -> CompactState:
    """A full compaction of the newest state, ready to be committed."""
    compactor = Compactor(table.reader, SteadyAmbient("compactor"), OPTIONS)
    state = state_of(table)
    return compactor.prepare(state, compactor.plan(state, full=True), table.metadata)


@pytest.mark.spec("testCompactionTriggerByTombstoneRatio")
@pytest.mark.parametrize(("dead", "due"), [(9, False), (10, True)])
def test_compaction_is_due_above_a_tenth_of_tombstones(dead: int, due: bool) -> None:
    """9 for 91 live files are less than a tenth, 10 for 90 are more. Break: `compaction_due` compares with 0.2."""
    table = with_tombstones(100, dead)
    before = table.version
    assert table.describe().needs_compaction is due
    table.compact(full=False)
    assert (table.version > before) is due
    assert len(state_of(table).tombstones) == (0 if due else dead)


@pytest.mark.spec("testCompactionTriggerByTombstoneRatio")
def test_exactly_a_tenth_of_tombstones_is_not_too_many() -> None:
    """Break: `compaction_due` compares with `>=`."""
    state = state_of(with_tombstones(20, 0))
    assert compaction_due(state, OPTIONS, new_removes=2) is None
    assert compaction_due(state, OPTIONS, new_removes=3) is not None


@pytest.mark.spec("testCompactionTriggerByManifestCount")
def test_compaction_is_due_above_twenty_manifests() -> None:
    """Break: `compaction_due` compares with `>=`, or not at all."""
    table = with_manifests(20)
    assert not table.describe().needs_compaction
    assert committed(table.compact(full=False)) == 20
    assert len(state_of(table).manifests) == 20
    table.append([add_file("one-more")])
    assert table.describe().needs_compaction
    assert committed(table.compact(full=False)) == 22
    assert len(state_of(table).manifests) == 1


@pytest.mark.spec("testCompactionTriggerAfterMerge")
@pytest.mark.parametrize(("merged", "due"), [(5, False), (12, True)])
def test_merging_many_files_makes_a_compaction_due(merged: int, due: bool) -> None:
    """Break: `_plan` leaves no tombstones for rewritten files; or `compaction_due` doesn't count them."""
    table = new_table(interval=1)
    sources = files("small", 100)
    table.append(sources)
    removes = [file.path for file in sources[:merged]]
    version = committed(table.rewrite(removes, [add_file("merged", num_records=10 * merged)]))
    assert table.describe().needs_compaction is due
    assert (committed(table.compact(full=False)) > version) is due
    assert (state_of(table).tombstones == ()) is due
    assert table.snapshot().paths() == sorted(["merged.parquet", *(file.path for file in sources[merged:])])


@pytest.mark.spec("testCompactionTriggerAfterMerge")
def test_a_compaction_is_due_after_more_removes_than_the_setting_allows() -> None:
    """Break: `compaction_due` forgets `largeRemoveThreshold`."""
    state = state_of(with_tombstones(100, 0))
    options = TableOptions(compaction_large_remove_threshold=4)
    assert compaction_due(state, options, new_removes=4) is None
    assert compaction_due(state, options, new_removes=5) == "5 files removed at once"


@pytest.mark.spec("testCompactionProducesCleanState")
def test_a_compacted_state_has_neither_tombstones_nor_dead_entries() -> None:
    """Break: `prepare` doesn't filter `is_dead`, or `apply_swap` keeps the tombstones."""
    table = with_tombstones(40, 15)
    version = committed(table.compact())
    log = RawLog(table.store)
    assert log.state(version)["tombstones"] == []
    assert len(log.entries(version)) == 25
    assert log.state(version)["numFiles"] == 25
    assert log.state(version)["totalBytes"] == sum(entry["size"] for entry in log.entries(version))


@pytest.mark.spec("testCompactionProducesCleanState")
def test_a_full_compaction_drops_tombstones_that_hide_nothing() -> None:
    """Break: `prepare` settles only tombstones that it found entries of."""
    table = with_tombstones(20, 5)
    first = committed(table.compact())
    log = RawLog(table.store)
    assert log.state(first)["tombstones"] == []
    table.delete(paths=[file.path for file in files("f", 20)[5:]])
    emptied = committed(table.compact())
    assert (log.state(emptied)["numFiles"], log.entries(emptied), log.state(emptied)["tombstones"]) == (0, [], [])


@pytest.mark.spec("testCompactionPreservesAllFiles")
def test_every_live_entry_survives_with_all_its_fields() -> None:
    """Break: `prepare` reads FACT_COLUMNS instead of ALL_COLUMNS; or `last_of_each_path` takes the first."""
    table = new_table(None, "region", "month", interval=1)
    for number in range(6):
        rich = {"min_values": {"id": str(number)}, "max_values": {"id": str(number + 9)}, "num_merge_ops": number}
        table.append(
            [
                add_file(f"a{number}", 100 + number, region="eu", month=number + 1, **rich),
                add_file(f"b{number}", 200 + number, region="us", month=12 - number, split_tags=("x", "y"), **rich),
            ]
        )
    gone = committed(table.delete(where="month = 3 OR month = 9"))
    log = RawLog(table.store)
    before = log.live(gone)
    version = committed(table.compact())
    assert log.live(version) == before
    assert len(log.entries(version)) == len(before) == 10
    assert table.snapshot().paths() == sorted(before)


@pytest.mark.spec("testCompactionSplitsLargeManifests")
def test_no_new_manifest_holds_more_entries_than_allowed() -> None:
    """Break: `prepare` writes all entries into one manifest."""
    table = with_tombstones(25, 3, {"state.entriesPerManifest": "10"})
    version = committed(table.compact())
    log = RawLog(table.store)
    infos = log.state(version)["manifests"]
    assert [info["numEntries"] for info in infos] == [10, 10, 2]
    assert [len(log.manifest_file(info["path"]).records) for info in infos] == [10, 10, 2]


@pytest.mark.spec("testCompactionMergesSmallManifests")
def test_many_small_manifests_become_one() -> None:
    """Break: `plan_compaction` doesn't choose small manifests."""
    table = with_manifests(25)
    before = table.snapshot().paths()
    version = committed(table.compact(full=False))
    (info,) = RawLog(table.store).state(version)["manifests"]
    assert info["numEntries"] == 25
    assert table.snapshot().paths() == before


@pytest.mark.spec("testCompactionMergesSmallManifests")
def test_a_large_clean_manifest_is_carried_as_it_is() -> None:
    """Break: `plan_compaction` always rewrites everything."""
    table = new_table(interval=1, settings={"state.entriesPerManifest": "40"})
    table.append(files("large", 40))
    large = RawLog(table.store).state(1)["manifests"][0]["path"]
    for number in range(25):
        table.append([add_file(f"small{number}")])
    version = committed(table.compact(full=False))
    infos = RawLog(table.store).state(version)["manifests"]
    assert large in [info["path"] for info in infos]
    assert sorted(info["numEntries"] for info in infos) == [25, 40]


def mixed_partitions() -> Table:
    """Files of three months and two regions, added in no order at all."""
    table = new_table(None, "month", "region", interval=1, settings={"state.entriesPerManifest": "4"})
    for number in range(6):
        table.append(
            [
                add_file(f"{number}-{month}-{region}", month=month, region=region)
                for month in (12, 2, 7)
                for region in ("us", "eu")
            ][number % 3 :]
        )
    return table


def partition_of(entry: Mapping[str, Any]) -> tuple[int, str]:
    return int(entry["partitionValues"]["month"]), entry["partitionValues"]["region"]


@pytest.mark.spec("testCompactionWithPartitionedData")
def test_entries_are_ordered_by_partition_columns_numbers_as_numbers() -> None:
    """Break: `partition_order` returns the order as it came, or sorts months as text."""
    table = mixed_partitions()
    version = committed(table.compact())
    partitions = [partition_of(entry) for entry in RawLog(table.store).entries(version)]
    assert partitions == sorted(partitions)
    assert partitions[0][0] == 2
    assert partitions[-1][0] == 12


@pytest.mark.spec("testCompactionWithPartitionedData")
def test_files_without_a_partition_value_come_last() -> None:
    """Break: `partition_order` sorts nulls at the start, or takes the marker for a text."""
    table = new_table(None, "region", interval=1)
    table.append([add_file("n", region="__HIVE_DEFAULT_PARTITION__"), add_file("z", region="zz")])
    table.append([add_file("a", region="aa")])
    version = committed(table.compact())
    names = [entry["path"].rpartition("/")[2] for entry in RawLog(table.store).entries(version)]
    assert names == ["a.parquet", "z.parquet", "n.parquet"]


@pytest.mark.spec("testCompactionPreservesPartitionLocality")
@pytest.mark.spec("testPartitionLocalitySorting")
def test_a_partition_lies_in_as_few_manifests_as_it_needs() -> None:
    """Before, every month is in (nearly) every manifest. Break: `prepare` takes entries in their old order."""
    table = mixed_partitions()
    log = RawLog(table.store)

    def spread(version: int) -> dict[int, int]:
        held: dict[int, int] = {}
        for info in log.state(version)["manifests"]:
            for month in {partition_of(entry)[0] for entry in log.manifest_file(info["path"]).records}:
                held[month] = held.get(month, 0) + 1
        return held

    before = spread(table.version)
    after = spread(committed(table.compact()))
    assert sum(before.values()) == 18
    entries = log.entries(table.version)
    for month, manifests in after.items():
        needed = -(-sum(partition_of(entry)[0] == month for entry in entries) // 4)
        assert manifests <= needed + 1


@pytest.mark.spec("testPartitionLocalitySorting")
def test_a_query_for_one_partition_skips_more_manifests_after_compaction() -> None:
    """Break: `prepare` takes entries in their old order, or `describe_manifest` gives no bounds."""
    table = mixed_partitions()
    fragmented = table.snapshot(where="month = 7")
    wanted = fragmented.paths()
    table.compact()
    sorted_ = opened(table.store).snapshot(where="month = 7")
    assert sorted_.paths() == wanted
    assert sorted_.statistics.manifests_read <= 4
    assert (
        sorted_.statistics.manifests_read
        < fragmented.statistics.manifests_read + fragmented.statistics.manifests_cached
    )


@pytest.mark.spec("testCompactionComputesPartitionBounds")
def test_new_manifests_carry_the_bounds_of_their_own_entries() -> None:
    """Break: `prepare` describes every manifest by the bounds of the whole table, or by none."""
    table = mixed_partitions()
    version = committed(table.compact())
    log = RawLog(table.store)
    for info in log.state(version)["manifests"]:
        held = [partition_of(entry) for entry in log.manifest_file(info["path"]).records]
        months, regions = sorted(month for month, _ in held), sorted(region for _, region in held)
        assert info["partitionBounds"] == {
            "month": {"min": str(months[0]), "max": str(months[-1])},
            "region": {"min": regions[0], "max": regions[-1]},
        }


@pytest.mark.spec("testCompactionSkipsCleanState")
def test_a_clean_state_is_not_compacted_again() -> None:
    """Break: `_is_clean` is always false."""
    table = with_tombstones(30, 10)
    version = committed(table.compact())
    keys = RawLog(table.store).keys()
    assert committed(table.compact()) == version
    assert committed(table.compact(full=False)) == version
    assert (table.version, RawLog(table.store).keys()) == (version, keys)


@pytest.mark.spec("testConcurrentCompaction")
def test_the_second_of_two_compactions_of_one_state_is_refused() -> None:
    """Break: `_compact` doesn't look whether the replaced manifests are still referenced."""
    table = with_tombstones(30, 10)
    first, second = prepared(table), prepared(table)
    committed(table.commit(first))
    receipt = opened(table.store, interval=1).commit(second)
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.BASE_GONE
    assert opened(table.store).snapshot().num_files == 20


@pytest.mark.spec("testConcurrentCompaction")
def test_compactions_at_the_same_time_lose_no_file() -> None:
    """Break: `_attempt` decides on the log that it had before its write was lost."""
    store = MemoryStore()
    new_table(store, configuration={"checkpoint.interval": "1"}).append(files("f", 40))
    opened(store, interval=1).delete(paths=[file.path for file in files("f", 40)[:20]])
    live = opened(store).snapshot().paths()
    tables = [opened(store, interval=1) for _ in range(4)]
    receipts = race(4, lambda number: tables[number].compact())
    assert all(isinstance(receipt, Committed) for receipt in receipts)
    seen = opened(store)
    assert seen.snapshot().paths() == live
    assert state_of(seen).tombstones == ()
    seen.checkpoint()
    assert opened(store).snapshot().paths() == live


@pytest.mark.spec("testConcurrentCompaction")
def test_what_is_committed_while_a_compaction_is_prepared_stays() -> None:
    """Break: `apply_swap` drops every tombstone, so that the file deleted meanwhile comes back."""
    table = with_tombstones(30, 10)
    swap = prepared(table)
    other = opened(table.store, interval=1)
    other.append([add_file("later")])
    other.delete(paths=["f-00029.parquet"])
    version = committed(table.commit(swap))
    expected = sorted(["later.parquet", *(file.path for file in files("f", 30)[10:29])])
    assert opened(table.store).snapshot().paths() == expected
    assert sorted(RawLog(table.store).live(version)) == expected
