"""A disk that refuses an fsync: nobody is told that a write stands which a power cut may take away."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Append, Committed, Duplicate
from headgate_table.errors import OutcomeUnknown, StoreError
from headgate_table.store.interface import Created, Unknown
from headgate_table.store.local import files as local_files
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.tables import add_file, committer_of

AMBIENT = SystemAmbient()


class Disk:
    """Fails the syncs of folders that it is told to, as a kernel does: once each, and what was not kept is clean from then on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.fail_folders = 0
        """So many of the next syncs of folders fail."""
        self.synced: set[str] = set()
        self._new: set[str] = set()
        """Names that were made since their folder was synced."""
        self._dropped: set[str] = set()
        """Names that a power cut takes away, however often their folder is synced."""
        self._sync, self._link, self._replace = os.fsync, os.link, os.replace
        patch.setattr(os, "fsync", self._fsync)
        patch.setattr(os, "link", self._linked)
        patch.setattr(os, "replace", self._replaced)

    def _linked(self, source: str, target: str, **options: bool) -> None:
        self._link(source, target, **options)
        self._made(target)

    def _replaced(self, source: str, target: str) -> None:
        self._replace(source, target)
        self._made(target)

    def _made(self, target: str) -> None:
        self._new.add(target)
        self._dropped.discard(target)

    def _fsync(self, descriptor: int) -> None:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return self._sync(descriptor)
        folder = os.readlink(f"/proc/self/fd/{descriptor}")
        asked = {path for path in self._new if os.path.dirname(path) == folder}
        self._new -= asked
        if self.fail_folders:
            self.fail_folders -= 1
            self._dropped |= asked
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self.synced.add(folder)
        return None

    def is_kept(self, path: str) -> bool:
        return path not in self._new and path not in self._dropped


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.fixture
def table(tmp_path: Path, disk: Disk) -> Table:
    return Table.create(str(tmp_path / "t"), "id BIGINT")


def version_path(table: Table, version: int) -> str:
    path = table.store.local_path(f"_transaction_log/{version:020d}.json")
    assert path is not None
    return path


def test_a_commit_that_the_disk_refuses_is_written_anew_before_it_is_acknowledged(table: Table, disk: Disk) -> None:
    disk.fail_folders = 1
    assert isinstance(table.append([add_file("a")]), Committed)
    assert disk.is_kept(version_path(table, 1))


def test_a_commit_that_the_disk_refuses_again_and_again_is_unknown(table: Table, disk: Disk) -> None:
    disk.fail_folders = 100
    with pytest.raises(OutcomeUnknown, match="refused to keep it"):
        table.append([add_file("a")])


def test_the_same_proposal_is_no_duplicate_of_what_the_disk_refuses(table: Table, disk: Disk) -> None:
    """Neither for this table nor for one that the process opens again."""
    operation = Append((add_file("a"),))
    disk.fail_folders = 1_000
    with pytest.raises(OutcomeUnknown):
        committer_of(table).commit(operation, "x")
    with pytest.raises(StoreError, match="refused to keep it"):
        committer_of(table).commit(operation, "x")
    with pytest.raises(StoreError, match="refused to keep it"):
        committer_of(Table.open(table.uri)).commit(operation, "x")
    disk.fail_folders = 0
    assert committer_of(Table.open(table.uri)).commit(operation, "x") == Duplicate(1, "x")
    assert disk.is_kept(version_path(table, 1))


def write_put(store: LocalStore) -> None:
    store.put("log/k", b"new")


def write_create(store: LocalStore) -> None:
    outcome = store.create("log/k", b"new")
    if isinstance(outcome, Unknown):
        raise StoreError(outcome.reason)


READS: tuple[Callable[[LocalStore], object], ...] = (
    lambda store: store.get("log/k"),
    lambda store: store.get_range("log/k", 0, 3),
    lambda store: store.get_with_etag("log/k"),
    lambda store: store.head("log/k"),
)


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("write", [write_put, write_create])
def test_what_the_disk_refused_is_read_only_once_it_is_kept(
    tmp_path: Path, disk: Disk, write: Callable[[LocalStore], None], read: Callable[[LocalStore], object]
) -> None:
    store = LocalStore(str(tmp_path), AMBIENT)
    store.put("log/other", b"")
    disk.fail_folders = 2
    with pytest.raises(StoreError):
        write(store)
    with pytest.raises(StoreError, match="refused to keep it"):
        read(LocalStore(str(tmp_path), AMBIENT))
    assert read(LocalStore(str(tmp_path), AMBIENT))
    assert disk.is_kept(str(tmp_path / "log" / "k"))


def test_a_swap_that_the_disk_refuses_is_read_only_once_it_is_kept(tmp_path: Path, disk: Disk) -> None:
    store = LocalStore(str(tmp_path), AMBIENT)
    created = store.create("k", b"old")
    assert isinstance(created, Created)
    disk.fail_folders = 2
    assert isinstance(store.swap("k", b"new", created.etag), Unknown)
    with pytest.raises(StoreError, match="refused to keep it"):
        store.get("k")
    assert store.get("k") == b"new"
    assert disk.is_kept(str(tmp_path / "k"))


def test_a_folder_whose_name_the_disk_refused_is_synced_again(tmp_path: Path, disk: Disk) -> None:
    store = LocalStore(str(tmp_path), AMBIENT)
    refused: list[str] = []
    sync = local_files.sync_folder

    def refuse_once(folder: str) -> None:
        if folder == str(tmp_path) and not refused:
            refused.append(folder)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_files, "sync_folder", refuse_once)
        assert isinstance(store.create("a/k", b"1"), Unknown)
        assert store.get("a/k") == b"1"
    assert refused
    assert str(tmp_path) in disk.synced


@pytest.mark.parametrize("failing", ["link", "unlink"])
def test_a_name_that_the_disk_gave_before_it_failed_is_not_called_absent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """The link is made, and then the call for it, or for the temporary name, fails."""
    store = LocalStore(str(tmp_path), AMBIENT)
    call = getattr(os, failing)

    def failed(*args: object, **kwargs: object) -> None:
        call(*args, **kwargs)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, failing, failed)
    assert isinstance(store.create("k", b"1"), Unknown)
    monkeypatch.undo()
    assert store.get("k") == b"1"


@settings(max_examples=60, deadline=None)
@given(failures=st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_whatever_is_acknowledged_is_on_the_disk(failures: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commits while syncs of folders fail, now and then and in rows."""
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(patch)
        table = Table.create(str(tmp_path_factory.mktemp("disk") / "t"), "id BIGINT")
        for number, count in enumerate(failures):
            disk.fail_folders = count
            try:
                receipt = table.append([add_file(f"f{number}")])
            except (StoreError, OutcomeUnknown):
                continue
            assert isinstance(receipt, Committed)
            assert all(disk.is_kept(version_path(table, version)) for version in range(receipt.version + 1))
