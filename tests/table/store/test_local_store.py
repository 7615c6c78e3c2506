"""What only a local store promises: durability, processes, sidecars of Hadoop, symbolic links, full disks."""

import ctypes
import errno
import fcntl
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, Unknown
from headgate_table.store.local import files as local_files
from headgate_table.store.local.store import FOLDER_ATTEMPTS, LocalStore
from support.restless import RestlessAmbient
from support.stores.races import race_processes

AMBIENT = SystemAmbient()

READY = "print('ready', flush=True); sys.stdin.readline()"

CREATE = f"""
import sys
from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.local.store import LocalStore
number, root = sys.argv[1:]
store = LocalStore(root, SystemAmbient())
{READY}
print(",".join(type(store.create(f"log/{{n}}", number.encode())).__name__ for n in range(40)))
"""

COUNT = f"""
import sys
from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.interface import Created
from headgate_table.store.local.store import LocalStore
number, root = sys.argv[1:]
store = LocalStore(root, SystemAmbient())
{READY}
moved = 0
while moved < 25:
    data, etag = store.get_with_etag("counter")
    moved += isinstance(store.swap("counter", b"%d" % (int(data) + 1), etag), Created)
print(moved)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(root: Path) -> LocalStore:
    return LocalStore(str(root), AMBIENT)


def names_on_disk(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def fail_with(code: int, only: str = "") -> Callable[..., None]:
    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(code, os.strerror(code), only)

    return fail


def test_one_of_eight_processes_creates_each_key(store: LocalStore, root: Path) -> None:
    answers = race_processes(8, CREATE, [str(root)])
    rounds = list(zip(*(answer.split(",") for answer in answers), strict=True))
    assert [sorted(outcomes) for outcomes in rounds] == [["AlreadyExists"] * 7 + ["Created"]] * 40
    assert [int(store.get(f"log/{number}")) for number in range(40)] == [
        outcomes.index("Created") for outcomes in rounds
    ]


def test_a_counter_moved_by_eight_processes_loses_nothing(store: LocalStore, root: Path) -> None:
    store.put("counter", b"0")
    assert race_processes(8, COUNT, [str(root)]) == ["25"] * 8
    assert store.get("counter") == b"200"


def test_no_staging_file_is_left_behind(store: LocalStore, root: Path) -> None:
    store.put("a/put", b"1")
    store.put("a/put", b"2")
    created = store.create("a/created", b"1")
    store.create("a/created", b"2")
    assert isinstance(created, Created)
    store.swap("a/created", b"3", created.etag)
    store.swap("a/created", b"4", "outdated")
    assert names_on_disk(root) == ["a/created", "a/put"]


def test_a_loser_whose_bytes_are_written_already_leaves_no_staging_file(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = local_files.write_temporary

    def write_and_be_overtaken(path: str, data: bytes, unique: str, *, durable: bool) -> str:
        Path(path).write_bytes(b"theirs")
        return write(path, data, unique, durable=durable)

    root.mkdir()
    monkeypatch.setattr(local_files, "write_temporary", write_and_be_overtaken)
    assert store.create("k", b"ours") == AlreadyExists()
    assert (names_on_disk(root), store.get("k")) == (["k"], b"theirs")


def test_the_etag_for_swap_changes_within_one_tick_of_the_clock(store: LocalStore, root: Path) -> None:
    store.put("k", b"1")
    status = (root / "k").stat()
    _, etag = store.get_with_etag("k")
    (root / "k").write_bytes(b"2")
    os.utime(root / "k", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert store.swap("k", b"3", etag) == AlreadyExists()


@pytest.mark.parametrize("write", ["put", "create", "swap", "delete"])
def test_a_sidecar_of_hadoop_goes_with_the_bytes_it_described(store: LocalStore, root: Path, write: str) -> None:
    created = store.create("log/k", b"old")
    assert isinstance(created, Created)
    if write == "create":
        store.delete(["log/k"])
    (root / "log" / ".k.crc").write_bytes(b"crc\0")
    match write:
        case "put":
            store.put("log/k", b"new")
        case "create":
            store.create("log/k", b"new")
        case "swap":
            store.swap("log/k", b"new", created.etag)
        case _:
            store.delete(["log/k"])
    assert not (root / "log" / ".k.crc").exists()


def test_the_sidecar_of_another_file_stays(store: LocalStore, root: Path) -> None:
    store.put("log/k", b"old")
    (root / "log" / ".other.crc").write_bytes(b"crc\0")
    store.put("log/k", b"new")
    assert (root / "log" / ".other.crc").exists()


def test_a_lost_create_leaves_the_sidecar_of_the_winner(store: LocalStore, root: Path) -> None:
    store.put("log/k", b"old")
    (root / "log" / ".k.crc").write_bytes(b"crc\0")
    store.create("log/k", b"new")
    assert (root / "log" / ".k.crc").exists()


def test_staging_files_of_other_writers_are_not_listed(store: LocalStore, root: Path) -> None:
    store.put("log/k", b"")
    for name in (".k.crc", "k#1", ".hidden/x", "bad\\name"):
        path = root / "log" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
    assert [info.key for info in store.list()] == ["log/k"]
    folder = store.list_folder("log/")
    assert ([info.key for info in folder.objects], folder.folders) == (["log/k"], ())


def test_a_name_that_is_not_unicode_is_not_listed(store: LocalStore, root: Path) -> None:
    store.put("k", b"")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff")).write_bytes(b"")
    assert [info.key for info in store.list()] == ["k"]


def test_a_file_that_vanishes_during_a_listing_is_left_out(store: LocalStore, root: Path) -> None:
    for key in ("a", "b/1", "b/2", "c/1", "d"):
        store.put(key, b"")
    listing = store.list()
    first = next(listing).key
    (root / "c" / "1").unlink()
    (root / "c").rmdir()
    (root / "d").unlink()
    assert [first, *(info.key for info in listing)] == ["a", "b/1", "b/2"]


def test_a_link_out_of_the_store_is_not_read(store: LocalStore, root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    root.mkdir()
    (root / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(StoreError, match="symbolic link that leaves the store"):
        store.get("link")
    with pytest.raises(StoreError, match="symbolic link that leaves the store"):
        store.head("link")


@pytest.mark.parametrize("write", ["put", "create", "delete", "list", "list_folder", "local_path"])
def test_a_linked_folder_out_of_the_store_is_not_touched(
    store: LocalStore, root: Path, tmp_path: Path, write: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "k").write_text("theirs")
    root.mkdir()
    (root / "link").symlink_to(outside)
    acts: dict[str, Callable[[], object]] = {
        "put": lambda: store.put("link/k", b"ours"),
        "create": lambda: store.create("link/new", b"ours"),
        "delete": lambda: store.delete(["link/k"]),
        "list": lambda: list(store.list("link/")),
        "list_folder": lambda: store.list_folder("link/"),
        "local_path": lambda: store.local_path("link/k"),
    }
    with pytest.raises(StoreError, match="symbolic link that leaves the store"):
        acts[write]()
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"k": "theirs"}


def test_a_listing_does_not_follow_links_to_folders(store: LocalStore, root: Path) -> None:
    store.put("real/k", b"")
    (root / "again").symlink_to(root / "real")
    (root / "real" / "circle").symlink_to(root)
    assert [info.key for info in store.list()] == ["real/k"]


def test_a_link_that_stays_in_the_store_is_followed(store: LocalStore, root: Path) -> None:
    store.put("real/k", b"bytes")
    (root / "again").symlink_to(root / "real")
    (root / "file").symlink_to(root / "real" / "k")
    assert (store.get("again/k"), store.get("file")) == (b"bytes", b"bytes")


def test_deleting_a_link_leaves_its_target(store: LocalStore, root: Path) -> None:
    store.put("real", b"bytes")
    (root / "link").symlink_to(root / "real")
    store.delete(["link"])
    assert names_on_disk(root) == ["real"]


def test_a_link_that_points_at_itself_is_an_error_that_says_so(store: LocalStore, root: Path) -> None:
    root.mkdir()
    (root / "k").symlink_to(root / "k")
    with pytest.raises(StoreError, match="circle"):
        store.get("k")


def test_a_root_that_is_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    store = LocalStore(str(tmp_path / "link"), AMBIENT)
    store.put("a/k", b"bytes")
    assert (tmp_path / "real" / "a" / "k").read_bytes() == b"bytes"
    assert store.uri == str(tmp_path / "link")


def test_a_pipe_is_no_object(store: LocalStore, root: Path) -> None:
    root.mkdir()
    os.mkfifo(root / "pipe")
    with pytest.raises(ObjectMissing):
        store.get("pipe")
    assert list(store.list()) == []


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "permission denied"),
        (errno.EROFS, "mounted read-only"),
        (errno.ENAMETOOLONG, "name is too long"),
    ],
)
def test_a_failing_disk_is_explained(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, code: int, advice: str
) -> None:
    monkeypatch.setattr(local_files, "write_temporary", fail_with(code))
    for write in (store.put, store.create):
        with pytest.raises(StoreError, match=re.escape(f"{root}/log/k: ") + f".*{advice}"):
            write("log/k", b"1")


def test_a_disk_that_fills_up_while_writing_leaves_no_staging_file(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.mkdir()
    monkeypatch.setattr(os, "fsync", fail_with(errno.ENOSPC))
    with pytest.raises(StoreError, match="the disk is full"):
        store.create("k", b"1")
    assert names_on_disk(root) == []


def test_a_folder_that_can_not_be_synced_makes_the_outcome_unknown(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("log/other", b"")
    monkeypatch.setattr(local_files, "sync_folder", fail_with(errno.EIO))
    outcome = store.create("log/k", b"1")
    assert isinstance(outcome, Unknown)
    assert "log/k was written, but the disk didn't confirm it" in outcome.reason


def test_a_swap_that_can_not_be_synced_is_unknown(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    created = store.create("k", b"1")
    assert isinstance(created, Created)
    monkeypatch.setattr(local_files, "sync_folder", fail_with(errno.EIO))
    assert isinstance(store.swap("k", b"2", created.etag), Unknown)


def test_every_folder_that_is_new_is_synced_up_to_the_one_that_holds_the_root(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    monkeypatch.setattr(local_files, "sync_folder", synced.append)
    store.create("a/b/k", b"1")
    assert synced == [str(root / "a" / "b"), str(root / "a"), str(root), str(root.parent)]


def test_a_folder_that_is_known_is_synced_alone(store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create("a/b/k", b"1")
    synced: list[str] = []
    monkeypatch.setattr(local_files, "sync_folder", synced.append)
    store.create("a/b/l", b"1")
    assert synced == [str(root / "a" / "b")]


def test_the_bytes_are_on_the_disk_before_they_have_their_name(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    place, sync = local_files.place_if_absent, os.fsync

    def placing(temporary: str, path: str) -> None:
        order.append("name")
        place(temporary, path)

    def syncing(descriptor: int) -> None:
        order.append("folder" if os.path.isdir(f"/proc/self/fd/{descriptor}") else "bytes")
        sync(descriptor)

    store.put("other", b"")
    monkeypatch.setattr(local_files, "place_if_absent", placing)
    monkeypatch.setattr(os, "fsync", syncing)
    store.create("k", b"1")
    assert order == ["bytes", "name", "folder"]


def test_nothing_is_synced_where_durability_is_off(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", fail_with(errno.EIO))
    store = LocalStore(str(root), AMBIENT, durable=False)
    store.put("a/k", b"1")
    assert isinstance(store.create("a/l", b"1"), Created)
    store.delete(["a/k"])
    assert names_on_disk(root) == ["a/l"]


def test_without_hard_links_an_exclusive_rename_creates(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", fail_with(errno.EPERM))
    assert isinstance(store.create("k", b"1"), Created)
    monkeypatch.setattr(store, "_is_taken", lambda path: False)
    assert store.create("k", b"2") == AlreadyExists()
    assert (store.get("k"), names_on_disk(root)) == (b"1", ["k"])


def test_a_file_system_without_any_atomic_create_is_refused(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoRename:
        renameat2 = None

    monkeypatch.setattr(os, "link", fail_with(errno.EPERM))
    monkeypatch.setattr(ctypes, "CDLL", lambda *args, **kwargs: NoRename())
    with pytest.raises(StoreError, match="no atomic create"):
        store.create("k", b"1")
    assert names_on_disk(root) == []


def test_a_file_system_without_locks_on_folders_gets_a_lock_file(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock = fcntl.flock

    def files_only(descriptor: int, operation: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", files_only)
    store.put("k", b"1")
    assert (names_on_disk(root), [info.key for info in store.list()]) == ([".headgate.lock", "k"], ["k"])


def test_a_folder_that_stays_locked_is_reported_after_half_a_minute(root: Path) -> None:
    ambient = RestlessAmbient()
    store = LocalStore(str(root), ambient)
    store.create("k", b"1")
    with local_files.locked(str(root), AMBIENT), pytest.raises(StoreError, match="stayed locked"):
        store.put("k", b"2")
    assert 20 < sum(ambient.slept_s) < 60
    assert (store.get("k"), names_on_disk(root)) == (b"1", ["k"])


def test_a_put_waits_for_a_swap_that_is_under_way(root: Path) -> None:
    class Releasing(RestlessAmbient):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            lock.__exit__(None, None, None)

    ambient = Releasing()
    store = LocalStore(str(root), ambient)
    store.create("k", b"1")
    lock = local_files.locked(str(root), AMBIENT)
    lock.__enter__()
    store.put("k", b"2")
    assert (len(ambient.slept_s), store.get("k")) == (1, b"2")


def test_local_path_is_where_the_bytes_lie(store: LocalStore) -> None:
    store.put("a/k", b"bytes")
    path = store.local_path("a/k")
    assert path is not None
    assert Path(path).read_bytes() == b"bytes"


def test_new_files_get_the_permissions_of_any_other_file(store: LocalStore, root: Path, tmp_path: Path) -> None:
    store.create("k", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (root / "k").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_that_is_removed_while_a_file_is_written_there_is_made_again(
    root: Path, store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a cleaner does that has found it empty. Break: `_write_temporary` makes it once."""
    removed: list[str] = []
    make = os.makedirs

    def made_and_removed(folder: str, *, exist_ok: bool) -> None:
        make(folder, exist_ok=exist_ok)
        if len(removed) < FOLDER_ATTEMPTS - 1:
            os.rmdir(folder)
            removed.append(folder)

    root.mkdir()
    monkeypatch.setattr(os, "makedirs", made_and_removed)
    assert isinstance(store.create("state/file", b"data"), Created)
    assert store.get("state/file") == b"data"
    assert len(removed) == FOLDER_ATTEMPTS - 1
