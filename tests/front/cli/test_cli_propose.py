"""`headgate propose`, and the commands that change a table: what goes through a bus, and what they say of the outcome."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate as library
from headgate_schemas.messages.operations import Committed, Operation, Receipt, Restore
from headgate_table.table import Table

pytestmark = pytest.mark.usefixtures("committing")


def rows_file(table: Path, path: str, rows: int = 3) -> str:
    """A Parquet file in the table's folder, not part of the table yet."""
    target = table / path
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(range(rows))}), target)
    return path


def authors(table: Path) -> list[bool]:
    """Of each version, oldest first, whether a committer wrote it."""
    loaded = Table.open(str(table))
    found = []
    for version in range(loaded.version + 1):
        [info] = [action.body for action in loaded.reader.actions(version) if hasattr(action, "body")]
        found.append("committer" in info)
    return found


@pytest.fixture
def days(tmp_path: Path) -> Path:
    """A table of ids by day, made directly."""
    place = tmp_path / "days"
    Table.create(str(place), "id bigint, date string", ["date"])
    return place


def test_append_reads_the_files_and_prints_the_receipt(headgate: Any, days: Path) -> None:
    first, second = rows_file(days, "date=2024-03-01/a.parquet"), rows_file(days, "date=2024-03-02/b.parquet", 5)
    ran = headgate("propose", days, "append", "--file", first, "--file", days / second, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "proposal_id": ran.json["proposal_id"],
        "outcome": "committed",
        "version": 1,
        "code": None,
        "reason": None,
    }
    files = Table.open(str(days)).snapshot().files(("path", "num_records", "partition_values")).to_pylist()
    assert [(file["path"], file["num_records"]) for file in files] == [(first, 3), (second, 5)]


def test_a_table_is_created_by_a_proposal(headgate: Any, tmp_path: Path) -> None:
    place = tmp_path / "new"
    ran = headgate(
        *("propose", place, "create", "--schema", "id bigint, date string", "--partition-by", "date"),
        *("--config", "owner=me", "--name", "new", "--format", "json"),
    )
    assert (ran.code, ran.json["version"]) == (0, 0)
    metadata = Table.open(str(place)).metadata
    assert (metadata.partition_columns, metadata.configuration["owner"], metadata.name) == (("date",), "me", "new")


def test_a_rejection_is_printed_and_ends_with_1(headgate: Any, sales: Path) -> None:
    ran = headgate("propose", sales, "delete", "--path", "nowhere.parquet", "--format", "json")
    assert (ran.code, ran.json["outcome"], ran.json["code"]) == (1, "rejected", "not_live")
    assert ran.err == f"Error: rejected (not_live): {ran.json['reason']}\n"


def test_a_writer_s_seq_commits_once(headgate: Any, days: Path) -> None:
    command = ("propose", days, "append", "--writer", "nightly:3:17", "--format", "json")
    first = headgate(*command, "--file", rows_file(days, "date=2024-03-01/a.parquet"))
    again = headgate(*command, "--file", rows_file(days, "date=2024-03-01/b.parquet"))
    assert [(ran.code, ran.json["outcome"], ran.json["version"]) for ran in (first, again)] == [
        (0, "committed", 1),
        (0, "duplicate", 1),
    ]


def test_the_same_id_is_asked_for_again(headgate: Any, sales: Path) -> None:
    command = ("propose", sales, "delete", "--path", "d.parquet", "--id", "mine", "--format", "json")
    assert [headgate(*command).json["outcome"] for _ in range(2)] == ["committed", "duplicate"]


def test_the_time_of_the_first_attempt_goes_with_an_id(headgate: Any, sales: Path) -> None:
    command = ("propose", sales, "delete", "--path", "d.parquet", "--created", "1780000000000", "--format", "json")
    assert headgate(*command).code == 2
    assert headgate(*command, "--id", "mine").json["outcome"] == "committed"


@pytest.mark.parametrize("given", ["a b", "", "ä", "x" * 201])
def test_what_can_t_be_an_id_is_wrong_usage(headgate: Any, sales: Path, given: str) -> None:
    ran = headgate("propose", sales, "delete", "--path", "a.parquet", "--id", given)
    assert ran.code == 2
    assert "visible ASCII characters" in " ".join(ran.err.replace("│", "").split())


@pytest.mark.parametrize(
    ("arguments", "live"),
    [
        (("overwrite", "--where", "date = '2024-03-01'"), ["a.parquet", "d.parquet"]),
        (("delete", "--where", "region = 'us'"), ["c.parquet", "d.parquet"]),
        (("delete", "--path", "a.parquet", "--path", "c.parquet"), ["d.parquet"]),
        (("skip", "--path", "a.parquet", "--reason", "torn"), ["a.parquet", "c.parquet", "d.parquet"]),
        (("purge", "--path", "x.parquet"), ["a.parquet", "c.parquet", "d.parquet"]),
    ],
    ids=lambda value: value[0],
)
def test_every_operation_does_what_it_says(
    headgate: Any, sales: Path, arguments: tuple[str, ...], live: list[str]
) -> None:
    ran = headgate("propose", sales, *arguments, "--format", "json")
    assert (ran.code, ran.err, ran.json["version"]) == (0, "", 4)
    assert sorted(Table.open(str(sales)).snapshot().paths()) == live


