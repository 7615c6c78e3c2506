"""What came and went between two versions: from version files, from states, from mixtures, on tables of every writer."""

from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.indextables.history.changes import REMOVED_SCHEMA
from headgate_table.interface.answers import Changes
from headgate_table.table import Table
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import add_file, files, new_table, opened
from support.writers.cases.case import Case
from support.writers.cases.cases import CASES
from support.writers.handmade import HandMade, add, file, remove
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable

Net = tuple[list[str], list[str]]


def net(changes: Changes) -> Net:
    return sorted(changes.added.column("path").to_pylist()), sorted(changes.removed.column("path").to_pylist())


def paths(*names: str) -> list[str]:
    return [f"{name}.parquet" for name in names]


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def table(store: MemoryStore) -> Table:
    """1: a and b come, 2: c, 3: a goes, 4: d comes, 5: e for c and d."""
    table = new_table(store, interval=2)
    table.append([add_file("a"), add_file("b")])
    table.append([add_file("c")])
    table.delete(paths=paths("a"))
    table.append([add_file("d")])
    table.rewrite(paths("c", "d"), [add_file("e", data_change=False, num_records=20)])
    return table


def only_states(store: MemoryStore, *keep: int) -> None:
    """As after cleaning: these states are left, and no version file."""
    doomed = [info.key for info in store.list("_transaction_log/") if info.key.endswith(".json")]
    kept = {state_key(version) for version in keep}
    doomed += [info.key for info in store.list("_transaction_log/state-v") if info.key not in kept]
    store.delete(doomed)


@pytest.mark.spec("testGetChangesSinceVersion")
def test_changes_since_a_version_are_the_files_added_after_it(table: Table) -> None:
    assert net(table.changes(3)) == (paths("e"), paths("c"))
    assert table.changes(3).version == 5


def test_changes_end_at_a_given_version(table: Table) -> None:
    changes = table.changes(1, 4)
    assert (changes.since, changes.version, net(changes)) == (1, 4, (paths("c", "d"), paths("a")))


@pytest.mark.spec("testGetChangesSinceTimestamp")
def test_changes_since_a_time_are_those_after_the_version_of_that_time(table: Table) -> None:
    times = {entry.version: entry.time for entry in table.history()}
    assert table.changes(since_timestamp=times[3]).since == 3
    assert table.changes(since_timestamp=times[3] - 1).since == 2
    assert net(table.changes(since_timestamp=times[3])) == (paths("e"), paths("c"))


def test_changes_since_a_time_before_the_table_are_everything(table: Table) -> None:
    changes = table.changes(since_timestamp="1999-12-31")
    assert (changes.since, net(changes)) == (-1, (paths("b", "e"), []))


@pytest.mark.spec("testChangeSetIncludesRemoves")
def test_removes_carry_the_facts_of_the_removed_files(store: MemoryStore) -> None:
    table = new_table(store, "date")
    table.append([add_file("a", 7, date="2024-01-01"), add_file("b", 8, date="2024-01-02")])
    table.delete(where="date = '2024-01-02'")
    removed = table.changes(1).removed
    row = removed.to_pylist()[0]
    assert (removed.schema, removed.num_rows) == (REMOVED_SCHEMA, 1)
    assert (row["path"], dict(row["partition_values"]), row["size"]) == (
        "date=2024-01-02/b.parquet",
        {"date": "2024-01-02"},
        8,
    )
    assert (row["removed_at_version"], row["data_change"]) == (2, True)
    assert row["removed_at_timestamp"] == table.history(1)[0].time


def test_removes_between_states_carry_the_facts_of_the_old_entries(store: MemoryStore) -> None:
    table = new_table(store, "date", interval=1)
    table.append([add_file("a", 7, date="2024-01-01"), add_file("b", 8, date="2024-01-02")])
    table.delete(where="date = '2024-01-02'")
    only_states(store, 1, 2)
    row = opened(store).changes(1).removed.to_pylist()[0]
    facts = {key: row[key] for key in ("path", "size", "num_records", "data_change", "removed_at_version")}
    assert facts == {
        "path": "date=2024-01-02/b.parquet",
        "size": 8,
        "num_records": 10,
        "data_change": None,
        "removed_at_version": 2,
    }


@pytest.mark.spec("testStreamingReadEmptyDelta")
def test_changes_since_the_newest_version_are_empty(table: Table) -> None:
    changes = table.changes(5)
    assert (changes.is_empty, changes.since, changes.version) == (True, 5, 5)
    assert changes.added.schema == table.changes(0).added.schema


