"""`table compact|purge|truncate-history|drop-partitions` and their statements: through a bus and directly, to the same end."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import headgate as library
from headgate_bus.open import open_bus
from headgate_producer.producer import Producer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Append
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.processes.waiting import wait_until
from support.tables import add_file, files, fresh_resources

BOTH = pytest.mark.parametrize("through", ["bus", "direct"])
DAY_S = 24 * 3600
COLUMNS = "id BIGINT, date STRING"


def reopened(place: Path) -> Table:
    return Table.open(str(place), resources=fresh_resources())


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """Five days, one file each, one of them removed again; states all along."""
    place = tmp_path / "days"
    table = Table.create(str(place), COLUMNS, ["date"], {"checkpoint.interval": "2", "purge.clockSkewMinutes": "0"})
    for day in range(1, 6):
        table.append([add_file("a", date=f"2024-01-0{day}")])
    table.checkpoint()
    table.delete("date = '2024-01-05'")
    table.checkpoint()
    return place


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/bus.db"


@contextmanager
def way(through: str, address: str) -> Iterator[list[str]]:
    """Options of a command that goes this way, while somebody decides on the bus."""
    if through == "direct":
        yield ["--direct", "--bus", address]
        return
    with a_committer(address):
        yield ["--bus", address]


def newest_commit(place: Path) -> tuple[str, bool]:
    """What the newest version did, and whether a committer wrote it."""
    table = reopened(place)
    [info] = [action.body for action in table.reader.actions(table.version) if hasattr(action, "body")]
    return info["operation"], "committer" in info


def old_file(place: Path, name: str, days: int = 30) -> Path:
    path = place / name
    path.write_bytes(b"rows")
    age(path, days)
    return path


def age(path: Path, days: int) -> None:
    then = path.stat().st_mtime - days * DAY_S
    os.utime(path, (then, then))


def age_log(place: Path, days: int = 400) -> None:
    for path in (place / "_transaction_log").rglob("*"):
        age(path, days)


@BOTH
def test_a_state_is_compacted(headgate: Any, address: str, days: Path, through: str) -> None:
    before = reopened(days).snapshot().paths()
    with way(through, address) as options:
        ran = headgate("table", "compact", days, "--format", "json", *options)
    assert (ran.code, ran.json["status"], ran.json["num_files"]) == (0, "SUCCESS", 4), ran.err
    assert newest_commit(days) == ("CompactState", through == "bus")
    description = reopened(days).describe()
    assert (description.num_tombstones, description.num_manifests) == (0, 1)
    assert reopened(days).snapshot().paths() == before


@BOTH
def test_partitions_are_dropped(headgate: Any, address: str, days: Path, through: str) -> None:
    with way(through, address) as options:
        ran = headgate("table", "drop-partitions", days, "--where", "date < '2024-01-03'", "--format", "json", *options)
    assert (ran.code, ran.json["partitions_dropped"], ran.json["splits_removed"]) == (0, 2, 2), ran.err
    assert newest_commit(days) == ("Delete", through == "bus")


@BOTH
def test_an_orphan_is_purged_once_its_purge_is_accepted(headgate: Any, address: str, days: Path, through: str) -> None:
    orphan = old_file(days, "orphan.parquet")
    with way(through, address) as options:
        ran = headgate("table", "purge", days, "--format", "json", *options)
    assert (ran.code, ran.json["status"], ran.json["orphaned_files_deleted"]) == (0, "SUCCESS", 1), ran.err
    assert newest_commit(days) == ("Purge", through == "bus")
    assert not orphan.exists()


@BOTH
def test_history_is_forgotten(headgate: Any, address: str, days: Path, through: str) -> None:
    before = reopened(days).snapshot().paths()
    with way(through, address) as options:
        ran = headgate("table", "truncate-history", days, "--format", "json", *options)
    assert (ran.code, ran.json["status"], ran.json["files_preserved"]) == (0, "SUCCESS", 4), ran.err
    assert ran.json["versions_deleted"] > 0
    assert reopened(days).snapshot().paths() == before


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("COMPACT HEADGATE '{}'", "SUCCESS"),
        ("PURGE HEADGATE '{}'", "SUCCESS"),
        ("TRUNCATE HEADGATE TIME TRAVEL '{}'", "SUCCESS"),
        ("DROP HEADGATE PARTITIONS FROM '{}' WHERE date = '2024-01-02'", "success"),
    ],
)
@BOTH
def test_statements_do_the_same(address: str, days: Path, statement: str, status: str, through: str) -> None:
    with way(through, address):
        (row,) = library.sql(statement.format(days), bus=address if through == "bus" else None).to_pylist()
    assert (row.get("metrics") or row)["status"] == status
    assert reopened(days).verify(data_files=False).ok


# --- what is not decided yet --------------------------------------------------------------------------------------


@pytest.fixture
def undecided(address: str, days: Path) -> Path:
    """A file that a proposal on the bus adds; nobody has decided it."""
    path = old_file(days, "late.parquet")
    ambient = SystemAmbient()
    with closing(open_bus(address, ambient)) as bus:
        bus.prepare()
        with Producer(bus, str(days), storage=StoreSettings(), ambient=ambient, threads=False) as producer:
            ticket = producer.propose(Append((add_file("x", date="2024-01-01"), add_file("late", 4))))
            with pytest.raises(library.OutcomeUnknown):
                ticket.wait(timeout=0.05)
            producer.close(0.0)
    return path


def listed(headgate: Any, *arguments: Any) -> list[str]:
    ran = headgate("table", "purge", *arguments, "--dry-run", "--format", "json")
    assert ran.code == 0, ran.err
    return [deletion["path"] for deletion in ran.json["deletions"]]


def test_a_purge_through_the_bus_leaves_the_files_of_undecided_proposals(
    headgate: Any, address: str, days: Path, undecided: Path
) -> None:
    assert "late.parquet" in listed(headgate, days)
    assert listed(headgate, days, "--bus", address) == []


def test_the_statement_leaves_them_too(address: str, days: Path, undecided: Path) -> None:
    (row,) = library.sql(f"PURGE HEADGATE '{days}' DRY RUN", bus=address).to_pylist()
    assert row["metrics"]["orphaned_files_found"] == 0


def test_what_is_undecided_is_told_by_the_group_that_the_committers_have(
    headgate: Any, address: str, days: Path, undecided: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_committer(address, "others"), closing(open_bus(address, SystemAmbient())) as bus:
        wait_until(
            lambda: bus.committed("others", bus.partition_of(str(days))) is not None, "the others have decided it"
        )
    assert listed(headgate, days, "--bus", address) == []
    monkeypatch.setenv("HEADGATE_COMMITTER_GROUP", "others")
    assert listed(headgate, days, "--bus", address) == ["late.parquet"]


def test_versions_that_may_be_announced_again_are_not_forgotten(
    headgate: Any, address: str, days: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a committer of a group that has settled nothing yet, as after a move to a new one."""
    with a_committer(address), Producer(address, str(days), storage=StoreSettings()) as producer:
        for number in range(6):
            producer.append(files(f"n{number}", 1, date="2024-01-01")).wait(timeout=60)
    first = reopened(days).version - 5
    monkeypatch.setenv("HEADGATE_COMMITTER_GROUP", "new")
    ran = headgate("table", "truncate-history", days, "--bus", address, "--dry-run", "--format", "json")
    assert versions_of(ran) == list(range(first))
    ran = headgate("table", "truncate-history", days, "--dry-run", "--format", "json")
    assert len(versions_of(ran)) > first


def versions_of(ran: Any) -> list[int]:
    """The version files that would be deleted."""
    return sorted(int(Path(item["path"]).stem) for item in ran.json["deletions"] if item["kind"] == "version file")
