"""Cleaning a table in a local folder: never outside of it, never through a link, with what lies beside its files."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import StoreError
from headgate_table.indextables.cleaning.plan import Category
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import CreateOutcome
from headgate_table.store.local.leftovers import local_leftovers, remove_if_empty
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.tables import add_file, fresh_resources, new_table

WEEKS = 24 * 7


class LocalWorld:
    """A table in a folder, whose files can be made as old as a test needs them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "table"
        self.outside = folder / "outside"
        self.outside.mkdir()
        self.clock = FakeAmbient()
        self.store = LocalStore(str(self.root), self.clock, durable=False)
        self.table = new_table(self.store, interval=3, ambient=self.clock)
        for number in range(7):
            file = add_file(f"live-{number}", 4)
            self.write(file.path)
            self.table.append([file])

    def write(self, key: str, data: bytes = b"data") -> Path:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def age(self, hours: float = 60 * WEEKS) -> None:
        """Everything in both folders is that old by the table's clock, links as well."""
        then = self.clock.time_ms / 1000 - hours * 3600
        for folder, folders, files in os.walk(self.root.parent):
            for name in [*folders, *files]:
                os.utime(os.path.join(folder, name), (then, then), follow_symlinks=False)

    def opened(self) -> Table:
        return Table(self.store, FakeAmbient("cleaner", self.clock.time_ms), one_thread(), {"checkpoint.interval": "3"})

    def purged(self) -> list[str]:
        """The data files and leftovers that a purge of an old table deletes."""
        self.age()
        report = self.opened().purge()
        assert report.status == "SUCCESS", report.message
        log = (Category.STATE, Category.VERSION, Category.MANIFEST, Category.CHECKPOINT)
        return [deletion.key for deletion in report.deletions if deletion.category not in log]

    def is_sound(self) -> bool:
        table = self.opened()
        there = all((self.root / path).exists() for path in table.snapshot().paths())
        return there and table.verify().of(Severity.ERROR) == []


@pytest.fixture
def world(tmp_path: Path) -> LocalWorld:
    return LocalWorld(tmp_path)


def test_an_old_table_is_cleaned_and_stays_sound(world: LocalWorld) -> None:
    orphan = world.write("date=2024-01-01/orphan.parquet")
    assert world.purged() == ["date=2024-01-01/orphan.parquet"]
    assert (orphan.exists(), world.is_sound()) == (False, True)


# Links


def test_a_link_to_a_file_outside_is_left_alone_and_so_is_the_file(world: LocalWorld) -> None:
    (world.outside / "theirs.parquet").write_text("theirs")
    (world.root / "link.parquet").symlink_to(world.outside / "theirs.parquet")
    assert world.purged() == []
    assert (world.outside / "theirs.parquet").read_text() == "theirs"


def test_a_link_to_a_folder_outside_is_not_entered(world: LocalWorld) -> None:
    (world.outside / "theirs.parquet").write_text("theirs")
    (world.root / "date=2024-01-01").symlink_to(world.outside)
    assert world.purged() == []
    assert (world.outside / "theirs.parquet").read_text() == "theirs"


def test_a_file_that_a_link_of_the_table_leads_to_is_left_alone(world: LocalWorld) -> None:
    """The log names the link, not the file behind it."""
    world.write("kept/real.parquet")
    (world.root / "named.parquet").symlink_to(world.root / "kept" / "real.parquet")
    world.table.append([add_file("named", 4)])
    assert world.purged() == []
    assert world.is_sound()


def test_files_of_a_folder_that_a_link_of_the_table_leads_to_are_left_alone(world: LocalWorld) -> None:
    world.write("kept/real.parquet")
    (world.root / "region=eu").symlink_to(world.root / "kept")
    world.table.append([add_file("region=eu/real", 4)])
    assert world.purged() == []
    assert all((world.root / path).exists() for path in world.opened().snapshot().paths())