@pytest.mark.spec("testStreamingReadAllChanges")
def test_changes_since_version_0_are_all_live_files(table: Table) -> None:
    assert net(table.changes(0)) == (table.snapshot().paths(), [])


def test_changes_since_the_beginning_are_all_live_files(table: Table) -> None:
    assert net(table.changes(-1)) == (table.snapshot().paths(), [])


def test_a_file_that_came_and_went_in_between_is_in_neither(table: Table) -> None:
    assert net(table.changes(2, 5)) == (paths("e"), paths("a", "c"))


def test_a_file_that_was_restored_in_between_is_in_neither(table: Table, store: MemoryStore) -> None:
    table.delete(paths=paths("b"))
    for path in paths("b", "c", "d", "e", "a"):
        store.put(path, b"rows")
    assert isinstance(table.restore(5), Committed)
    assert net(table.changes(5)) == ([], [])
    assert net(table.changes(6)) == (paths("b"), [])
    only_states(store, 4, table.checkpoint())
    assert net(opened(store).changes(4)) == (paths("e"), paths("c", "d"))


def test_rewrites_show_that_they_change_no_data(table: Table) -> None:
    changes = table.changes(4)
    assert changes.added.column("data_change").to_pylist() == [False]
    assert changes.removed.column("data_change").to_pylist() == [False, False]


def test_added_files_have_the_columns_of_entries(table: Table) -> None:
    added = table.changes(1, 2).added
    row = added.to_pylist()[0]
    assert added.column_names == table.snapshot().files().column_names
    assert (row["path"], row["size"], row["num_records"], row["added_at_version"]) == ("c.parquet", 1000, 10, 2)


@pytest.mark.spec("testStreamingWithCompaction")
def test_compaction_is_no_change(table: Table, store: MemoryStore) -> None:
    assert isinstance(table.compact(), Committed)
    table.append([add_file("f")])
    assert net(table.changes(5)) == (paths("f"), [])
    table.checkpoint()
    only_states(store, 4, 6, 7)
    cleaned = opened(store)
    assert net(cleaned.changes(4)) == (paths("e", "f"), paths("c", "d"))
    assert net(cleaned.changes(6)) == (paths("f"), [])


def test_states_tell_what_version_files_no_longer_do(table: Table, store: MemoryStore) -> None:
    only_states(store, 2, 4)
    assert net(opened(store).changes(2, 4)) == (paths("d"), paths("a"))


def test_a_state_and_later_version_files_are_told_together(table: Table, store: MemoryStore) -> None:
    store.delete([version_key(version) for version in (0, 1, 2, 3)])
    changes = opened(store).changes(2)
    assert net(changes) == (paths("e"), paths("a", "c"))
    told = dict(
        zip(*(changes.removed.column(name).to_pylist() for name in ("path", "removed_at_version")), strict=True)
    )
    assert told == {"a.parquet": None, "c.parquet": 5}


def test_version_files_tell_of_changes_since_a_version_that_is_gone(table: Table, store: MemoryStore) -> None:
    store.delete([version_key(version) for version in (0, 1, 2, 3)] + [state_key(2)])
    cleaned = opened(store)
    with pytest.raises(VersionNotRetained):
        cleaned.snapshot(version=3)
    assert net(cleaned.changes(3)) == (paths("e"), paths("c"))


def test_changes_since_a_cleaned_version_name_what_is_retained(table: Table, store: MemoryStore) -> None:
    store.delete([version_key(version) for version in (0, 1, 2, 3)] + [state_key(2)])
    with pytest.raises(VersionNotRetained, match=r"version 1 .* retained: 4 to 5"):
        opened(store).changes(1)


@pytest.mark.parametrize(("since", "until"), [(6, None), (0, 6)])
def test_changes_beyond_the_newest_version_are_refused(table: Table, since: int, until: int | None) -> None:
    with pytest.raises(VersionNotRetained, match="no version 6 yet; retained: 0 to 5"):
        table.changes(since, until)


def test_changes_backwards_are_refused(table: Table) -> None:
    with pytest.raises(InvalidInput, match="`until` is 2, which is before `since`, 3"):
        table.changes(3, 2)


def test_changes_before_the_beginning_are_refused(table: Table) -> None:
    with pytest.raises(InvalidInput, match="-1 is before it"):
        table.changes(-2)


