"""Quarantine: data files and manifests are moved first and deleted later, and can come back meanwhile."""

import io
from pathlib import Path
from typing import BinaryIO

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import StoreError
from headgate_table.indextables.cleaning.orphans import is_data_key
from headgate_table.indextables.cleaning.plan import Category
from headgate_table.indextables.cleaning.quarantine import QUARANTINE
from headgate_table.interface.findings import Severity
from headgate_table.store import copying
from headgate_table.store.copying import copy_object
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from support.ambient import FakeAmbient
from support.cleaning import World, copied
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore

DAYS = 24


def a_world(store: Store | None = None) -> World:
    """12 commits, states 3 to 12, an orphan and an orphan manifest, all 28 days old; quarantine for 2 days."""
    world = World(purge__quarantineHours="48", store=store)
    world.write()
    world.appends(12)
    world.store.put(MANIFEST, b"nobody's")
    world.clock.advance(hours=28 * DAYS)
    return world


ORPHAN = "file-0001.parquet"
MANIFEST = "_transaction_log/manifests/manifest-00000000000000aa.avro"


@pytest.fixture
def world() -> World:
    return a_world()


def in_quarantine(world: World, store: Store | None = None) -> list[str]:
    """Without the day."""
    return [name.partition("/")[2] for name in world.names(QUARANTINE, store)]


def test_an_orphan_is_moved_and_not_deleted(world: World) -> None:
    data = world.store.get(ORPHAN)
    world.table.purge()
    (moved,) = [info for info in world.store.list(QUARANTINE) if info.key.endswith(ORPHAN)]
    assert (world.store.head(ORPHAN), world.store.get(moved.key)) == (None, data)


def test_data_files_and_manifests_are_moved_and_versions_and_states_are_not(world: World) -> None:
    report = world.table.purge()
    moved = {item.key for item in report.deletions if item.category in (Category.DATA_FILE, Category.MANIFEST)}
    assert {ORPHAN, MANIFEST} <= moved
    assert set(in_quarantine(world)) == moved
    assert (report.expired_states_deleted, world.versions()[0]) == (2, 10)


def test_without_the_setting_nothing_is_moved() -> None:
    world = World()
    world.write()
    world.clock.advance(hours=28 * DAYS)
    world.table.purge()
    assert (world.names("_headgate/"), world.store.head(ORPHAN)) == ([], None)


def test_no_reader_takes_what_lies_there_for_data(world: World) -> None:
    world.table.purge()
    assert not any(is_data_key(info.key) for info in world.store.list(QUARANTINE))
    assert world.reopened().verify().of(Severity.ERROR) == []
    assert not [finding for finding in world.reopened().verify().findings if "quarantine" in finding.object]


def test_it_stays_for_the_second_period(world: World) -> None:
    world.table.purge()
    there = in_quarantine(world)
    world.clock.advance(hours=47)
    world.table.purge()
    assert in_quarantine(world) == there != []


def test_after_the_second_period_it_is_deleted_and_reported(world: World) -> None:
    world.table.purge()
    there = world.names(QUARANTINE)
    world.clock.advance(hours=49)
    report = world.table.purge()
    gone = [item.key.removeprefix(QUARANTINE) for item in report.deletions if item.category is Category.QUARANTINED]
    assert (in_quarantine(world), gone) == ([], there)
    assert f"{len(gone)} objects in quarantine" in report.message


def test_where_quarantine_is_switched_off_what_is_there_goes_after_the_retention_of_files(world: World) -> None:
    world.table.purge()
    world.settings = {}
    world.clock.advance(hours=160)
    world.reopened(seed="sooner").purge()
    kept = in_quarantine(world)
    world.clock.advance(hours=10)
    world.reopened(seed="later").purge()
    assert (ORPHAN in kept, in_quarantine(world)) == (True, [])


def test_a_dry_run_moves_nothing_and_lists_what_would_be_moved(world: World) -> None:
    before = world.names("")
    planned = world.reopened(seed="dry").purge(dry_run=True)
    assert world.names("") == before
    assert [item.key for item in world.table.purge().deletions] == [item.key for item in planned.deletions]


def test_a_file_comes_back_with_its_bytes(world: World) -> None:
    data = world.store.get(ORPHAN)
    world.table.purge()
    found = world.table.bring_back("file-")
    assert (found.restored, world.store.get(ORPHAN), in_quarantine(world)) == (
        (ORPHAN,),
        data,
        [name for name in in_quarantine(world) if name != ORPHAN],
    )


def test_only_what_is_asked_for_comes_back(world: World) -> None:
    world.table.purge()
    assert world.table.bring_back("_transaction_log/").restored
    assert world.store.head(ORPHAN) is None


def test_everything_comes_back_without_a_name(world: World) -> None:
    world.table.purge()
    there = in_quarantine(world)
    assert (sorted(world.table.bring_back().restored), in_quarantine(world)) == (sorted(there), [])


def test_what_came_back_is_young(world: World) -> None:
    world.table.purge()
    world.table.bring_back()
    world.table.purge()
    assert world.store.head(ORPHAN) is not None


def test_what_would_replace_something_stays_in_quarantine(world: World) -> None:
    world.table.purge()
    world.store.put(ORPHAN, b"new")
    found = world.table.bring_back("file-")
    assert (found.restored, found.in_the_way, world.store.get(ORPHAN)) == ((), (ORPHAN,), b"new")
    assert ORPHAN in in_quarantine(world)


