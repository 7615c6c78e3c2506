"""What a user is told when the file of a bus isn't what it should be."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Extent, Message, Topic
from headgate_bus.sqlite.bus import SqliteBus
from headgate_bus.sqlite.errors import told
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from support.processes.isolated import run_isolated

MESSAGE = Message("t", {}, b"x")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "bus.db"


@pytest.fixture
def bus(path: Path) -> Iterator[SqliteBus]:
    bus = SqliteBus(str(path), SystemAmbient())
    yield bus
    bus.close()


def test_a_bus_that_is_not_there_is_not_made_by_using_it(bus: SqliteBus, path: Path) -> None:
    with pytest.raises(BusError, match=f"no bus at {path}"):
        bus.append(Topic.PROPOSALS, [MESSAGE])
    assert not path.exists()


def test_an_empty_file_is_no_bus_before_it_is_prepared(bus: SqliteBus, path: Path) -> None:
    path.touch()
    with pytest.raises(BusError, match="prepare"):
        bus.append(Topic.PROPOSALS, [MESSAGE])


def test_a_file_of_another_kind_is_refused(bus: SqliteBus, path: Path) -> None:
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(BusError, match="no SQLite file"):
        bus.prepare()


def test_a_file_of_another_kind_is_left_as_it_is(bus: SqliteBus, path: Path) -> None:
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(BusError):
        bus.prepare()
    assert path.read_bytes() == b"something else entirely" * 100


def test_another_programs_database_is_refused_and_left_as_it_is(bus: SqliteBus, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(BusError, match="another program"):
        bus.prepare()
    assert path.read_bytes() == before


@pytest.mark.parametrize("use", ["prepare", "append"])
def test_a_bus_of_a_newer_headgate_is_refused(bus: SqliteBus, path: Path, use: str) -> None:
    bus.prepare()
    bus.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    older = SqliteBus(str(path), SystemAmbient())
    with pytest.raises(BusError, match=r"newer Headgate \(schema 99"):
        older.prepare() if use == "prepare" else older.append(Topic.PROPOSALS, [MESSAGE])
    older.close()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    bus = SqliteBus(str(tmp_path / "none" / "bus.db"), SystemAmbient())
    with pytest.raises(BusError, match="folder must exist"):
        bus.prepare()
    bus.close()


def test_a_folder_is_no_bus(tmp_path: Path) -> None:
    bus = SqliteBus(str(tmp_path), SystemAmbient())
    with pytest.raises(BusError, match="can't be opened"):
        bus.prepare()
    bus.close()


@pytest.fixture
def public_folder() -> Iterator[str]:
    """Where a user without rights may look, but not write."""
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    yield folder
    os.chmod(folder, 0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("prepared", [True, False])
def test_a_read_only_place_is_told(public_folder: str, prepared: bool) -> None:
    path = os.path.join(public_folder, "bus.db")
    if prepared:
        bus = SqliteBus(path, SystemAmbient())
        bus.prepare()
        bus.close()
        os.chmod(path, 0o444)
    os.chmod(public_folder, 0o555)
    program = """
import os, sys
from headgate_bus.errors import BusError
from headgate_bus.sqlite.bus import SqliteBus
from headgate_schemas.ambient import SystemAmbient

if os.geteuid() == 0:
    os.setuid(65534)  # the rights of files don't bind root
try:
    SqliteBus(sys.argv[1], SystemAmbient()).prepare()
except BusError as error:
    print(error)
"""
    said = run_isolated(program, path)
    assert path in said
    assert "read-only" in said or "be able to write" in said


def test_a_bus_that_is_locked_too_long_is_unavailable_and_nothing_is_appended(bus: SqliteBus, path: Path) -> None:
    bus.prepare()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(BusUnavailable, match="locked by another process"):
        bus.append(Topic.PROPOSALS, [MESSAGE], timeout_s=0.05)
    holder.execute("ROLLBACK")
    holder.close()
    assert bus.extent(Topic.PROPOSALS, 0) == Extent(0, 0)


def test_a_bus_is_read_while_another_process_writes(bus: SqliteBus, path: Path) -> None:
    bus.prepare()
    bus.append(Topic.PROPOSALS, [MESSAGE])
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    found = bus.reader(Topic.PROPOSALS, {0: 0}).read(0)
    holder.execute("ROLLBACK")
    holder.close()
    assert len(found) == 1


@pytest.mark.parametrize("replace", [True, False])
def test_a_file_that_was_removed_is_written_no_more(bus: SqliteBus, path: Path, replace: bool) -> None:
    bus.prepare()
    bus.append(Topic.PROPOSALS, [MESSAGE])
    path.rename(path.with_name("moved"))
    if replace:
        path.touch()
    with pytest.raises(BusError, match="removed or replaced"):
        bus.append(Topic.PROPOSALS, [MESSAGE])


def test_the_source_of_a_file_that_was_removed_is_not_told(bus: SqliteBus, path: Path) -> None:
    bus.prepare()
    bus.source(0)
    path.rename(path.with_name("moved"))
    with pytest.raises(BusError, match="removed or replaced"):
        bus.source(0)


def test_a_reader_of_a_file_that_was_removed_is_told(bus: SqliteBus, path: Path) -> None:
    bus.prepare()
    reader = bus.reader(Topic.EVENTS, {0: 0})
    reader.read(0)
    path.rename(path.with_name("moved"))
    with pytest.raises(BusError, match="removed or replaced"):
        reader.read(0)


def test_two_files_are_two_sources(bus: SqliteBus, tmp_path: Path) -> None:
    bus.prepare()
    other = SqliteBus(str(tmp_path / "other.db"), SystemAmbient())
    other.prepare()
    assert bus.source(0).cluster != other.source(0).cluster
    assert bus.source(0).topic != other.source(0).topic
    other.close()


def test_another_number_of_partitions_is_refused(bus: SqliteBus, path: Path) -> None:
    bus.prepare()
    other = SqliteBus(str(path), SystemAmbient(), partitions=4)
    with pytest.raises(BusError, match="made with 1 partitions, not 4"):
        other.prepare()
    other.close()


@pytest.mark.parametrize("partitions", [0, -1, 1 << 20])
def test_a_number_of_partitions_that_no_bus_can_have_is_refused(path: Path, partitions: int) -> None:
    with pytest.raises(InvalidInput, match="partitions"):
        SqliteBus(str(path), SystemAmbient(), partitions=partitions)


def sqlite_error(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("as SQLite says it")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind", "said"),
    [
        (sqlite3.SQLITE_BUSY, BusUnavailable, "locked by another process"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, BusUnavailable, "locked by another process"),
        (sqlite3.SQLITE_FULL, BusUnavailable, "disk is full"),
        (sqlite3.SQLITE_IOERR_WRITE, BusUnavailable, "not known whether"),
        (sqlite3.SQLITE_CORRUPT, BusError, "is damaged"),
        (sqlite3.SQLITE_NOTADB, BusError, "no SQLite file"),
        (sqlite3.SQLITE_READONLY, BusError, "read-only"),
        (sqlite3.SQLITE_CANTOPEN, BusError, "can't be opened"),
        (sqlite3.SQLITE_MISUSE, BusError, "failed: as SQLite says it"),
    ],
)
def test_every_fault_of_sqlite_is_told_in_words(code: int, kind: type[BusError], said: str) -> None:
    error = told(sqlite_error(code), "/srv/bus.db")
    assert type(error) is kind
    assert said in str(error)
    assert "/srv/bus.db" in str(error)
