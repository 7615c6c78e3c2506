"""Version files that are lost from the middle of a log are damage, and no cleaning: to `verify`, readers, history and cleaning."""

from itertools import combinations

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.coordination.commit_info import CommitRecord
from headgate_table.errors import CorruptTable, VersionNotRetained
from headgate_table.indextables.cleaning.cleaner import PurgeReport
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.log.lost_versions import Lost, find_lost
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, copied, one_thread
from support.coordinated import Coordinated
from support.tables import add_file

ALL_OLD = {
    "purge.retentionCheckEnabled": "false",
    "purge.txLogRetentionHours": "0",
    "purge.clockSkewMinutes": "0",
    "state.retention.hours": "0",
    "state.retention.versions": "2",
}
VERSIONS = 9
HOLES = [(first, last) for first, last in combinations(range(1, VERSIONS), 2)] + [(n, n) for n in range(1, VERSIONS)]
"""Everything but the first version and the newest."""


def told_lost(store: Store) -> list[str]:
    report = Table(store, FakeAmbient("reader"), one_thread()).verify()
    return [item.object for item in report.of(Severity.ERROR) if "is lost" in item.what or "are lost" in item.what]


def purged(store: Store, clock: FakeAmbient, *, dry_run: bool = False) -> PurgeReport:
    ambient = FakeAmbient("cleaner", clock.time_ms)
    return Table(store, ambient, one_thread(), ALL_OLD).purge(0, dry_run=dry_run)


def of_nine(interval: int = 3, **settings: str) -> World:
    world = World(interval=interval, store=None, **settings)
    world.appends(VERSIONS)
    return world


@pytest.mark.parametrize("form", ["avro", "json"])
def test_every_hole_is_an_error_that_names_its_first_file_and_stops_cleaning(form: str) -> None:
    world = of_nine(state__format=form)
    for first, last in HOLES:
        store = copied(world.store, world.clock)
        store.delete([version_key(number) for number in range(first, last + 1)])
        names = {info.key for info in store.list()}
        errors = Table(store, FakeAmbient(), one_thread()).verify().of(Severity.ERROR)
        assert [item.object for item in errors] == [version_key(first)], (first, last)
        assert f"version {last + 1} was written after it" in errors[0].what, (first, last)
        assert version_key(last) in errors[0].advice
        report = purged(store, world.clock)
        assert version_key(first) in report.message, (first, last)
        assert {info.key for info in store.list()} == names, (first, last)


def test_a_lost_version_is_not_called_cleaned_by_any_reader() -> None:
    world = of_nine()
    before_ms = world.table.history()[-4].time
    world.store.delete([version_key(4), version_key(5)])
    table = world.reopened()
    for version in (4, 5):
        with pytest.raises(
            VersionNotRetained, match=rf"{version_key(4)} to {version_key(5)} are lost.*retained"
        ) as error:
            table.snapshot(version=version)
        assert "cleaned up" not in str(error.value)
    with pytest.raises(VersionNotRetained, match=r"lost"):
        table.changes(since=4)
    with pytest.raises(VersionNotRetained, match=r"between 3 .* and 6 .*lost"):
        table.snapshot(timestamp=before_ms + 30 * 3_600_000)


def test_a_version_that_leans_on_a_lost_one_says_which() -> None:
    world = of_nine()
    world.store.delete([version_key(4)])
    with pytest.raises(VersionNotRetained, match=rf"version 5 .* {version_key(4)} is lost"):
        world.reopened().snapshot(version=5)


def test_history_lists_a_lost_version_as_lost() -> None:
    world = of_nine()
    world.store.delete([version_key(4), version_key(5), version_key(6)])
    entries = {entry.version: entry for entry in world.reopened().history()}
    assert list(entries) == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert [entries[number].source for number in (7, 6, 5, 4, 3)] == [
        "version file", "state", "lost", "lost", "version file"
    ]  # fmt: skip
    assert (entries[4].adds, entries[4].time) == (None, entries[6].time)
    assert [entry.version for entry in world.reopened().history(limit=5)] == [9, 8, 7, 6, 5]


def test_a_lost_version_whose_state_is_left_is_told_too() -> None:
    world = of_nine(interval=1)
    world.store.delete([version_key(4)])
    errors = world.reopened().verify().of(Severity.ERROR)
    assert [item.object for item in errors] == [version_key(4)]
    assert "is told by its state" in errors[0].what
    assert len(world.reopened().snapshot(version=4).paths()) == 4


def test_a_restored_file_makes_it_sound_again_and_truncation_gives_it_up() -> None:
    world = of_nine()
    whole = world.store.get(version_key(4))
    world.store.delete([version_key(4)])
    assert told_lost(world.store) == [version_key(4)]
    store = copied(world.store, world.clock)
    store.put(version_key(4), whole)
    assert told_lost(store) == []
    assert purged(store, world.clock).status == "SUCCESS"
    world.appends(1)
    world.table.truncate_history()
    assert told_lost(world.store) == []


