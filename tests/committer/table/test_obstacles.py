"""Something that is no file in the place of the next version: direct writers and committers say so at once, and `verify` names it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.errors import StoreError
from headgate_table.indextables.format.names import checkpoint_key, state_folder, state_key, version_key
from headgate_table.interface.findings import Severity
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.committing.rig import TABLE, Rig
from support.tables import add_file, new_table


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _to_a_folder(path: Path) -> None:
    (path.parent / "some").mkdir()
    path.symlink_to("some")


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _out(path: Path) -> None:
    (path.parents[2] / "outside").write_bytes(b"{}\n")
    path.symlink_to(path.parents[2] / "outside")


OBSTACLES: dict[str, tuple[Callable[[Path], None], str]] = {
    "dangling": (_dangling, "a symbolic link that leads to nothing"),
    "circle": (_circle, "a symbolic link that can't be followed"),
    "to a folder": (_to_a_folder, "a symbolic link to a folder"),
    "folder": (_folder, "a folder"),
    "pipe": (_pipe, "a named pipe"),
    "out": (_out, "a symbolic link out of the table"),
}
EACH = pytest.mark.parametrize(("put", "what"), OBSTACLES.values(), ids=OBSTACLES)


class Place:
    """A table in a local folder, at version 3."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "table"
        self.ambient = FakeAmbient()
        self.store = LocalStore(str(self.root), self.ambient, durable=False)
        self.table = new_table(self.store, interval=2, ambient=self.ambient)
        for name in ("a", "b", "c"):
            assert isinstance(self.table.append([add_file(name)]), Committed)

    def found(self) -> list[tuple[Severity, str, str]]:
        report = Table(self.store, self.ambient, one_thread()).verify(data_files=False)
        return [(item.severity, item.object, item.what) for item in report.findings]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@EACH
def test_a_direct_writer_says_at_once_what_is_in_its_way(place: Place, put: Callable[[Path], None], what: str) -> None:
    put(place.root / version_key(4))
    slept_s = place.ambient.monotonic_s()
    with pytest.raises(
        StoreError, match=rf"could not create .*{version_key(4)}: {what}.* has that name.* move it away"
    ):
        place.table.append([add_file("d")])
    assert place.ambient.monotonic_s() - slept_s < 0.1, "no attempt is repeated"
    (place.root / version_key(4)).rmdir() if what == "a folder" else (place.root / version_key(4)).unlink()
    assert place.table.append([add_file("d")]) == Committed(4, place.table.history()[0].proposals[0])


@EACH
@pytest.mark.parametrize("number", [4, 5, 77])
def test_verify_names_what_stands_where_a_version_is_to_be_written(
    place: Place, put: Callable[[Path], None], what: str, number: int
) -> None:
    assert place.found() == []
    put(place.root / version_key(number))
    errors = [item for item in place.found() if item[0] is Severity.ERROR]
    assert [name for _, name, _ in errors] == [version_key(number)]
    assert errors[0][2].startswith(what)


@pytest.mark.parametrize("key", [checkpoint_key(9), f"_transaction_log/{state_folder(9)}", state_key(9)])
def test_verify_names_what_stands_in_the_place_of_a_state_or_checkpoint(place: Place, key: str) -> None:
    (place.root / key).parent.mkdir(exist_ok=True)
    (place.root / state_key(9)).parent.mkdir(exist_ok=True)
    if key == state_key(9):
        (place.root / state_key(9, "manifest-0a.avro")).write_bytes(b"")
    elif "state" in key:
        (place.root / key).rmdir()
    (place.root / key).symlink_to("nowhere")
    found = [item for item in place.found() if item[1] == key]
    assert [(severity, what.partition(" has the name")[0]) for severity, _, what in found] == [
        (Severity.WARNING, "a symbolic link that leads to nothing")
    ]


@EACH
def test_a_committer_lets_the_table_wait_for_that_reason_and_goes_on_when_it_is_gone(
    tmp_path: Path, put: Callable[[Path], None], what: str
) -> None:
    rig = Rig()
    store = LocalStore(str(tmp_path / "table"), rig.ambient, durable=False)
    committer = rig.committer(stores={TABLE: store})
    rig.settle(committer)
    put(tmp_path / "table" / version_key(1))
    identity = rig.append("one")
    for _ in range(3):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    (trouble,) = (lane.trouble for lane in committer.standing.lanes)
    assert what in trouble
    assert version_key(1) in trouble
    target = tmp_path / "table" / version_key(1)
    target.rmdir() if what == "a folder" else target.unlink()
    for _ in range(3):
        rig.ambient.advance(seconds=60)
        committer.step(0.0)
    assert rig.receipts()[identity] == Committed(1, identity)