def test_changes_want_a_version_or_a_time(table: Table) -> None:
    with pytest.raises(InvalidInput, match="give one of them"):
        table.changes()


def test_a_damaged_version_file_between_two_states_is_not_needed(table: Table, store: MemoryStore) -> None:
    store.put(version_key(3), b"\x01\x01 damaged")
    assert net(opened(store).changes(2, 4)) == (paths("d"), paths("a"))


# --- version by version --------------------------------------------------------------------------------------------


def test_changes_by_version_are_those_of_each_version(table: Table) -> None:
    found = [(changes.since, changes.version, net(changes)) for changes in table.changes_by_version(1)]
    assert found == [
        (1, 2, (paths("c"), [])),
        (2, 3, ([], paths("a"))),
        (3, 4, (paths("d"), [])),
        (4, 5, (paths("e"), paths("c", "d"))),
    ]


def test_changes_by_version_begin_with_the_first(table: Table) -> None:
    assert [changes.version for changes in table.changes_by_version(-1, 1)] == [0, 1]


def test_changes_by_version_come_from_states_where_there_is_nothing_else(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    first = made.append(2)
    made.remove(first[:1])
    third = made.append(1)
    found = [net(changes) for changes in Table.open(str(tmp_path)).changes_by_version(0)]
    assert found == [(sorted(f["path"] for f in first), []), ([], [first[0]["path"]]), ([third[0]["path"]], [])]


def test_changes_by_version_refuse_a_version_that_is_gone(table: Table, store: MemoryStore) -> None:
    store.delete([version_key(version) for version in (0, 1)])
    feed = opened(store).changes_by_version(0)
    with pytest.raises(VersionNotRetained, match="version 0"):
        next(feed)


# --- tables of others ---------------------------------------------------------------------------------------------


def _expected_net(before: tuple[str, ...], after: tuple[str, ...]) -> Net:
    return sorted(set(after) - set(before)), sorted(set(before) - set(after))


def _without_replaced(changes: Changes) -> Net:
    """A path whose file was replaced by another one is in both tables; its set of paths is as before."""
    added, removed = net(changes)
    both = set(added) & set(removed)
    return [path for path in added if path not in both], [path for path in removed if path not in both]


FOREIGN = [case for case in CASES if case.readable]


@pytest.mark.parametrize("case", FOREIGN, ids=[case.name for case in FOREIGN])
def test_changes_of_a_foreign_table_are_the_difference_of_its_versions(case: Case, tmp_path: Path) -> None:
    expected: Any = case.build(tmp_path / "table")
    table = Table.open(str(tmp_path / "table"))
    versions: dict[int, tuple[str, ...]] = dict(expected.per_version or {expected.version: expected.paths})
    numbers = sorted(versions)[-6:]
    pairs = [(since, until) for since in numbers for until in numbers if since <= until]
    found = {pair: _without_replaced(table.changes(*pair)) for pair in pairs}
    assert found == {(since, until): _expected_net(versions[since], versions[until]) for since, until in pairs}


def test_a_commit_that_was_lost_to_a_state_is_no_change(tmp_path: Path) -> None:
    """The other writer numbered its version by version files alone; readers never see it."""
    made = ScalaTable(tmp_path)
    made.append(2)
    made.append(1)
    stray = HandMade(tmp_path)
    stray.version(1, add(file("lost")))
    assert net(Table.open(str(tmp_path)).changes(0, 1))[0] == sorted(made.per_version[1])


def test_a_remove_of_what_was_not_live_is_no_change(tmp_path: Path) -> None:
    made = HandMade(tmp_path)
    made.start(add(file("a")))
    made.version(1, remove("never.parquet"), add(file("b")))
    assert net(Table.open(str(tmp_path)).changes(0)) == (paths("b"), [])


def test_a_path_with_another_file_is_removed_and_added(tmp_path: Path) -> None:
    made = HandMade(tmp_path)
    made.start(add(file("a", 10)))
    made.version(1, remove("a.parquet"))
    made.version(2, add(file("a", 20)))
    changes = Table.open(str(tmp_path)).changes(0)
    assert net(changes) == (paths("a"), paths("a"))
    assert (changes.removed.column("size").to_pylist(), changes.added.column("size").to_pylist()) == ([10], [20])


def test_a_live_path_that_is_added_again_as_another_file_is_removed_and_added(store: MemoryStore) -> None:
    """Break: `difference` looks into shared manifests for tombstones only; an add on top hides an entry without one."""
    new_table(store, interval=1).append([add_file("p", 1)])
    store.create(version_key(2), encode_actions([add_file("p", 2)]))
    found = opened(store).changes(1)
    assert [row["size"] for row in found.added.to_pylist()] == [2]
    assert [row["size"] for row in found.removed.to_pylist()] == [1]


# --- by what entries say themselves -------------------------------------------------------------------------------


@pytest.fixture(params=["scala", "rust"])
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Table, Any]:
    made: Any = {"scala": ScalaTable, "rust": RustTable}[request.param](tmp_path)
    for _ in range(3):
        made.append(2)
    return Table.open(str(tmp_path)), made


