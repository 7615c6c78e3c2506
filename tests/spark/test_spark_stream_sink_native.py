"""Where Spark's own Parquet writer makes the same files as ours, and what is said where it doesn't."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headgate.spark.native_files import why_not_native
from headgate_table.table import Table
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.table_target import TableTarget
from pyspark_headgate.write_plan import plan_write
from support.servers.versitygw import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def reason(spark: "SparkSession", uri: str, columns: str, **options: str) -> str | None:
    """Why rows of these columns wouldn't be written natively to the table."""
    rows = spark.createDataFrame([], columns)
    given = SourceOptions.of({"path": uri, **options})
    target = TableTarget(given)
    plan = plan_write(target, given, rows.schema.json(), target.look(), overwrite=False, streaming=False, job="job")
    return why_not_native(spark, rows, given, plan)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def test_plain_rows_on_a_local_disk_are_written_natively(spark: "SparkSession", uri: str) -> None:
    assert reason(spark, uri, "id BIGINT, k STRING, day DATE, n ARRAY<INT>", partitionBy="k,day") is None


def test_a_target_size_is_not_for_sparks_writer(spark: "SparkSession", uri: str) -> None:
    assert reason(spark, uri, "id BIGINT", targetFileSize="1MB") == "Spark's writer knows no target size"


@pytest.mark.parametrize("columns", ["ts TIMESTAMP", "a ARRAY<STRUCT<ts: TIMESTAMP>>"])
def test_timestamps_need_the_setting_by_which_they_have_statistics(
    spark: "SparkSession", uri: str, columns: str
) -> None:
    found = reason(spark, uri, columns)
    assert found is not None
    assert "spark.sql.parquet.outputTimestampType is INT96" in found
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    try:
        assert reason(spark, uri, columns) is None
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")


def test_partitions_by_a_timestamp_need_a_session_in_utc(spark: "SparkSession", uri: str) -> None:
    assert reason(spark, uri, "id BIGINT, ts TIMESTAMP", partitionBy="ts") is None
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        found = reason(spark, uri, "id BIGINT, ts TIMESTAMP", partitionBy="ts")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found is not None
    assert "Europe/Berlin" in found


@pytest.mark.parametrize(
    ("table", "expected"), [("id BIGINT NOT NULL", "NOT NULL"), ("id BIGINT, s VARCHAR(3)", "texts of limited length")]
)
def test_what_sparks_writer_would_not_check_is_left_to_arrow(
    spark: "SparkSession", uri: str, table: str, expected: str
) -> None:
    Table.create(uri, table)
    found = reason(spark, uri, "id BIGINT, s STRING" if "s VARCHAR" in table else "id BIGINT")
    assert found is not None
    assert expected in found


def test_an_object_store_is_not_for_sparks_writer(spark: "SparkSession", s3_bucket: str, versitygw: S3Server) -> None:
    settings = {"s3.endpoint": versitygw.endpoint, "s3.access-key": versitygw.access_key}
    found = reason(spark, f"s3://{s3_bucket}/t", "id BIGINT", **settings, **{"s3.secret-key": versitygw.secret_key})
    assert found == "on an object store each of Spark's renames is a copy"
