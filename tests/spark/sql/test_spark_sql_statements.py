"""Operator statements in a real session: their results as DataFrames, tables by path and by name, and what stays Spark's own."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import headgate.spark
from headgate.spark.statements.named_tables import path_of
from headgate.statements.columns import OUTPUT_COLUMNS, ColumnType, StructType
from headgate.statements.parse import parse_statement
from headgate.statements.statements import StatementError
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import TableNotFound
from support.spark.local_lake import LocalLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(tmp_path: Path) -> LocalLake:
    lake = LocalLake(tmp_path / "table")
    lake.add(1, 2)
    lake.add(3, region="us")
    return lake


@pytest.fixture
def enabled(spark: "SparkSession") -> "Iterator[SparkSession]":
    yield headgate.spark.enable(spark)
    headgate.spark.disable(spark)


def _type_name(kind: ColumnType) -> str:
    if isinstance(kind, StructType):
        return f"struct<{','.join(f'{field.name}:{_type_name(field.type)}' for field in kind.fields)}>"
    return {"long": "bigint"}.get(kind.value, kind.value)


STATEMENTS = (
    "CHECKPOINT HEADGATE '{uri}'",
    "COMPACT INDEXTABLES '{uri}';",
    "DESCRIBE TANTIVY4SPARK STATE '{uri}'",
    "describe headgate transaction log '{uri}' include all",
    "PURGE HEADGATE '{uri}' OLDER THAN 7 DAYS DRY RUN",
    "MERGE SPLITS '{uri}' TARGET SIZE 1M",
    "DROP HEADGATE PARTITIONS FROM '{uri}' WHERE region = 'us'",
    "TRUNCATE HEADGATE TIME TRAVEL '{uri}' DRY RUN",
    "REPAIR INDEXFILES TRANSACTION LOG '{uri}/_transaction_log' AT LOCATION '{uri}-again/_transaction_log'",
    "INVALIDATE HEADGATE TRANSACTION LOG CACHE FOR '{uri}'",
)


@pytest.mark.spec("testCheckpointSqlParsing")
def test_every_operator_statement_runs_and_answers_with_the_documented_columns(
    spark: "SparkSession", lake: LocalLake
) -> None:
    ran = set()
    for form in STATEMENTS:
        text = form.format(uri=lake.uri)
        result = headgate.spark.sql(spark, text)
        kind = type(parse_statement(text))
        ran.add(kind)
        expected = [(column.name, _type_name(column.type)) for column in OUTPUT_COLUMNS[kind]]
        assert result.dtypes == expected
        rows = [row.asDict(recursive=True) for row in result.collect()]
        assert rows, text
        told = [row.get("status") or (row.get("metrics") or {}).get("status") or "" for row in rows]
        assert not [status for status in told if status.upper().startswith("ERROR")], text
    assert ran == OUTPUT_COLUMNS.keys()


@pytest.mark.spec("testCheckpointSqlExecution")
def test_a_checkpoint_by_sql_writes_a_state(enabled: "SparkSession", lake: LocalLake) -> None:
    (row,) = enabled.sql(f"CHECKPOINT HEADGATE '{lake.uri}'").collect()
    assert (row["status"], row["checkpoint_version"], row["num_files"]) == ("SUCCESS", 2, 2)
    assert lake.table.snapshot().log.state is not None


@pytest.mark.spec("testDescribeStateCommand")
def test_the_state_is_described_by_statement_and_by_function_alike(enabled: "SparkSession", lake: LocalLake) -> None:
    lake.table.checkpoint()
    (row,) = enabled.sql(f"DESCRIBE HEADGATE STATE '{lake.uri}'").collect()
    assert (row["format"], row["version"], row["num_files"], row["status"]) == ("avro-state", 2, 2, "OK")
    assert enabled.sql(f"SELECT * FROM headgate_state('{lake.uri}')").collect() == [row]


def test_times_in_results_are_moments(spark: "SparkSession", lake: LocalLake) -> None:
    log = headgate.spark.sql(spark, f"DESCRIBE HEADGATE TRANSACTION LOG '{lake.uri}' INCLUDE ALL")
    (row,) = log.where("action_type = 'metadata'").selectExpr("unix_millis(metadata_created_time) AS ms").collect()
    assert row["ms"] == lake.table.metadata.created_time


def test_names_stand_for_the_tables_behind_them(spark: "SparkSession", lake: LocalLake) -> None:
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW by_sql USING headgate OPTIONS (path '{lake.uri}')")
    headgate.spark.read(spark, lake.uri).createOrReplaceTempView("native")
    spark.sql("CREATE DATABASE IF NOT EXISTS names")
    spark.sql(f"CREATE TABLE names.by_location USING headgate LOCATION '{lake.uri}'")
    names = [["by_sql"], ["native"], ["names", "by_location"], ["headgate", lake.uri]]
    try:
        assert {path_of(spark, name) for name in names} == {lake.uri}
        (row,) = headgate.spark.sql(spark, "COMPACT HEADGATE names.`by_location`").collect()
        assert (row["table_path"], row["status"]) == (lake.uri, "SUCCESS")
    finally:
        spark.sql("DROP DATABASE names CASCADE")


def test_a_name_that_is_no_whole_table_is_refused(spark: "SparkSession", lake: LocalLake) -> None:
    headgate.spark.read(spark, lake.uri).where("id > 1").createOrReplaceTempView("some_rows")
    with pytest.raises(InvalidInput, match="not for queries"):
        headgate.spark.sql(spark, "COMPACT HEADGATE some_rows")
    with pytest.raises(InvalidInput, match=r"nowhere\.at_all is no table or view"):
        headgate.spark.sql(spark, "COMPACT HEADGATE nowhere.at_all")


def test_reads_of_paths_are_reads_of_versions(enabled: "SparkSession", lake: LocalLake) -> None:
    text = f"""SELECT id, b.region FROM headgate.`{lake.uri}` VERSION AS OF 1 a
        RIGHT JOIN headgate.`{lake.uri}` b USING (id) LEFT SEMI JOIN headgate.`{lake.uri}` c USING (id) WHERE '{{}}' <> '{{x}}' -- {{not an argument}}"""
    joined = enabled.sql(text)
    lake.add(4)
    assert sorted((row["id"], row["region"]) for row in joined.collect()) == [(1, "eu"), (2, "eu"), (3, "us")]


def test_a_time_is_read_in_the_time_zone_of_the_session(enabled: "SparkSession", lake: LocalLake) -> None:
    first, second = (entry.time for entry in reversed(lake.table.history(2)))
    assert first < second
    local = datetime.fromtimestamp(second / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    enabled.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        tokyo = f"TIMESTAMP AS OF (TIMESTAMP '{local}' + INTERVAL 9 HOURS)"
        ids = enabled.sql(f"SELECT id FROM headgate.`{lake.uri}` {tokyo}").collect()
    finally:
        enabled.conf.set("spark.sql.session.timeZone", "UTC")
    assert sorted(row["id"] for row in ids) == [1, 2, 3]


def test_arguments_of_queries_are_kept(enabled: "SparkSession", lake: LocalLake) -> None:
    mine = enabled.range(3)
    named = enabled.sql(
        f"SELECT id FROM headgate.`{lake.uri}` JOIN {{mine}} USING (id) WHERE id > :least", {"least": 1}, mine=mine
    )
    placed = enabled.sql(f"SELECT id FROM headgate.`{lake.uri}` WHERE id = ?", args=[3])
    assert [[row["id"] for row in frame.collect()] for frame in (named, placed)] == [[2], [3]]  # fmt: skip


def test_a_view_of_a_path_goes_on_to_show_the_version_that_it_was_made_of(
    enabled: "SparkSession", lake: LocalLake
) -> None:
    enabled.sql(f"CREATE OR REPLACE TEMP VIEW older AS SELECT id FROM headgate.`{lake.uri}`")
    lake.add(4)
    enabled.sql(f"CREATE OR REPLACE TEMP VIEW newer AS SELECT id FROM headgate.`{lake.uri}`")
    counts = enabled.sql("SELECT (SELECT count(*) FROM older) AS older, (SELECT count(*) FROM newer) AS newer")
    assert counts.collect()[0].asDict() == {"older": 3, "newer": 4}


def test_a_temporary_function_reads_the_version_that_it_was_made_of(enabled: "SparkSession", lake: LocalLake) -> None:
    before = enabled.sql(f"SELECT id FROM headgate.`{lake.uri}`").count()
    enabled.sql(
        f"CREATE OR REPLACE TEMPORARY FUNCTION how_many(least BIGINT) RETURNS BIGINT "
        f"RETURN (SELECT count(*) FROM headgate.`{lake.uri}` WHERE id >= least)"
    )
    lake.add(4)
    assert [enabled.sql("SELECT how_many(-100000)").first()[0] for _ in range(2)] == [before, before]  # type: ignore[index]  # one row
    enabled.sql("DROP TEMPORARY FUNCTION how_many")


def test_errors_of_spark_are_those_that_it_raises_by_itself(spark: "SparkSession") -> None:
    from pyspark.errors import ParseException

    def raised(text: str) -> tuple[str | None, str]:
        with pytest.raises(ParseException) as error:
            spark.sql(text)
        return error.value.getCondition(), str(error.value)

    text = "SELEC 1 FROM t"
    own = raised(text)
    headgate.spark.enable(spark)
    try:
        assert raised(text) == own
    finally:
        headgate.spark.disable(spark)


def test_a_wrong_statement_is_shown_where_it_is_wrong(enabled: "SparkSession") -> None:
    with pytest.raises(StatementError, match="PURGE"):
        enabled.sql("PURGE HEADGATE '/lake' OLDER THEN 3 DAYS")


def test_a_session_is_enabled_once_however_often_and_alone(spark: "SparkSession") -> None:
    own = spark.sql
    other: Any = spark.newSession()
    headgate.spark.enable(spark)
    headgate.spark.enable(spark)
    assert spark.sql != own
    assert "sql" not in vars(other)
    headgate.spark.disable(spark)
    headgate.spark.disable(spark)
    assert spark.sql == own


def test_table_functions_are_tables_of_plain_sql(enabled: "SparkSession", lake: LocalLake) -> None:
    lake.delete("region = 'us'")
    history, files, log, changes = (
        enabled.sql(f"SELECT * FROM headgate_{text}").collect()
        for text in (
            f"history('{lake.uri}', limit => 2)",
            f"files('{lake.uri}', version => 2, where => \"region = 'us'\")",
            f"log('{lake.uri}', include_all => true) WHERE action_type = 'remove'",
            f"changes('{lake.uri}', since => 1)",
        )
    )
    assert [(row["version"], row["operation"], row["removes"]) for row in history] == [
        (3, "Delete", 1),
        (2, "Append", 0),
    ]
    assert [(row["partition_values"], row["added_at_version"]) for row in files] == [({"region": "us"}, 2)]
    assert [(row["version"], row["path"]) for row in log] == [(3, files[0]["path"])]
    assert changes == []  # what came after version 1 went again


def test_settings_of_the_session_apply_to_statements(spark: "SparkSession", lake: LocalLake) -> None:
    purge = f"PURGE HEADGATE '{lake.uri}' OLDER THAN 1 HOURS DRY RUN"
    with pytest.raises(InvalidInput, match="24"):
        headgate.spark.sql(spark, purge)
    spark.conf.set("spark.indextables.purge.retentionCheckEnabled", "false")
    try:
        (row,) = headgate.spark.sql(spark, purge).collect()
    finally:
        spark.conf.unset("spark.indextables.purge.retentionCheckEnabled")
    assert row["metrics"]["status"] == "DRY_RUN"


def test_a_statement_on_no_table_raises_what_the_command_line_says(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="no table at"):
        headgate.spark.sql(spark, f"PURGE HEADGATE '{tmp_path}'")
