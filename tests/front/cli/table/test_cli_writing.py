"""`headgate table create` and the upkeep of a table, through the command."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate_table.table import Table

SCHEMA = pa.schema([("id", pa.int64()), ("date", pa.string())])
SPARK = {
    "type": "struct",
    "fields": [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "date", "type": "string", "nullable": True, "metadata": {}},
    ],
}


def _schema_file(folder: Path, kind: str) -> str:
    path = folder / f"schema.{kind}"
    match kind:
        case "json":
            path.write_text(json.dumps(SPARK))
        case "ddl" | "sql":
            path.write_text("id bigint,\n  date string;\n")
        case "parquet":
            pq.write_table(SCHEMA.empty_table(), path)
        case "arrow":
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA):
                pass
        case "feather":
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, SCHEMA):
                pass
    return str(path)


@pytest.mark.parametrize("kind", ["json", "ddl", "sql", "parquet", "arrow", "feather"])
def test_a_table_is_made_from_a_schema_file(headgate: Any, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "t"
    ran = headgate("table", "create", place, "--schema", _schema_file(tmp_path, kind), "--partition-by", "date")
    assert (ran.code, ran.err) == (0, "")
    metadata = Table.open(str(place)).metadata
    assert json.loads(metadata.schema_string) == SPARK
    assert metadata.partition_columns == ("date",)


def test_a_table_is_made_from_columns_in_sql_and_configured(headgate: Any, tmp_path: Path) -> None:
    ran = headgate(
        *("table", "create", tmp_path / "t", "--schema", "id bigint, date string", "--format", "json"),
        *("--config", "indextables.checkpoint.interval=3", "--config", "owner=me=you", "--name", "sales"),
    )
    table = Table.open(str(tmp_path / "t"))
    assert table.metadata.configuration == {"indextables.checkpoint.interval": "3", "owner": "me=you"}
    assert table.metadata.name == "sales"
    assert ran.json == {
        "table_path": str(tmp_path / "t"),
        "version": 0,
        "table_id": table.metadata.id,
        "partition_columns": [],
    }


def test_a_table_is_not_made_twice(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "create", sales, "--schema", "id bigint")
    assert ran.code == 1
    assert "there is a table at" in ran.err


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.json", None, "can't be read"),
        ("text.parquet", b"text", "no Parquet file"),
        ("text.arrow", b"text", "no Arrow file"),
        ("binary.ddl", b"\xff\xfe", "not text"),
    ],
)
def test_a_schema_file_that_is_none_is_named(
    headgate: Any, tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ran = headgate("table", "create", tmp_path / "t", "--schema", tmp_path / name)
    assert ran.code == 1
    assert name in ran.err
    assert said in ran.err
    assert not (tmp_path / "t").exists()


def test_checkpoint_writes_a_state_of_the_newest_version(headgate: Any, sales: Path) -> None:
    found = headgate("table", "checkpoint", sales, "--format", "json").json
    assert found == {
        "table_path": str(sales),
        "status": "SUCCESS",
        "checkpoint_version": 3,
        "num_actions": 5,
        "num_files": 3,
        "protocol_version": 4,
        "is_multi_part": False,
    }
    assert headgate("table", "describe", sales, "--format", "json").json["format"] == "avro-state"


def test_compact_leaves_no_tombstones(headgate: Any, sales: Path) -> None:
    table = Table.open(str(sales))
    table.checkpoint()
    table.delete(paths=["a.parquet"])
    table.checkpoint()
    assert table.describe().num_tombstones == 1
    ran = headgate("table", "compact", sales, "--format", "json")
    assert (ran.code, ran.json["status"], ran.json["num_files"]) == (0, "SUCCESS", 2)
    assert headgate("table", "describe", sales, "--format", "json").json["num_tombstones"] == 0


def test_purge_counts_what_it_would_delete(headgate: Any, sales: Path) -> None:
    (sales / "orphan.parquet").write_bytes(b"nobody knows me")
    ran = headgate(
        *("table", "purge", sales, "--older-than", "0h", "--dry-run", "--format", "json"),
        *("--set", "purge.retentionCheckEnabled=false"),
    )
    assert ran.code == 0
    assert (ran.json["status"], ran.json["table_path"], ran.json["dry_run"]) == ("DRY_RUN", str(sales), True)
    assert (sales / "orphan.parquet").exists()


def test_purge_refuses_a_retention_of_less_than_a_day(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "purge", sales, "--older-than", "2h")
    assert ran.code == 1
    assert "24" in ran.err


def test_durations_are_days_and_hours(headgate: Any, sales: Path) -> None:
    found = headgate("table", "purge", sales, "--older-than", "2d", "--dry-run", "--format", "json").json
    assert found["retention_hours"] == 48


@pytest.mark.parametrize("age", ["30m", "7x", "-7d", "7"])
def test_what_is_no_duration_is_met_with_examples(headgate: Any, sales: Path, age: str) -> None:
    ran = headgate("table", "purge", sales, "--older-than", age)
    assert ran.code == 2
    assert f"'{age}' is no number of hours, days or weeks: write 24h, 7d or 2w" in ran.err


def test_truncate_history_forgets_early_versions(headgate: Any, sales: Path) -> None:
    found = headgate("table", "truncate-history", sales, "--format", "json").json
    assert (found["status"], found["checkpoint_version"], found["files_preserved"]) == ("SUCCESS", 3, 3)
    assert headgate("table", "files", sales, "--version", "1").code == 1
    assert len(headgate("table", "files", sales, "--format", "json").json) == 3


def test_truncate_history_dry_run_deletes_nothing(headgate: Any, sales: Path) -> None:
    found = headgate("table", "truncate-history", sales, "--dry-run", "--format", "json").json
    assert found["status"] == "DRY_RUN"
    assert headgate("table", "files", sales, "--version", "1").code == 0


def test_drop_partitions_removes_their_files(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "drop-partitions", sales, "--where", "date >= '2024-03-02'", "--format", "json")
    found = ran.json
    assert (found["status"], found["partitions_dropped"], found["splits_removed"]) == ("success", 2, 2)
    assert found["total_size_bytes"] == 2_501_000
    assert [row["path"] for row in headgate("table", "files", sales, "--format", "json").json] == ["c.parquet"]


def test_drop_partitions_that_match_nothing_is_no_failure(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "drop-partitions", sales, "--where", "date > '2025-01-01'", "--format", "json")
    assert (ran.code, ran.json["status"]) == (0, "no_action")


def test_drop_partitions_by_another_column_is_refused(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "drop-partitions", sales, "--where", "id = 1")
    assert ran.code == 1
    assert "'id' is no partition column" in ran.err


def _with_files(table: Path) -> None:
    for row in Table.open(str(table)).snapshot().files(("path", "size")).to_pylist():
        (table / row["path"]).write_bytes(bytes(row["size"]))


def test_verify_of_a_sound_table(headgate: Any, sales: Path) -> None:
    _with_files(sales)
    ran = headgate("table", "verify", sales, "--format", "json")
    assert (ran.code, ran.json["ok"], ran.json["errors"], ran.json["version"]) == (0, True, 0, 3)
    assert (ran.json["checked"]["versions"], ran.json["checked"]["data_files"]) == (4, 3)


def test_verify_of_a_damaged_table_lists_what_is_wrong_and_ends_with_1(headgate: Any, sales: Path) -> None:
    _with_files(sales)
    (sales / "a.parquet").unlink()
    (sales / "_transaction_log/00000000000000000002.json").write_bytes(b"{")
    ran = headgate("table", "verify", sales, "--format", "csv")
    assert ran.code == 1
    assert "_transaction_log/00000000000000000002.json" in {row["object"] for row in ran.csv}
    assert {row["severity"] for row in ran.csv} >= {"error"}


def test_verify_as_a_table_sums_up_on_standard_error(headgate: Any, sales: Path) -> None:
    _with_files(sales)
    ran = headgate("table", "verify", sales)
    assert "The table is sound." in ran.err


def test_repair_tells_what_was_damaged_and_what_is_missing(headgate: Any, sales: Path) -> None:
    _with_files(sales)
    (sales / "d.parquet").unlink()
    (sales / "_transaction_log/00000000000000000002.json").write_bytes(b"{")
    headgate("sql", "INVALIDATE HEADGATE TRANSACTION LOG CACHE")  # what this process wrote, it still remembers
    target = sales / "repaired" / "_transaction_log"
    ran = headgate("table", "repair", sales / "_transaction_log", target, "--format", "json")
    found = ran.json
    assert (ran.code, found["status"]) == (0, "PARTIAL_SUCCESS")
    assert any("00000000000000000002.json" in text for text in found["damage"])
    # Without version 2 nobody knows any more that b was removed.
    assert found["missing"] == ["b.parquet", "d.parquet"]
    assert target.is_dir()


def test_repair_of_something_else_than_a_log_is_refused(headgate: Any, sales: Path, tmp_path: Path) -> None:
    ran = headgate("table", "repair", sales, tmp_path / "new")
    assert ran.code == 1
    assert "_transaction_log" in ran.err


def test_a_dry_run_of_purge_lists_what_would_be_deleted(headgate: Any, sales: Path) -> None:
    (sales / "orphan.parquet").write_bytes(b"nobody knows me")
    anything = ("--older-than", "0h", "--set", "purge.retentionCheckEnabled=false", "--set", "purge.clockSkewMinutes=0")
    ran = headgate("table", "purge", sales, "--dry-run", *anything)
    assert ran.code == 0
    assert [line[:4] for line in ran.lines if line[:1] == ["orphan.parquet"]] == [["orphan.parquet", "15", "B", "data"]]
    found = headgate("table", "purge", sales, "--dry-run", "--format", "json", *anything).json
    assert [(item["path"], item["size"], item["kind"]) for item in found["deletions"]] == [
        ("orphan.parquet", 15, "data file")
    ]


def test_where_nothing_is_in_quarantine_it_is_said_of_what_was_asked_for(headgate: Any, sales: Path) -> None:
    said = [headgate("table", "bring-back", sales, *prefix) for prefix in ((), ("orphan",))]
    assert [(ran.code, (ran.out + ran.err).strip()) for ran in said] == [
        (0, "Nothing is in quarantine."),
        (0, "Nothing whose name begins with 'orphan' is in quarantine."),
    ]


def test_what_a_purge_moved_to_quarantine_is_brought_back(headgate: Any, sales: Path) -> None:
    for name in ("orphan.parquet", "stray.parquet"):
        (sales / name).write_bytes(b"nobody knows me")
        os.utime(sales / name, (0, 0))
    assert headgate("table", "purge", sales, "--set", "purge.quarantineHours=24").code == 0
    assert not (sales / "orphan.parquet").exists()
    (sales / "stray.parquet").write_bytes(b"another")
    back = headgate("table", "bring-back", sales, "orphan", "--format", "json")
    assert (back.code, back.json) == (0, [{"path": "orphan.parquet", "restored": True}])
    assert (sales / "orphan.parquet").read_bytes() == b"nobody knows me"
    rest = headgate("table", "bring-back", sales)
    assert (rest.code, "such as stray.parquet" in rest.err) == (1, True)
    assert (sales / "stray.parquet").read_bytes() == b"another"
