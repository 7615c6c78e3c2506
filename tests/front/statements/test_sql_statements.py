"""`headgate.sql` and `headgate sql`: what each statement does and answers."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headgate
from headgate.statements.arrow_columns import result_schema
from headgate.statements.columns import OUTPUT_COLUMNS
from headgate.statements.statements import DescribeLog, PurgeStatement, StatementError
from headgate_table.errors import OutcomeUnknown
from headgate_table.table import Table
from support.writers.scala_json import ScalaJsonTable

ENGINES = ("INDEXTABLES", "TANTIVY4SPARK", "HEADGATE")


def row_of(statement: str, **options: Any) -> dict[str, Any]:
    (row,) = headgate.sql(statement, **options).to_pylist()
    return dict(row)


# --- CHECKPOINT and COMPACT ---------------------------------------------------------------------------------------


@pytest.mark.spec("testCheckpointSqlExecution")
@pytest.mark.parametrize("engine", ENGINES)
def test_checkpoint_writes_a_state_and_counts_what_is_in_it(sales: Path, engine: str) -> None:
    assert row_of(f"CHECKPOINT {engine} '{sales}'") == {
        "table_path": str(sales),
        "status": "SUCCESS",
        "checkpoint_version": 3,
        "num_actions": 5,
        "num_files": 3,
        "protocol_version": 4,
        "is_multi_part": False,
    }
    assert (sales / "_transaction_log/state-v00000000000000000003/_manifest.avro").is_file()
    assert Table.open(str(sales)).snapshot().paths() == ["a.parquet", "c.parquet", "d.parquet"]


@pytest.mark.spec("testCheckpointSqlUpgrade")
@pytest.mark.parametrize("protocol", [None, (2, 2), (3, 3)], ids=str)
@pytest.mark.parametrize("every", [0, 2], ids=["version files alone", "with a JSON checkpoint"])
def test_checkpoint_makes_an_avro_state_of_a_table_of_an_older_protocol(
    tmp_path: Path, protocol: tuple[int, int] | None, every: int
) -> None:
    old = ScalaJsonTable(tmp_path / "old", protocol=protocol, partition_columns=("date",), checkpoint_every=every)
    first = old.append(3, date="2024-01-01")
    old.append(2, date="2024-01-02")
    old.commit((), first[:1])
    expected = old.expected()
    before = row_of(f"DESCRIBE INDEXTABLES STATE '{tmp_path / 'old'}'")
    assert before["format"] == ("json" if every else "none")

    row = row_of(f"CHECKPOINT INDEXTABLES '{tmp_path / 'old'}'")

    assert (row["status"], row["checkpoint_version"], row["num_files"]) == ("SUCCESS", 3, 4)
    after = row_of(f"DESCRIBE INDEXTABLES STATE '{tmp_path / 'old'}'")
    assert (after["format"], after["status"]) == ("avro-state", "OK")
    assert tuple(Table.open(str(tmp_path / "old")).snapshot().paths()) == expected.paths


def test_checkpoint_says_in_its_status_that_there_is_no_table(tmp_path: Path) -> None:
    row = row_of(f"CHECKPOINT INDEXTABLES '{tmp_path}'")
    assert row["status"].startswith(f"ERROR: there is no table at {tmp_path}")
    assert row["checkpoint_version"] is None


def test_an_unknown_outcome_is_raised_and_no_row(sales: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(_: Table) -> int:
        raise OutcomeUnknown("nobody knows")

    monkeypatch.setattr(Table, "checkpoint", lost)
    with pytest.raises(OutcomeUnknown):
        headgate.sql(f"CHECKPOINT INDEXTABLES '{sales}'")


def test_compact_drops_tombstones(sales: Path) -> None:
    table = Table.open(str(sales))
    table.checkpoint()
    table.delete(paths=["a.parquet"])
    row = row_of(f"COMPACT INDEXTABLES '{sales}'")
    assert (row["status"], row["num_files"]) == ("SUCCESS", 2)
    described = row_of(f"DESCRIBE INDEXTABLES STATE '{sales}'")
    assert (described["version"], described["num_tombstones"]) == (row["checkpoint_version"], 0)


# --- DESCRIBE -----------------------------------------------------------------------------------------------------


@pytest.mark.spec("testDescribeStateCommand")
def test_describe_state_tells_files_manifests_and_tombstones(sales: Path) -> None:
    table = Table.open(str(sales))
    table.checkpoint()
    table.delete(paths=["a.parquet"])
    table.checkpoint()
    assert row_of(f"DESCRIBE INDEXTABLES STATE '{sales}'") == {
        "table_path": str(sales),
        "format": "avro-state",
        "version": 4,
        "num_files": 2,
        "num_manifests": 1,
        "num_tombstones": 1,
        "tombstone_ratio": pytest.approx(1 / 3),
        "total_bytes": 1500,
        "needs_compaction": True,
        "status": "OK",
    }


def test_describe_state_of_version_files_alone(sales: Path) -> None:
    row = row_of(f"DESCRIBE HEADGATE STATE '{sales}'")
    assert (row["format"], row["num_files"], row["status"]) == ("none", 3, "No checkpoint found")


def test_describe_state_of_no_table_is_a_row_of_errors(tmp_path: Path) -> None:
    row = row_of(f"DESCRIBE HEADGATE STATE '{tmp_path}'")
    assert (row["format"], row["num_files"]) == ("error", 0)
    assert row["status"].startswith("ERROR: there is no table")


def test_describe_state_of_a_damaged_table_names_the_file(sales: Path) -> None:
    Table.open(str(sales)).checkpoint()
    (damaged,) = sales.glob("_transaction_log/state-v*/_manifest.avro")
    damaged.write_bytes(damaged.read_bytes()[:40])
    row = row_of(f"DESCRIBE HEADGATE STATE '{sales}'")
    assert row["format"] == "error"
    assert "_manifest.avro" in row["status"]


def test_describe_log_shows_every_action_with_include_all(sales: Path) -> None:
    rows = headgate.sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{sales}' INCLUDE ALL").to_pylist()
    found = [(row["version"], row["action_type"], row["path"]) for row in rows if row["path"]]
    assert found == [
        (1, "add", "b.parquet"),
        (1, "add", "a.parquet"),
        (2, "remove", "b.parquet"),
        (2, "add", "c.parquet"),
        (3, "add", "d.parquet"),
    ]


def test_describe_log_of_no_table_is_raised(tmp_path: Path) -> None:
    with pytest.raises(headgate.TableNotFound):
        headgate.sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{tmp_path}'")


# --- PURGE, TRUNCATE, DROP ----------------------------------------------------------------------------------------


def test_purge_answers_with_its_metrics(sales: Path) -> None:
    row = row_of(f"PURGE INDEXTABLE '{sales}' OLDER THAN 2 DAYS TRANSACTION LOG RETENTION 30 DAYS DRY RUN")
    assert row["table_path"] == str(sales)
    metrics = row["metrics"]
    assert (metrics["status"], metrics["dry_run"], metrics["retention_hours"]) == ("DRY_RUN", True, 48)


def test_purge_of_young_files_is_raised_unless_a_setting_allows_it(sales: Path) -> None:
    statement = f"PURGE HEADGATE '{sales}' OLDER THAN 1 HOURS DRY RUN"
    with pytest.raises(headgate.InvalidInput, match="24"):
        headgate.sql(statement)
    row = row_of(statement, settings={"spark.indextables.purge.retentionCheckEnabled": "false"})
    assert row["metrics"]["status"] == "DRY_RUN"


def test_truncate_keeps_the_live_files(sales: Path) -> None:
    row = row_of(f"TRUNCATE INDEXTABLES TIME TRAVEL '{sales}'")
    assert (row["status"], row["checkpoint_version"], row["files_preserved"]) == ("SUCCESS", 3, 3)
    assert row["versions_deleted"] > 0
    with pytest.raises(headgate.VersionNotRetained):
        Table.open(str(sales)).snapshot(version=0)


def test_truncate_says_in_its_status_that_there_is_no_table(tmp_path: Path) -> None:
    row = row_of(f"TRUNCATE INDEXTABLES TIME TRAVEL '{tmp_path}' DRY RUN")
    assert row["status"] == "ERROR"
    assert "there is no table" in row["message"]


def test_drop_partitions_removes_what_matches(sales: Path) -> None:
    row = row_of(f"DROP INDEXTABLES PARTITIONS FROM '{sales}' WHERE region = 'us'")
    assert (row["status"], row["partitions_dropped"], row["splits_removed"]) == ("success", 1, 1)
    assert Table.open(str(sales)).snapshot().paths() == ["c.parquet", "d.parquet"]


def test_drop_partitions_that_match_nothing_commits_nothing(sales: Path) -> None:
    row = row_of(f"DROP INDEXTABLES PARTITIONS FROM '{sales}' WHERE region = 'asia'")
    assert row["status"] == "no_action"
    assert Table.open(str(sales)).version == 3


def test_drop_partitions_by_another_column_is_raised(sales: Path) -> None:
    with pytest.raises(headgate.InvalidInput, match="'id' is no partition column"):
        headgate.sql(f"DROP INDEXTABLES PARTITIONS FROM '{sales}' WHERE id = 7")


def test_a_wrong_predicate_is_pointed_at_within_the_statement(sales: Path) -> None:
    with pytest.raises(StatementError) as caught:
        headgate.sql(f"DROP INDEXTABLES PARTITIONS FROM '{sales}' WHERE region = = 'us'")
    assert caught.value.text[caught.value.position :].startswith("= 'us'")


# --- the others ---------------------------------------------------------------------------------------------------


def test_repair_writes_a_log_of_the_files_that_exist(sales: Path) -> None:
    (sales / "c.parquet").write_bytes(b"x" * 500)
    row = row_of(
        f"REPAIR INDEXFILES TRANSACTION LOG '{sales}/_transaction_log' AT LOCATION '{sales}/repaired/_transaction_log'"
    )
    assert row == {
        "source_path": f"{sales}/_transaction_log",
        "target_path": f"{sales}/repaired/_transaction_log",
        "source_version": 3,
        "total_splits": 3,
        "valid_splits": 1,
        "missing_splits": 2,
        "status": "SUCCESS",
    }
    assert Table.open(f"{sales}/repaired").snapshot().paths() == ["c.parquet"]


def test_repair_into_a_log_that_is_there_is_raised(sales: Path, tmp_path: Path) -> None:
    other = Table.create(str(tmp_path / "other"), "id bigint")
    with pytest.raises(headgate.TableExists):
        headgate.sql(
            f"REPAIR INDEXFILES TRANSACTION LOG '{sales}/_transaction_log' AT LOCATION '{other.uri}/_transaction_log'"
        )


def test_repair_of_nothing_says_so_in_its_status(tmp_path: Path) -> None:
    row = row_of(
        f"REPAIR INDEXFILES TRANSACTION LOG '{tmp_path}/a/_transaction_log' AT LOCATION '{tmp_path}/b/_transaction_log'"
    )
    assert (row["source_version"], row["status"][:6]) == (-1, "ERROR:")


def test_invalidate_forgets_what_was_read_and_tells_how_much_that_helped(sales: Path) -> None:
    headgate.sql("INVALIDATE INDEXTABLES TRANSACTION LOG CACHE")
    table = Table.open(str(sales))
    for _ in range(2):
        table.snapshot(version=2).paths()
    row = row_of(f"INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR '{sales}'")
    assert row["table_path"] == str(sales)
    assert row["cache_hits_before"] > 0
    assert row["cache_misses_before"] > 0
    assert row["hit_rate_before"].endswith("%")
    again = row_of(f"INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR '{sales}'")
    assert (again["cache_hits_before"], again["hit_rate_before"]) == (0, "N/A")


@pytest.mark.parametrize(
    "statement",
    [
        "CHECKPOINT INDEXTABLES lake.events",
        "DESCRIBE INDEXTABLES STATE lake.`events`",
        "PURGE INDEXTABLE events",
        "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR lake.events",
    ],
)
def test_a_name_in_a_catalog_needs_spark(statement: str) -> None:
    with pytest.raises(headgate.InvalidInput, match=r"events is a name in a catalog.*in quotes"):
        headgate.sql(statement)


def test_an_address_that_no_store_understands_is_raised_not_a_row() -> None:
    with pytest.raises(headgate.InvalidInput, match="s4://"):
        headgate.sql("CHECKPOINT INDEXTABLES 's4://lake/events'")


def test_a_text_that_is_no_statement_is_raised() -> None:
    with pytest.raises(StatementError, match="CHECKPOINT"):
        headgate.sql("CHEKPOINT INDEXTABLES 'x'")


def test_results_have_exactly_the_documented_columns(sales: Path) -> None:
    log = headgate.sql(f"DESCRIBE INDEXTABLES TRANSACTION LOG '{sales}'")
    assert log.schema == result_schema(DescribeLog)
    assert log.column_names == [column.name for column in OUTPUT_COLUMNS[DescribeLog]]
    purge = headgate.sql(f"PURGE INDEXTABLE '{sales}' DRY RUN")
    assert pa.types.is_struct(purge.schema.field("metrics").type)
    assert purge.schema == result_schema(PurgeStatement)


# --- through the command ------------------------------------------------------------------------------------------


def test_the_command_prints_the_result(headgate: Any, sales: Path) -> None:
    ran = headgate("sql", f"DESCRIBE HEADGATE STATE '{sales}'", "--format", "json")
    assert (ran.code, ran.json[0]["num_files"]) == (0, 3)
    shown = headgate("sql", f"PURGE HEADGATE '{sales}' DRY RUN")
    assert ["metrics.status", "DRY_RUN"] in shown.lines


def test_the_command_fails_with_the_row_of_a_failure(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("sql", f"CHECKPOINT HEADGATE '{tmp_path}'", "--format", "json")
    assert ran.code == 1
    assert ran.json[0]["status"].startswith("ERROR: ")
    assert ran.err.startswith("Error: there is no table at")


def test_the_command_points_at_a_mistake(headgate: Any) -> None:
    ran = headgate("sql", "DESCRIBE HEADGATE STAT 'x'")
    assert (ran.code, ran.out) == (1, "")
    lines = ran.err.splitlines()
    assert lines[2].index("^") == lines[1].index("STAT")
