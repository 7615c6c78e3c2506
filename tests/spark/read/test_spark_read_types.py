"""Types seen from Spark: what Spark wrote, and what Arrow wrote, comes back by both ways of reading."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import headgate
from support.spark.reading import WAYS, frame, table_of, untold, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "id INT, b TINYINT, s SMALLINT, l BIGINT, f FLOAT, d DOUBLE, d9 DECIMAL(9,2), d18 DECIMAL(18,4), d38 DECIMAL(38,10), "
    "t STRING, v VARCHAR(10), c CHAR(3), bin BINARY, ok BOOLEAN, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, "
    "list ARRAY<INT>, map MAP<STRING, BIGINT>, "
    "deep STRUCT<x: INT, y: STRUCT<z: ARRAY<STRUCT<q: DECIMAL(5,1), at: TIMESTAMP>>>>, maps MAP<INT, ARRAY<MAP<DATE, STRING>>>"
)
DAY, MOMENT = date(2024, 2, 29), datetime(2024, 2, 29, 12, 30, 0, 123_456, UTC)
ROWS: list[tuple[Any, ...]] = [
    (
        *(1, 2, 3, 4, 1.5, 2.5, Decimal("1.25"), Decimal("-1.5"), Decimal("1234567890123456789012345678.0123456789")),
        *("tëxt", "vv", "c", b"\x00\xff", True, DAY, MOMENT, MOMENT.replace(tzinfo=None)),
        *(
            [1, None],
            {"a": 1, "ä": None},
            (1, ([(Decimal("1.5"), MOMENT), None],)),
            {1: [{DAY: "x"}, {}, None], 2: None},
        ),
    ),
    (
        *(
            2,
            -128,
            -(2**15),
            -(2**63),
            float("inf"),
            float("-inf"),
            Decimal("-9999999.99"),
            Decimal(0),
            Decimal("-0.1"),
        ),
        *(
            "",
            "",
            "",
            b"",
            False,
            date(1, 1, 1),
            datetime(1500, 1, 1, tzinfo=UTC),
            datetime.fromisoformat("9999-12-31 23:59"),
        ),
        *([], {}, (None, None), {}),
    ),
    (3, *[None] * 20),
]


@pytest.fixture(scope="module")
def original(spark: "SparkSession") -> Any:
    from pyspark.sql.types import StructType

    plain = COLUMNS.replace("VARCHAR(10)", "STRING").replace("CHAR(3)", "STRING")
    schema: Any = StructType.fromDDL(plain)
    return spark.createDataFrame(ROWS, schema)


@pytest.fixture(scope="module")
def by_spark(original: Any, tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    """A table of a file that Spark's own writer made."""
    table = table_of(tmp_path_factory.mktemp("types") / "t", COLUMNS)
    original.coalesce(1).write.parquet(f"{table.uri}/made")
    (path,) = (place.relative_to(table.uri) for place in Path(table.uri).glob("made/*.parquet"))
    table.append([headgate.DataFile.of_parquet(str(path), store=table.store)])
    return table


@pytest.fixture(scope="module")
def by_arrow(original: Any, tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    """A table of the same rows in a file that Arrow made, without a word of Spark in it."""
    table = table_of(tmp_path_factory.mktemp("types") / "t", COLUMNS)
    rows: pa.Table = original.toArrow()
    table.append([written(table, "a.parquet", rows.replace_schema_metadata(None), store_schema=False)])
    return table


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("writer", ["by_spark", "by_arrow"])
def test_every_type_comes_back_as_it_was(
    request: pytest.FixtureRequest, spark: "SparkSession", original: Any, writer: str, way: str
) -> None:
    read = frame(spark, request.getfixturevalue(writer), way)
    assert read.schema == original.schema
    assert read.orderBy("id").collect() == original.orderBy("id").collect()


@pytest.mark.parametrize("way", WAYS)
def test_moments_are_the_same_whatever_the_sessions_zone(
    spark: "SparkSession", by_spark: headgate.Table, way: str
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        read = frame(spark, by_spark, way).where("id = 1").selectExpr("unix_micros(at)", "CAST(local AS STRING)")
        assert tuple(read.first() or ()) == (int(MOMENT.timestamp()) * 10**6 + 123_456, "2024-02-29 12:30:00.123456")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize("way", WAYS)
def test_times_in_the_form_of_older_engines_are_read(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    table = table_of(tmp_path / "t", "at TIMESTAMP")
    rows = pa.table({"at": pa.array([MOMENT], pa.timestamp("us", "UTC"))})
    table.append([written(table, "a.parquet", rows, use_deprecated_int96_timestamps=True)])
    micros = frame(spark, table, way).selectExpr("unix_micros(at)").first()
    assert micros is not None
    assert micros[0] == int(MOMENT.timestamp()) * 10**6 + 123_456


def test_the_source_says_which_columns_are_never_null(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT NOT NULL, list ARRAY<INT>")
    table.append([written(table, "a.parquet", {"id": [1], "list": pa.array([[1]], pa.list_(pa.int32()))})])
    read = frame(spark, table, "source")
    assert [field.nullable for field in read.schema] == [False, True]
    assert read.count() == 1


def test_the_native_way_trusts_no_file_to_be_without_nulls(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT NOT NULL, n BIGINT")
    file = untold(written(table, "a.parquet", {"id": pa.array([None], pa.int64()), "n": [1]}))
    assert isinstance(table.append([file]), headgate.Committed)
    read = frame(spark, table, "native")
    assert [tuple(row) for row in read.where("id IS NULL").collect()] == [(None, 1)]


@pytest.mark.parametrize("way", WAYS)
def test_unsigned_and_dictionary_columns_of_other_writers_are_read(
    spark: "SparkSession", tmp_path: Path, way: str
) -> None:
    rows = pa.table(
        {
            "small": pa.array([255], pa.uint8()),
            "large": pa.array([2**32 - 1], pa.uint32()),
            "text": pa.array(["x"]).dictionary_encode(),
            "wide": pa.array(["y"], pa.large_string()),
        }
    )
    table = table_of(tmp_path / "t", rows.schema)
    table.append([written(table, "a.parquet", rows)])
    assert [tuple(row) for row in frame(spark, table, way).collect()] == [(255, 2**32 - 1, "x", "y")]
