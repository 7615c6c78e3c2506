"""How cleaning takes its time: the margin for clocks that differ, the rate of deletes, and the window of a purge."""

from collections.abc import Iterable, Iterator

import pytest

from headgate_schemas.messages.operations import Operation, Purge, Receipt
from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.cleaning.deleting import Deleted, Deleter
from headgate_table.indextables.cleaning.plan import HOUR_MS, Category, Deletion
from headgate_table.indextables.format.names import checkpoint_key, checkpoint_part_key
from headgate_table.interface.findings import Severity
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.interface import ObjectInfo
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, one_thread
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore

OPEN = {"purge.retentionCheckEnabled": "false"}


def deleted(world: World, category: Category, **settings: str) -> list[str]:
    chosen = {key.replace("__", "."): text for key, text in settings.items()}
    table = Table(
        world.store, FakeAmbient("cleaner", world.clock.time_ms), one_thread(), {"checkpoint.interval": "3", **chosen}
    )
    return [item.key for item in table.purge().deletions if item.category is category]


# Clocks that differ


@pytest.mark.parametrize(("minutes", "is_deleted"), [(14, False), (16, True)])
def test_a_data_file_must_be_older_than_its_retention_and_the_margin(minutes: int, is_deleted: bool) -> None:
    world = World()
    file = world.write()
    world.clock.advance(hours=168, seconds=minutes * 60)
    assert deleted(world, Category.DATA_FILE) == ([file.path] if is_deleted else [])


@pytest.mark.parametrize(("minutes", "is_deleted"), [(59, False), (61, True)])
def test_the_margin_is_a_setting(minutes: int, is_deleted: bool) -> None:
    world = World()
    file = world.write()
    world.clock.advance(hours=168, seconds=minutes * 60)
    assert deleted(world, Category.DATA_FILE, purge__clockSkewMinutes="60") == ([file.path] if is_deleted else [])


@pytest.mark.parametrize(("minutes", "is_deleted"), [(74, False), (76, True)])
def test_a_manifest_must_be_older_than_its_floor_and_the_margin(minutes: int, is_deleted: bool) -> None:
    world = World()
    world.appends(3, hours=0)
    orphan = "_transaction_log/manifests/manifest-00000000000000aa.avro"
    world.store.put(orphan, b"nobody's")
    world.clock.advance(seconds=minutes * 60)
    assert deleted(world, Category.MANIFEST) == ([orphan] if is_deleted else [])


@pytest.mark.parametrize(("minutes", "is_deleted"), [(34, False), (36, True)])
def test_no_setting_takes_the_margin_from_manifests(minutes: int, is_deleted: bool) -> None:
    world = World()
    world.appends(3, hours=0)
    orphan = "_transaction_log/manifests/manifest-00000000000000aa.avro"
    world.store.put(orphan, b"nobody's")
    world.clock.advance(seconds=minutes * 60)
    settings = {"purge__retentionCheckEnabled": "false", "state__gc__minManifestAgeHours": "0"}
    assert deleted(world, Category.MANIFEST, **settings) == ([orphan] if is_deleted else [])


@pytest.mark.parametrize(("minutes", "is_deleted"), [(14, False), (16, True)])
def test_a_version_and_a_state_must_be_older_than_their_retention_and_the_margin(
    minutes: int, is_deleted: bool
) -> None:
    world = World(purge__txLogRetentionHours="168")
    world.appends(9, hours=0)
    world.clock.advance(hours=168, seconds=minutes * 60)
    world.table.purge()
    assert (world.versions()[0] > 0, world.states()[0] > 3) == (is_deleted, is_deleted)


def test_where_somebody_says_that_no_job_is_running_the_margin_is_none() -> None:
    world = World(purge__retentionCheckEnabled="false")
    world.write()
    world.clock.advance(hours=1, seconds=1)
    assert world.table.purge(older_than_hours=1).orphaned_files_deleted == 1


# Objects a second


def deletes(world: World, per_second: int) -> tuple[FaultyStore, float]:
    """The store that was watched, and how long the run took by the clock that only sleeping moves."""
    store = FaultyStore(world.store)
    ambient = FakeAmbient("cleaner", world.clock.time_ms)
    settings = {"checkpoint.interval": "3", "purge.deletesPerSecond": str(per_second), **OPEN}
    Table(store, ambient, one_thread(), settings).purge(0, 0)
    return store, (ambient.time_ms - world.clock.time_ms) / 1000


@pytest.fixture
def littered() -> World:
    world = World()
    world.appends(3, hours=1)
    for _ in range(40):
        world.write()
    world.clock.advance(hours=1)
    return world


def test_a_checkpoint_is_gone_before_the_first_of_its_parts() -> None:
    """Break: one request deletes them, in any order; a crash could leave a checkpoint whose parts are missing."""
    requests: list[list[str]] = []

    class Noting(MemoryStore):
        def delete(self, keys: Iterable[str]) -> None:
            requests.append(list(keys))

    keys = [checkpoint_key(3), *(checkpoint_part_key(3, "0123456789ab", number) for number in range(2))]
    deletions = [Deletion(key, 4, Category.CHECKPOINT, "it is old") for key in keys]
    Deleter(Noting(), FakeAmbient(), TableOptions()).delete_all(deletions, Deleted())
    assert requests == [[key] for key in keys]