def test_rewrite_replaces_files(headgate: Any, days: Path) -> None:
    old, new = rows_file(days, "date=2024-03-01/old.parquet"), rows_file(days, "date=2024-03-01/new.parquet")
    headgate("propose", days, "append", "--file", old)
    assert headgate("propose", days, "rewrite", "--path", old, "--file", new).code == 0
    assert Table.open(str(days)).snapshot().paths() == [new]


def test_restore_makes_earlier_files_live_again(headgate: Any, days: Path) -> None:
    old = rows_file(days, "date=2024-03-01/old.parquet")
    headgate("propose", days, "append", "--file", old)
    headgate("propose", days, "overwrite")
    assert headgate("propose", days, "restore", "--version", "1").code == 0
    assert Table.open(str(days)).snapshot().paths() == [old]


def test_alter_changes_what_is_given_and_takes_away_what_is_unset(headgate: Any, sales: Path) -> None:
    headgate("propose", sales, "alter", "--config", "owner=me", "--config", "colour=red")
    ran = headgate("propose", sales, "alter", "--unset", "owner", "--description", "sold things")
    metadata = Table.open(str(sales)).metadata
    assert (ran.code, metadata.description, metadata.configuration.get("colour")) == (0, "sold things", "red")
    assert "owner" not in metadata.configuration


def test_a_serializable_proposal_that_read_what_changed_is_refused(headgate: Any, sales: Path) -> None:
    command = ("propose", sales, "delete", "--path", "a.parquet", "--isolation", "serializable", "--format", "json")
    refused = headgate(*command, "--based-on", "2", "--reads", "date = '2024-03-03'")
    taken = headgate(*command, "--based-on", "2", "--reads", "date = '2024-03-02'")
    assert (refused.code, refused.json["code"], taken.code) == (1, "read_conflict", 0)


def test_a_file_that_is_not_there_is_named(headgate: Any, days: Path) -> None:
    ran = headgate("propose", days, "append", "--file", "date=2024-03-01/none.parquet")
    assert ran.code == 1
    assert "date=2024-03-01/none.parquet" in ran.err


def test_table_create_goes_through_the_bus(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("table", "create", tmp_path / "t", "--schema", "id bigint", "--format", "json")
    assert (ran.code, ran.json["version"]) == (0, 0)
    assert authors(tmp_path / "t") == [True]


def test_table_create_where_there_is_one_is_refused(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "create", sales, "--schema", "id bigint")
    assert (ran.code, ran.out) == (1, "")
    assert "already_exists" in ran.err


def test_drop_partitions_goes_through_the_bus(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "drop-partitions", sales, "--where", "region = 'us'", "--format", "json")
    assert (ran.code, ran.json["splits_removed"]) == (0, 1)
    assert authors(sales)[-1]


def test_direct_goes_past_the_bus(headgate: Any, sales: Path) -> None:
    assert headgate("table", "drop-partitions", sales, "--where", "region = 'us'", "--direct").code == 0
    assert authors(sales) == [False] * 5


def test_compact_goes_through_the_bus(headgate: Any, sales: Path) -> None:
    table = Table.open(str(sales))
    table.checkpoint()
    table.delete(paths=["a.parquet"])
    table.checkpoint()
    ran = headgate("table", "compact", sales, "--format", "json")
    assert (ran.code, ran.json["status"]) == (0, "SUCCESS")
    assert authors(sales)[-1]


def test_purge_asks_before_it_deletes(headgate: Any, sales: Path) -> None:
    (sales / "orphan.parquet").write_bytes(b"nobody knows me")
    ran = headgate(
        *("table", "purge", sales, "--older-than", "0h", "--format", "json"),
        *("--set", "purge.retentionCheckEnabled=false"),
    )
    assert (ran.code, ran.json["status"]) == (0, "SUCCESS")
    assert not (sales / "orphan.parquet").exists()
    assert authors(sales)[-1]


def test_statements_go_through_the_bus(headgate: Any, sales: Path) -> None:
    ran = headgate("sql", f"DROP HEADGATE PARTITIONS FROM '{sales}' WHERE region = 'us'", "--format", "json")
    assert ran.code == 0, ran.err
    assert authors(sales)[-1]


def test_statements_of_the_library_go_through_a_bus_that_is_given(bus: str, sales: Path) -> None:
    library.sql(f"DROP HEADGATE PARTITIONS FROM '{sales}' WHERE region = 'us'", bus=bus)
    assert authors(sales)[-1]


def test_a_table_of_the_library_commits_as_it_is_told(sales: Path) -> None:
    told: list[Operation] = []

    def commit(operation: Operation) -> Receipt:
        told.append(operation)
        return Committed(9, "p")

    table = Table.open(str(sales), commit=commit)
    assert table.restore(1) == Committed(9, "p")
    assert told == [Restore(1)]
    assert table.version == 3