def test_the_first_version_above_a_cleaned_part_is_missed() -> None:
    world = of_nine()
    assert purged(world.store, world.clock).status == "SUCCESS"
    world.appends(3)
    lowest = min(world.versions())
    assert lowest > 1
    assert told_lost(world.store) == []
    for number in world.versions()[:-1]:
        store = copied(world.store, world.clock)
        store.delete([version_key(number)])
        if number == lowest and number - 1 not in world.states():
            continue  # as if it had been cleaned as well
        assert told_lost(store) == [version_key(number)], number


@pytest.mark.parametrize("interval", [1, 3, 100])
@pytest.mark.parametrize("form", ["avro", "json"])
def test_cleaning_of_any_kind_leaves_nothing_that_counts_as_lost(interval: int, form: str) -> None:
    world = World(interval=interval, state__format=form)
    for step in range(6):
        world.appends(3)
        assert purged(world.store, world.clock).status == "SUCCESS"
        assert told_lost(world.store) == []
        if step % 2:
            world.table.truncate_history()
            assert told_lost(world.store) == []
            assert [entry for entry in world.reopened().history() if entry.source == "lost"] == []


def test_a_file_that_came_late_into_a_cleaned_number_proves_no_loss() -> None:
    """Nor does a state that came late, whose writer died before it took it back."""
    coordinated = Coordinated(interval=1)
    coordinated.appended("one")
    late = coordinated.table.version + 1
    direct = coordinated.rig.table()
    assert isinstance(direct.append([add_file("two")]), Committed)
    late_state = direct.store.get(state_key(late))
    for name in ("three", "more"):
        assert isinstance(direct.append([add_file(name)]), Committed)
    direct.truncate_history()
    coordinated.appended("four")
    assert version_key(late) in {info.key for info in direct.store.list("_transaction_log/")}, "it came late"
    assert told_lost(direct.store) == []
    direct.store.delete([version_key(late)])
    direct.store.put(state_key(late), late_state)
    assert told_lost(direct.store) == []


def test_the_newest_version_cut_off_by_a_hole_is_still_a_gap() -> None:
    world = World(interval=100)
    world.appends(5)
    world.store.delete([version_key(3)])
    with pytest.raises(CorruptTable, match=r"has a gap"):
        world.reopened().snapshot()
    errors = world.reopened().verify().of(Severity.ERROR)
    assert any(item.object == "version 3" and "a gap" in item.what for item in errors)


CHAIN = {number: CommitRecord(nonce=f"n{number}", previous=f"n{number - 1}" if number else "") for number in range(30)}


@pytest.mark.parametrize(
    ("versions", "anchors", "begins", "wanted"),
    [
        ((0, 2, 3), {3}, True, [Lost(1, 1)]),
        ((0, 2, 3), {3}, False, []),
        ((1, 2, 4), {4}, False, [Lost(3, 3)]),
        ((2, 4), {4}, False, []),
        ((2, 7, 8), {4, 8}, False, [Lost(5, 6)]),
        ((6, 8), {5}, False, [Lost(7, 7)]),
        ((7, 8), {4}, False, [Lost(5, 6)]),
        ((7, 8), {4, 6}, False, []),
        ((7, 8), set(), False, []),
        ((5, 6, 9, 10, 12), {4}, False, [Lost(7, 8), Lost(11, 11)]),
    ],
)
def test_what_proves_a_loss(versions: tuple[int, ...], anchors: set[int], begins: bool, wanted: list[Lost]) -> None:
    assert find_lost(versions, CHAIN.get, lambda: anchors, lambda: begins) == wanted


def test_without_the_name_of_its_predecessor_a_version_proves_nothing() -> None:
    silent = {number: CommitRecord(nonce=f"n{number}") for number in range(9)}
    assert find_lost((0, 1, 4, 5), silent.get, lambda: {5}, lambda: True) == []
    assert find_lost((0, 1, 4, 5), lambda _: None, lambda: {5}, lambda: True) == []


def test_files_that_came_late_one_upon_the_other_prove_no_loss() -> None:
    """Each found the late one before it, and names the true one, which it had read."""
    late = CHAIN | {2: CommitRecord(nonce="late", previous="n1"), 3: CommitRecord(nonce="later", previous="n2")}
    assert find_lost((2, 3, 5, 6), late.get, lambda: {4}, lambda: False) == []
    assert find_lost((2, 3, 5, 6), CHAIN.get, lambda: {4}, lambda: False) == [Lost(4, 4)]