@pytest.mark.spec("testFilterByAddedAtVersion")
def test_entries_are_filtered_by_the_version_they_were_added_at(table: Table) -> None:
    table.checkpoint()
    found = {version: sorted(table.added_after(version).column("path").to_pylist()) for version in (0, 1, 4, 5)}
    assert found == {0: paths("b", "e"), 1: paths("e"), 4: paths("e"), 5: []}


@pytest.mark.spec("testFilterByAddedAtTimestamp")
def test_entries_are_filtered_by_the_time_they_were_added_at(foreign: tuple[Table, Any]) -> None:
    table, _ = foreign
    times = sorted(table.snapshot().files(["added_at_timestamp"]).column(0).to_pylist())
    found = [table.added_after(timestamp=time_ms).num_rows for time_ms in (0, times[1], times[-1])]
    assert found == [6, sum(time_ms > times[1] for time_ms in times), 0]


def test_changes_find_what_entries_of_real_tables_do_not_say(foreign: tuple[Table, Any]) -> None:
    """Scala records no versions: by their entries nothing was added after version 2, but two files were."""
    table, made = foreign
    said = table.added_after(2).num_rows
    assert said == (0 if isinstance(made, ScalaTable) else 2)
    assert table.changes(2).added.num_rows == 2


@pytest.mark.parametrize("arguments", [{}, {"version": 1, "timestamp": 1}])
def test_a_filter_of_entries_wants_a_version_or_a_time(table: Table, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="give one of them"):
        table.added_after(**arguments)


@pytest.mark.spec("testManifestVersionFiltering")
def test_manifests_of_older_versions_are_not_opened(store: MemoryStore) -> None:
    table = new_table(store, interval=1)
    for number in range(6):
        table.append([add_file(f"f{number}")])
    counted = FaultyStore(store)
    assert opened(counted).added_after(4).column("path").to_pylist() == paths("f4", "f5")
    assert sum(step.operation == "get" and "manifests/" in step.key for step in counted.steps) == 2


# --- work ---------------------------------------------------------------------------------------------------------


def _large(store: MemoryStore, interval: int) -> Table:
    table = new_table(store, interval=interval, settings={"state.compaction.maxManifests": "100"})
    for number in range(8):
        table.append(files(f"p{number}", 250))
    return table


@pytest.mark.spec("testStreamingPerformance")
def test_a_delta_of_a_large_table_reads_the_new_version_file_and_nothing_of_the_rest(store: MemoryStore) -> None:
    table = _large(store, 8)
    table.append([add_file("new")])
    counted = FaultyStore(store)
    assert net(opened(counted).changes(8)) == (paths("new"), [])
    read = {step.key for step in counted.steps if step.operation == "get"}
    assert read == {"_transaction_log/_last_checkpoint", state_key(8), version_key(9)}
    assert counted.byte_count("get") < 4_000
    assert counted.count() <= 6


def test_a_delta_between_states_opens_only_the_manifests_that_differ(store: MemoryStore) -> None:
    table = _large(store, 1)
    table.append([add_file("new")])
    only_states(store, 8, 9)
    counted = FaultyStore(store)
    assert net(opened(counted).changes(8)) == (paths("new"), [])
    assert sum(step.operation == "get" and "manifests/" in step.key for step in counted.steps) == 1


def test_manifests_that_both_states_name_are_searched_for_new_tombstones(store: MemoryStore) -> None:
    table = _large(store, 1)
    table.delete(paths=["p3-00007.parquet"])
    only_states(store, 8, 9)
    assert net(opened(store).changes(8)) == ([], ["p3-00007.parquet"])