def test_files_that_links_lead_to_hide_no_orphan(world: LocalWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: what is linked is taken out only after the search has ended at its bound."""
    monkeypatch.setattr("headgate_table.indextables.cleaning.cleaner.MAX_ORPHANS", 2)
    for name in "abc":
        world.write(f"kept/{name}.parquet")
    (world.root / "region=eu").symlink_to(world.root / "kept")
    world.write("orphan.parquet")
    assert world.purged() == ["orphan.parquet"]


def test_a_link_to_the_whole_table_leaves_every_file_alone(world: LocalWorld) -> None:
    world.write("orphan.parquet")
    (world.root / "again").symlink_to(world.root)
    assert world.purged() == []


def test_links_that_run_in_a_circle_end_nothing(world: LocalWorld) -> None:
    world.write("orphan.parquet")
    (world.root / "circle").symlink_to(world.root / "circle")
    assert world.purged() == ["orphan.parquet"]


def test_a_table_that_is_opened_by_a_link_is_cleaned_where_it_lies(world: LocalWorld, tmp_path: Path) -> None:
    orphan = world.write("orphan.parquet")
    (tmp_path / "alias").symlink_to(world.root)
    world.store = LocalStore(str(tmp_path / "alias"), world.clock, durable=False)
    assert (world.purged(), orphan.exists()) == (["orphan.parquet"], False)


def test_a_folder_that_becomes_a_link_before_the_delete_is_not_followed(world: LocalWorld) -> None:
    """The cleaner has listed an orphan; then its folder is replaced by a link to another place."""
    world.write("a/orphan.parquet")
    theirs = world.write("b/orphan.parquet")
    live = add_file("b/orphan", 4)
    world.table.append([live])
    world.age()

    class Replaced(LocalStore):
        def delete(self, keys: Iterable[str]) -> None:
            found = list(keys)
            if "a/orphan.parquet" in found:
                os.rename(world.root / "a", world.outside / "moved")
                (world.root / "a").symlink_to(world.root / "b")
            super().delete(found)

    world.store = Replaced(str(world.root), world.clock, durable=False)
    report = world.opened().purge()
    assert (report.status, theirs.exists()) == ("PARTIAL_SUCCESS", True)
    assert "a part of its path is a symbolic link" in report.message


@pytest.mark.parametrize("target", ["inside", "outside"])
def test_a_delete_goes_through_no_link(world: LocalWorld, target: str) -> None:
    place = {"inside": world.root / "kept", "outside": world.outside}[target]
    place.mkdir(exist_ok=True)
    (place / "file.parquet").write_text("theirs")
    (world.root / "link").symlink_to(place)
    with pytest.raises(StoreError, match="symbolic link"):
        world.store.delete(["link/file.parquet"])
    assert (place / "file.parquet").read_text() == "theirs"


def test_a_link_that_gets_in_between_check_and_delete_is_not_followed(
    world: LocalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last look at the path saw a folder."""
    world.write("kept/file.parquet")
    (world.root / "link").symlink_to(world.root / "kept")
    monkeypatch.setattr(os.path, "realpath", os.path.abspath)
    world.store.delete(["link/file.parquet"])
    assert (world.root / "kept" / "file.parquet").exists()


# Names


@pytest.mark.parametrize(
    "name",
    [
        "a b.parquet",
        "%2e%2e%2f%2e%2e%2fescape.parquet",
        "..parquet",
        "...",
        "~",
        "$(rm -rf x).parquet",
        "a=1/b=%C3%A4/ü.parquet",
        "*",
        "C:",
        "-rf",
        "x" * 255,
    ],
)
def test_an_orphan_of_an_odd_name_is_deleted_and_nothing_else(world: LocalWorld, name: str) -> None:
    if not name.startswith("."):
        world.write(name)
    theirs = world.outside / "escape.parquet"
    theirs.write_text("theirs")
    assert world.purged() == ([name] if not name.startswith(".") else [])
    assert (theirs.exists(), world.is_sound()) == (True, True)


@pytest.mark.parametrize("name", [b"not-\xffunicode.parquet", b"back\\slash.parquet", b"new\nline.parquet"])
def test_a_file_whose_name_is_no_key_is_left_alone(world: LocalWorld, name: bytes) -> None:
    place = os.path.join(os.fsencode(world.root), name)
    with open(place, "wb") as file:
        file.write(b"theirs")
    assert (world.purged(), os.path.exists(place)) == ([], True)


@pytest.mark.parametrize("path", ["../outside/theirs.parquet", "a/../../outside/theirs.parquet"])
def test_a_log_that_names_files_outside_makes_nobody_delete_them(world: LocalWorld, path: str) -> None:
    """A foreign writer's path, which is removed and forgotten: the file isn't ours to delete."""
    (world.outside / "theirs.parquet").write_text("theirs")
    swap = {"path": path, "partitionValues": {}, "size": 6, "modificationTime": 1, "dataChange": True}
    for number, action in enumerate(({"add": swap}, {"remove": {"path": path, "dataChange": True}}), start=8):
        world.write(f"_transaction_log/{number:020d}.json", f"{json.dumps(action)}\n".encode())
    for number in range(6):
        file = add_file(f"later-{number}", 4)
        world.write(file.path)
        world.opened().append([file])
    world.purged()
    assert (world.outside / "theirs.parquet").read_text() == "theirs"


@pytest.mark.parametrize("path", ["../outside/theirs.parquet", "/etc/hostname", "a/../../outside/theirs.parquet"])
def test_a_store_deletes_nothing_outside_of_its_folder(world: LocalWorld, path: str) -> None:
    (world.outside / "theirs.parquet").write_text("theirs")
    with pytest.raises(InvalidInput, match="can't be used"):
        world.store.delete([path])
    assert (world.outside / "theirs.parquet").exists()


# What lies beside the files


def test_the_sidecar_of_a_deleted_file_goes_with_it(world: LocalWorld) -> None:
    world.write("orphan.parquet")
    sidecar = world.write(".orphan.parquet.crc")
    world.purged()
    assert not sidecar.exists()


def test_the_sidecars_of_deleted_versions_and_states_go_with_them(world: LocalWorld) -> None:
    log = world.root / "_transaction_log"
    gone = world.write("_transaction_log/.00000000000000000000.json.crc")
    kept = world.write("_transaction_log/.00000000000000000007.json.crc")
    world.age()
    world.opened().purge(log_retention_hours=1)
    assert not (log / "00000000000000000000.json").exists()
    assert (gone.exists(), kept.exists()) == (False, True)


UNIQUE = "0123456789abcdef" * 2


def test_a_temporary_file_of_a_killed_writer_is_deleted_when_it_is_old(world: LocalWorld) -> None:
    left = [
        f".part.parquet.{UNIQUE}.tmp",
        f"date=2024-01-01/.part.parquet.{UNIQUE}.tmp",
        f"_transaction_log/.00000000000000000008.json.{UNIQUE}.tmp",
    ]
    for key in left:
        world.write(key)
    assert (world.purged(), world.is_sound()) == (sorted(left), True)


def test_what_a_killed_batch_of_spark_has_staged_is_deleted_with_its_folders_when_it_is_old(world: LocalWorld) -> None:
    left = [
        "_headgate/spark/batch-1/job/_temporary/0/task/k=%2F/part-0.snappy.parquet",
        "_headgate/spark/batch-1/job/k=1/part-1.snappy.parquet",
        "_headgate/spark/query/job/_SUCCESS",
    ]
    sidecar = world.write("_headgate/spark/batch-1/job/k=1/.part-1.snappy.parquet.crc")
    for key in left:
        world.write(key)
    others = world.write("_headgate/sparkling/part.parquet")
    assert {*world.purged()} >= {*left}
    assert (world.is_sound(), sidecar.exists(), others.exists()) == (True, False, True)
    assert not any((world.root / "_headgate" / "spark").iterdir())


def test_what_a_batch_of_spark_has_just_staged_is_left_alone(world: LocalWorld) -> None:
    young = world.write("_headgate/spark/batch-1/job/part-1.snappy.parquet")
    world.age(hours=100)
    world.opened().purge()
    assert young.exists()


def test_a_temporary_file_that_is_written_to_is_left_alone(world: LocalWorld) -> None:
    young = world.write(f".part.parquet.{UNIQUE}.tmp")
    world.age(hours=100)
    world.opened().purge()
    assert young.exists()


@pytest.mark.parametrize(
    "key",
    [
        ".headgate.lock",
        ".part.parquet.tmp",
        f"part.{UNIQUE}.tmp.txt",
        f".part.parquet.{UNIQUE}.tmp.swp",
        ".orphan.crc",
        f"inner/_transaction_log/.x.{UNIQUE}.tmp",
        f"inner/.x.{UNIQUE}.tmp",
    ],
)
def test_hidden_files_of_others_are_left_alone(world: LocalWorld, key: str) -> None:
    if key.startswith("inner/"):
        world.write("inner/_transaction_log/00000000000000000000.json", b"{}")
    left = world.write(key)
    world.purged()
    assert left.exists() == (key != f"part.{UNIQUE}.tmp.txt")


def test_a_link_with_the_name_of_a_temporary_file_is_left_alone(world: LocalWorld) -> None:
    (world.outside / "theirs").write_text("theirs")
    (world.root / f".x.{UNIQUE}.tmp").symlink_to(world.outside / "theirs")
    assert (world.purged(), (world.outside / "theirs").exists()) == ([], True)


def test_every_temporary_file_that_a_store_makes_is_recognised(
    world: LocalWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between writing the bytes and giving them their name."""
    seen: list[str] = []

    def killed(temporary: str, path: str) -> None:
        seen.extend(info.key for info in local_leftovers(world.store).temporaries)
        raise KeyboardInterrupt

    monkeypatch.setattr("headgate_table.store.local.files.place_if_absent", killed)
    for key in ("a/" + "x" * 255, "plain"):
        with pytest.raises(KeyboardInterrupt):
            world.store.create(key, b"data")
    assert len(seen) == 2


def test_a_dry_run_lists_temporary_files_and_deletes_none(world: LocalWorld) -> None:
    left = world.write(f".part.parquet.{UNIQUE}.tmp")
    world.age()
    report = world.opened().purge(dry_run=True)
    assert (f".part.parquet.{UNIQUE}.tmp" in {item.key for item in report.deletions}, left.exists()) == (True, True)


# A folder that changes meanwhile


def appear(world: LocalWorld) -> None:
    world.write("late/new.parquet")


def vanish(world: LocalWorld) -> None:
    for path in world.root.glob("many/*.parquet"):
        path.unlink()


def vanish_whole(world: LocalWorld) -> None:
    vanish(world)
    if (world.root / "many").exists():
        (world.root / "many").rmdir()


def become_a_folder(world: LocalWorld) -> None:
    place = world.root / "many" / "orphan-3.parquet"
    if place.is_file():
        place.unlink()
        place.mkdir()


@pytest.mark.parametrize("change", [appear, vanish, vanish_whole, become_a_folder])
@pytest.mark.parametrize("moment", ["before the purge", "before the delete"])
def test_a_folder_that_changes_during_the_run_does_no_harm(
    world: LocalWorld, change: Callable[[LocalWorld], None], moment: str
) -> None:
    for number in range(6):
        world.write(f"many/orphan-{number}.parquet")
    world.age()

    class Changing(LocalStore):
        def create(self, key: str, data: bytes) -> CreateOutcome:
            if moment == "before the purge" and key.endswith(".json"):
                change(world)
            return super().create(key, data)

        def delete(self, keys: Iterable[str]) -> None:
            if moment == "before the delete":
                change(world)
            super().delete(keys)

    world.store = Changing(str(world.root), world.clock, durable=False)
    report = world.opened().purge()
    assert (report.status, world.is_sound()) == ("SUCCESS", True)
    assert not [path for path in (world.root / "many").glob("*") if path.is_file()]


# Folders of states


def state_folders(world: LocalWorld) -> set[int]:
    return {int(path.name.removeprefix("state-v")) for path in (world.root / "_transaction_log").glob("state-v*")}


def test_a_state_goes_with_its_folder(world: LocalWorld) -> None:
    """Break: `Deleter` leaves the folder."""
    world.clock.advance(hours=60 * WEEKS)
    assert 3 in state_folders(world)
    world.opened().truncate_history()
    left = {path.parent for path in world.root.rglob("_manifest.avro")}
    assert {world.root / "_transaction_log" / f"state-v{number:020d}" for number in state_folders(world)} == left
    assert 3 not in state_folders(world)


def test_a_state_that_another_process_cleaned_up_is_not_retained(world: LocalWorld) -> None:
    """Its folder was listed for ever, and the state itself is remembered here. Break: `Deleter` leaves the folder."""
    reader = Table(world.store, world.clock, fresh_resources(), {"checkpoint.interval": "3"}).reader
    assert reader.retained(reader.full_listing()) == [(0, 7)]
    world.clock.advance(hours=60 * WEEKS)
    world.opened().truncate_history()
    listing = reader.full_listing()
    assert reader.states_in_order(listing) == tuple(sorted(state_folders(world)))
    for low, high in reader.retained(listing):
        for version in range(low, high + 1):
            assert reader.at_version(version).version == version


def test_a_folder_with_something_in_it_stays(world: LocalWorld) -> None:
    kept = world.write("_transaction_log/state-v00000000000000000001/.strange")
    remove_if_empty(world.store, "_transaction_log/state-v00000000000000000001")
    assert kept.exists()


def test_an_empty_folder_behind_a_link_stays(world: LocalWorld) -> None:
    """Break: `remove_if_empty` goes by path."""
    (world.outside / "state-v00000000000000000001").mkdir()
    (world.root / "linked").symlink_to(world.outside)
    remove_if_empty(world.store, "linked/state-v00000000000000000001")
    assert (world.outside / "state-v00000000000000000001").exists()
