"""Nothing is cleaned while a state of Headgate contradicts the versions below it: one of them was replaced."""

from collections.abc import Callable

import pytest

from headgate_table.indextables.cleaning.cleaner import PurgeReport
from headgate_table.indextables.cleaning.contradictions import Contradictions
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.log.inventory import take_inventory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.interface.findings import Severity
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, one_thread
from support.logs.foreign_log import as_anothers
from support.logs.shared_log import foreign_version, shared_table
from support.stores.memory import MemoryStore
from support.tables import add_file
from support.writers.handmade import add, file, remove
from support.writers.log_folder import lines, rust_gzip

ALL_OLD = {
    "purge.retentionCheckEnabled": "false",
    "purge.txLogRetentionHours": "0",
    "state.retention.hours": "0",
    "state.retention.versions": "2",
}
SOUND_FOREIGN = {
    "no change": [{"commitInfo": {"operation": "WRITE"}}],
    "another file": [add(file("theirs"))],
    "removes what it never had": [remove("theirs.parquet")],
}


def purged(world: World) -> PurgeReport:
    world.clock.advance(hours=24 * 400)
    return Table(world.store, world.clock, one_thread(), ALL_OLD).purge(older_than_hours=0)


def findings(world: World) -> list[tuple[str, str]]:
    report = Table(world.store, FakeAmbient("verifier"), one_thread()).verify(data_files=False)
    return [(item.object, item.what) for item in report.of(Severity.ERROR)]


def refused_by_name(world: World, number: int) -> None:
    """`verify` finds an error, which cleaning tells in the same words, and nothing is deleted.

    A version whose files the state all lacks is only called a lost commit by `verify`.
    """
    told = dict(findings(world))
    assert told
    differs = told.get(state_key(number), "it differs from what the versions before it make of the table")
    before = {info.key for info in world.store.list()}
    report = purged(world)
    assert (report.status, report.deletions) == ("PARTIAL_SUCCESS", ())
    assert f"{state_key(number)}: {differs}" in report.message
    assert {info.key for info in world.store.list()} == before


@pytest.mark.parametrize("actions", SOUND_FOREIGN.values(), ids=SOUND_FOREIGN.keys())
@pytest.mark.parametrize(("interval", "commits"), [(1, 7), (3, 6), (3, 3), (1, 1)])
def test_a_newest_version_that_was_replaced_stops_cleaning(interval: int, commits: int, actions: list[object]) -> None:
    """Also where no state is left below it, so that the versions from 0 on tell what it should hold."""
    world = World(interval=interval, store=None)
    first, *_ = world.appends(commits - 1 or 1)
    if commits > 1:
        world.accepted(world.table.delete(paths=[first.path]))
    assert max(world.versions()) == commits
    assert commits in world.states()
    world.store.put(version_key(commits), rust_gzip(lines(actions)))
    refused_by_name(world, commits)


def test_a_replaced_version_is_found_below_versions_of_other_writers() -> None:
    """None of them names the version before it."""
    world = World(interval=1, store=None)
    world.appends(5)
    for name in "abc":
        foreign_version(world, add(file(name)))
    world.store.put(version_key(5), lines([add(file("theirs"))]))
    refused_by_name(world, 5)


def test_a_removal_that_came_into_its_place_is_told_too() -> None:
    world = World(interval=2, store=None)
    first, second, *_ = world.appends(4)
    world.store.put(version_key(4), lines([remove(first.path), remove(second.path)]))
    refused_by_name(world, 4)


def test_truncation_gives_up_what_lies_below() -> None:
    world = World(interval=1, store=None)
    world.appends(5)
    foreign_version(world, add(file("a")))
    world.store.put(version_key(5), lines([add(file("theirs"))]))
    assert purged(world).deletions == ()
    table = world.reopened()
    for name in ("one", "two", "three"):
        table.append([add_file(name)])
    table.truncate_history()
    assert findings(world) == []
    assert purged(world).status == "SUCCESS"


@pytest.mark.parametrize("seed", range(12))
def test_tables_that_several_writers_share_are_cleaned(seed: int) -> None:
    world = shared_table(seed)
    assert findings(world) == []
    before = world.reopened(seed="before").snapshot().paths()
    report = purged(world)
    assert report.status == "SUCCESS", report.message
    assert report.deletions
    assert world.reopened(seed="after").snapshot().paths() == before


def test_a_state_of_another_writer_proves_nothing() -> None:
    """It may list what its writer alone knows."""
    world = World(interval=1, store=None)
    world.appends(3)
    foreign_version(world, add(file("theirs")))
    world.reopened().checkpoint()
    world.store.put(version_key(4), lines([add(file("other"))]))
    assert purged(world).deletions == ()
    world.store.put(state_key(4), as_anothers(world.store.get(state_key(4))))
    assert findings(world)
    assert purged(world).status == "SUCCESS"


class Counted(MemoryStore):
    """Keeps the keys of what is read."""

    def __init__(self) -> None:
        super().__init__(FakeAmbient())
        self.read: list[str] = []

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        self.read.append(key)
        return super().get(key, max_bytes=max_bytes)

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self.read.append(key)
        return super().get_range(key, start, length)


def _keys_read(change: Callable[[World], object]) -> list[str]:
    """The objects that the comparison alone reads, with an empty cache."""
    store = Counted()
    world = World(interval=1, store=store)
    world.appends(6)
    change(world)
    reader = LogReader(store, one_thread())
    contradictions = Contradictions(reader)
    for number in world.versions():
        contradictions.see(number, reader.actions(number))
    inventory, states = take_inventory(store), world.states()
    fresh = Contradictions(LogReader(store, one_thread()))
    fresh._foreign = contradictions._foreign
    store.read.clear()
    assert fresh.first(inventory, states) is None
    return store.read


def test_nothing_is_read_where_headgate_wrote_all_versions() -> None:
    assert _keys_read(lambda world: None) == []


def test_only_what_changed_around_a_version_of_another_writer_is_read() -> None:
    def change(world: World) -> None:
        foreign_version(world, add(file("theirs")))
        world.reopened().checkpoint()
        world.append()

    read = set(_keys_read(change))
    assert {key for key in read if "/state-v" in key and key.endswith("/_manifest.avro")} == {
        state_key(6),
        state_key(7),
    }
    assert {key for key in read if key.endswith(".json")} == {version_key(7)}
    assert len([key for key in read if "manifest-" in key]) == 1