@pytest.mark.parametrize(("per_second", "at_least_s", "at_most_s"), [(1, 38, 50), (10, 3, 6), (1000, 0, 1)])
def test_no_more_objects_are_deleted_in_a_second_than_allowed(
    littered: World, per_second: int, at_least_s: float, at_most_s: float
) -> None:
    store, took_s = deletes(littered, per_second)
    assert store.count("delete") >= 40
    assert at_least_s <= took_s <= at_most_s


def test_one_request_deletes_no_more_than_a_second_may(littered: World) -> None:
    sizes: list[int] = []

    class Counting(FaultyStore):
        def delete(self, keys: Iterable[str]) -> None:
            found = list(keys)
            sizes.append(len(found))
            super().delete(found)

    settings = {"checkpoint.interval": "3", "purge.deletesPerSecond": "7", **OPEN}
    ambient = FakeAmbient("cleaner", littered.clock.time_ms)
    Table(Counting(littered.store), ambient, one_thread(), settings).purge(0, 0)
    assert max(sizes) == 7


# The window within which a purged path is forbidden


class Sleepy(FakeAmbient):
    """A machine that stands still for some hours after the purge is committed."""

    def __init__(self, hours: float, time_ms: int, *, monotonic_stops: bool) -> None:
        super().__init__("sleepy", time_ms)
        self._hours = hours
        self._monotonic_stops = monotonic_stops
        self._stood_ms = 0

    def stand_still(self) -> None:
        self.advance(hours=self._hours)
        if self._monotonic_stops:
            self._stood_ms += int(self._hours * HOUR_MS)

    def monotonic_s(self) -> float:
        return (self.time_ms - self._stood_ms) / 1000


@pytest.mark.parametrize("monotonic_stops", [False, True])
def test_a_cleaner_that_stood_still_beyond_the_window_deletes_no_purged_file(monotonic_stops: bool) -> None:
    """By then the path may have been taken into use again."""
    world = World()
    file = world.write()
    world.clock.advance(hours=200)
    ambient = Sleepy(100, world.clock.time_ms, monotonic_stops=monotonic_stops)

    def commit(operation: Operation) -> Receipt:
        receipt = world.table.commit(operation)
        ambient.stand_still()
        return receipt

    report = Cleaner(world.table.reader, ambient, world.table.options, commit).purge()
    assert (report.status, world.store.head(file.path) is not None) == ("PARTIAL_SUCCESS", True)
    assert "1 objects were left for the next run" in report.message


def test_no_more_files_are_purged_at_once_than_can_be_deleted_within_the_window() -> None:
    world = World()
    for _ in range(9):
        world.write()
    world.clock.advance(hours=200)
    purged: list[int] = []

    def commit(operation: Operation) -> Receipt:
        assert isinstance(operation, Purge)
        purged.append(len(operation.paths))
        return world.table.commit(operation)

    options = table_options({"coordinator.dedupe.window": "1", "purge.deletesPerSecond": "1"})
    # An hour has room for 900 at one a second.
    Cleaner(world.table.reader, FakeAmbient("cleaner", world.clock.time_ms), options, commit).purge()
    assert purged == [9]
    many = World()
    for number in range(1000):
        many.store.put(f"orphan-{number:04d}.parquet", b"")
    many.clock.advance(hours=200)
    purged.clear()
    world = many
    Cleaner(many.table.reader, FakeAmbient("cleaner", many.clock.time_ms), options, commit).purge()
    assert purged == [900, 100]


# States on top of which a writer may still be at work


def test_a_state_stays_until_the_next_one_is_older_than_any_writer_can_be() -> None:
    """Whoever began before that may still carry its manifests over, however old they are."""
    world = World(
        interval=1, state__retention__hours="0", state__retention__versions="1", purge__retentionCheckEnabled="false"
    )
    world.appends(2, hours=100)
    world.appends(3, hours=0.1)
    world.table.purge(0, 0)
    assert world.states() == [2, 3, 4, 5]
    world.clock.advance(hours=1)
    world.table.purge(0, 0)
    assert world.states() == [4, 5]


def test_a_slow_writer_of_a_state_finds_every_manifest_that_it_carries_over() -> None:
    """It planned its state on top of one that is expired by the time it is written."""
    world = World(
        interval=1, state__retention__hours="0", state__retention__versions="1", purge__retentionCheckEnabled="false"
    )
    world.appends(2, hours=100)
    carried = {name for name in world.names() if name.startswith("manifests/")}
    world.accepted(world.table.compact())
    world.appends(3, hours=0.05)
    world.table.purge(0, 0)
    assert carried <= set(world.names())
    assert world.reopened().verify().of(Severity.ERROR) == []


def test_a_store_whose_clock_is_behind_by_less_than_the_margin_loses_no_young_file() -> None:
    world = World()
    file = world.write()
    world.clock.advance(hours=168)

    class Behind(FaultyStore):
        def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
            for info in super().list(prefix, after=after):
                yield ObjectInfo(info.key, info.size, info.modified_ms - 14 * 60_000, info.etag)

    world.reopened(Behind(world.store)).purge()
    assert world.store.head(file.path) is not None