def test_of_two_moves_the_last_comes_back(world: World) -> None:
    world.store.put(f"{QUARANTINE}20200101/{ORPHAN}", b"first")
    world.store.put(f"{QUARANTINE}20200102/{ORPHAN}", b"last")
    world.table.bring_back(ORPHAN) if world.store.head(ORPHAN) is None else world.store.delete([ORPHAN])
    world.table.bring_back(ORPHAN)
    assert (world.store.get(ORPHAN), in_quarantine(world)) == (b"last", [])


def test_a_place_in_quarantine_is_no_name_to_bring_back(world: World) -> None:
    with pytest.raises(InvalidInput, match="name what the objects were called before"):
        world.table.bring_back(f"{QUARANTINE}20200101/")


def test_a_copy_that_fails_leaves_the_file_where_it_is(world: World) -> None:
    store = FaultyStore(world.store, on("put", Fault.REFUSED, key=QUARANTINE))
    report = world.reopened(store).purge()
    assert (report.status, world.store.head(MANIFEST) is not None) == ("PARTIAL_SUCCESS", True)


def test_a_name_that_is_too_long_to_be_moved_is_left_and_named() -> None:
    world = World(purge__quarantineHours="48")
    long = "/".join(["x" * 250] * 4)
    world.store.put(long, b"data")
    world.clock.advance(hours=28 * DAYS)
    report = world.table.purge()
    assert (world.store.head(long) is not None, "too long for quarantine" in report.message) == (True, True)


def test_names_that_are_too_long_to_be_moved_hide_no_orphan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: they are taken out only after the search has ended at its bound."""
    monkeypatch.setattr("headgate_table.indextables.cleaning.cleaner.MAX_ORPHANS", 2)
    world = World(purge__quarantineHours="48")
    for name in "abc":
        world.store.put("/".join([name * 250] * 4), b"data")
    world.store.put("orphan.parquet", b"data")
    world.clock.advance(hours=28 * DAYS)
    report = world.table.purge()
    assert (report.orphaned_files_deleted, world.store.head("orphan.parquet")) == (1, None)


def test_after_a_kill_at_any_step_no_object_is_lost_before_its_time(world: World) -> None:
    before = world.table.snapshot().paths()
    for death in deaths(lambda: copied(world.store, world.clock), lambda store: world.reopened(store).purge()):
        there = {*world.names("", death.store), *in_quarantine(world, death.store)}
        assert {ORPHAN, MANIFEST} <= there, death.step
        after = world.reopened(death.store, seed="after")
        assert after.snapshot().paths() == before, death.step
        assert after.verify().of(Severity.ERROR) == [], death.step


def test_after_a_kill_at_any_step_of_coming_back_it_can_be_repeated(world: World) -> None:
    world.table.purge()
    data = world.store.get(next(info.key for info in world.store.list(QUARANTINE) if info.key.endswith(ORPHAN)))
    for death in deaths(lambda: copied(world.store, world.clock), lambda store: world.reopened(store).bring_back()):
        world.reopened(death.store, seed="after").bring_back()
        assert death.store.get(ORPHAN) == data, death.step


# Copies


@pytest.fixture(params=["memory", "local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    match request.param:
        case "memory":
            return MemoryStore(FakeAmbient())
        case "local":
            return LocalStore(str(tmp_path / "table"), FakeAmbient(), durable=False)
        case _:
            from headgate_table.store.open import open_store

            bucket = request.getfixturevalue("s3_bucket")
            settings = request.getfixturevalue("versitygw").settings()
            return open_store(f"s3://{bucket}/table", settings, FakeAmbient())


@pytest.mark.parametrize("size", [0, 1, 10, 11, 1000])
def test_a_copy_has_the_same_bytes_whatever_its_size(store: Store, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(copying, "BLOCK_BYTES", 10)
    data = bytes(number % 251 for number in range(size))
    store.put("a/from", data)
    assert copy_object(store, "a/from", "b/to")
    assert (store.get("b/to"), store.get("a/from")) == (data, data)


def test_what_is_gone_is_not_copied(store: Store) -> None:
    assert not copy_object(store, "from", "to")
    assert store.head("to") is None


def test_a_large_object_is_never_held_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "BLOCK_BYTES", 100)
    longest = 0

    class Watched(MemoryStore):
        def get_range(self, key: str, start: int, length: int) -> bytes:
            nonlocal longest
            longest = max(longest, length)
            return super().get_range(key, start, length)

        def put_stream(self, key: str, stream: BinaryIO) -> None:
            found = io.BytesIO()
            while chunk := stream.read(64):
                found.write(chunk)
            self.put(key, found.getvalue())

    store = Watched(FakeAmbient())
    store.put("from", bytes(10_000))
    copy_object(store, "from", "to")
    assert (longest, store.get("to")) == (100, bytes(10_000))


def test_a_copy_of_another_size_is_an_error_and_nothing_is_deleted() -> None:
    class Short(MemoryStore):
        def put(self, key: str, data: bytes) -> None:
            super().put(key, data[:-1] if key == "to" else data)

    store = Short(FakeAmbient())
    store.put("from", b"data")
    with pytest.raises(StoreError, match="is not what was copied"):
        copy_object(store, "from", "to")
