"""Where Spark's own Parquet writer makes the same files as ours, and what is said where it doesn't."""

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from headgate.spark import sink, write
from headgate.spark.writes.copied_session import SessionCopy, SessionNotCopied
from headgate.spark.writes.native_files import why_not_native
from headgate_schemas.errors import InvalidInput
from headgate_table.table import Table
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write.plan import plan_write
from pyspark_headgate.write.table_target import TableTarget
from support.committing.threaded import a_committer
from support.servers.versitygw import S3Server
from support.spark.streams import FileStream, rows_of

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


OBSERVED_WITHIN_S = 60.0
HOSTILE = {
    "spark.sql.parquet.outputTimestampType": "INT96",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.session.timeZone": "America/New_York",
}
"""Settings by which Spark's files would differ from ours."""


@pytest.fixture
def hostile(spark: "SparkSession") -> "Iterator[SparkSession]":
    before = {name: str(spark.conf.get(name)) for name in HOSTILE}
    for name, value in HOSTILE.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)


def test_files_are_ours_whatever_the_session_is_set_to(hostile: "SparkSession", uri: str) -> None:
    rows = hostile.sql(
        "SELECT DATE'0001-01-01' AS day, TIMESTAMP'2024-01-01 12:00:00Z' AS part, CAST(1.5 AS DECIMAL(9,2)) AS price, "
        "array(struct(TIMESTAMP'1600-01-01 00:00:00Z' AS at)) AS nested, TIMESTAMP'2024-07-01 12:00:00.000001Z' AS ts"
    )
    write(rows, uri, native=True, partitionBy="part")
    assert {name: hostile.conf.get(name) for name in HOSTILE} == HOSTILE
    snapshot = Table.open(uri).snapshot()
    assert snapshot.scan().read_all().to_pylist() == [
        {
            "day": date(1, 1, 1),
            "part": datetime(2024, 1, 1, 12, tzinfo=UTC),
            "price": Decimal("1.50"),
            "nested": [{"at": datetime(1600, 1, 1, tzinfo=UTC)}],
            "ts": datetime(2024, 7, 1, 12, 0, 0, 1, tzinfo=UTC),
        }
    ]
    (entry,) = snapshot.files().to_pylist()
    assert dict(entry["max_values"])["ts"] == "1719835200000001"
    columns = pq.read_metadata(Path(uri) / entry["path"]).schema
    kinds = {columns.column(place).path: columns.column(place).physical_type for place in range(len(columns))}
    assert (kinds["price"], kinds["ts"], kinds["nested.list.element.at"]) == ("INT32", "INT64", "INT64")


def test_a_stream_writes_timestamps_natively_too(spark: "SparkSession", uri: str, tmp_path: Path) -> None:
    bus = f"sqlite:{tmp_path / 'bus.db'}"
    stream = FileStream(spark, tmp_path / "stream")
    stream.add((1, "a"))
    with a_committer(bus):
        stream.run(
            lambda rows: rows.selectExpr("timestamp_seconds(id) AS ts").writeStream.foreachBatch(
                sink(uri, bus, native=True, partitionBy="")
            )
        )
    assert rows_of(uri) == [(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),)]


def test_where_no_session_can_be_copied_arrow_writes_and_who_wants_otherwise_is_told(
    hostile: "SparkSession", uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_there(*_: object) -> None:
        raise SessionNotCopied("cloneSession is not there")

    monkeypatch.setattr(SessionCopy, "of", not_there)
    rows = hostile.sql("SELECT TIMESTAMP'2024-01-01 12:00:00Z' AS ts")
    with pytest.raises(InvalidInput, match="can't be changed for this write alone: cloneSession is not there"):
        write(rows, uri, native=True)
    write(rows, uri)
    assert rows_of(uri) == [(datetime(2024, 1, 1, 12, tzinfo=UTC),)]


def test_a_session_is_copied_once_however_many_batches_it_has(spark: "SparkSession") -> None:
    copy = SessionCopy()
    micros, millis = ({"spark.sql.parquet.outputTimestampType": f"TIMESTAMP_{unit}"} for unit in ("MICROS", "MILLIS"))
    first, second = (copy.of(spark.range(3), micros) for _ in range(2))
    third = copy.of(spark.range(3), millis)
    assert first.sparkSession is second.sparkSession
    assert [frame.sparkSession.conf.get(*micros) for frame in (first, third)] == [
        "TIMESTAMP_MICROS",
        "TIMESTAMP_MILLIS",
    ]
    assert spark.conf.get(*micros) == "INT96"


def test_what_is_observed_of_rows_is_told_to_who_waits_for_it(hostile: "SparkSession", uri: str) -> None:
    from pyspark.sql import Observation, functions

    observation = Observation()
    rows = hostile.range(3).selectExpr("id", "timestamp_seconds(id) AS at")
    write(rows.observe(observation, functions.count("id").alias("rows")), uri)
    told: list[dict[str, int]] = []
    waiting = threading.Thread(target=lambda: told.append(observation.get), daemon=True)
    waiting.start()
    waiting.join(OBSERVED_WITHIN_S)
    assert told == [{"rows": 3}]


def test_a_session_whose_private_parts_are_others_is_told_apart(spark: "SparkSession") -> None:
    java: Any = spark._jvm

    class Renamed:
        sparkSession = type("Session", (), {"_jsparkSession": java.org.apache.spark.Nothing})()

    with pytest.raises(SessionNotCopied):
        SessionCopy().of(Renamed(), {})  # type: ignore[arg-type]  # what isn't there is the point


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
