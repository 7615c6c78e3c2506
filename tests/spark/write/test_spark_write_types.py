"""Every type of Spark SQL that Parquet and a table hold, and every kind of partition value, written and scanned again: by
PyArrow, and by Spark's own writer."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headgate.spark import write
from headgate_schemas.errors import InvalidInput
from headgate_table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT = datetime.fromisoformat("2024-02-29T23:59:59.123456")
EARLY = datetime.fromisoformat("1583-01-01T00:00:00.000001")
MIDNIGHT = datetime.fromisoformat("2024-01-01T00:00:00")

COLUMNS: Mapping[str, tuple[Any, ...]] = {
    "b BOOLEAN": (True, False),
    "i1 TINYINT": (-128, 127),
    "i2 SMALLINT": (-32768, 32767),
    "i4 INT": (-(2**31), 2**31 - 1),
    "i8 BIGINT": (-(2**63), 2**63 - 1),
    "f4 FLOAT": (1.5, float("-inf")),
    "f8 DOUBLE": (0.1, float("inf")),
    "d9 DECIMAL(9,2)": (Decimal("-1234567.89"), Decimal("0.01")),
    "d18 DECIMAL(18,0)": (Decimal(10**17), Decimal(-1)),
    "d38 DECIMAL(38,18)": (Decimal("12345678901234567890.123456789012345678"), Decimal("1E-18")),
    "s STRING": ("", "ünï\t'\"😀"),
    "bin BINARY": (b"\x00\xff", b""),
    "day DATE": (date(1, 1, 1), date(9999, 12, 31)),
    "ts TIMESTAMP": (MOMENT, EARLY),
    "tn TIMESTAMP_NTZ": (MOMENT, EARLY),
    "a ARRAY<INT>": ([1, None], []),
    "m MAP<STRING, DECIMAL(5,1)>": ({"x": Decimal("1.5"), "y": None}, {}),
    "st STRUCT<x: TIMESTAMP, y: ARRAY<STRUCT<z: STRING>>>": (
        {"x": MOMENT, "y": [{"z": None}, None]},
        {"x": None, "y": None},
    ),
    "aa ARRAY<ARRAY<TIMESTAMP_NTZ>>": ([[MOMENT], None], [[]]),
    "mm MAP<INT, MAP<STRING, STRING>>": ({1: {"k": "v"}}, {2: None}),
}
"""By column, two values; a third row is all nulls."""


@pytest.fixture(scope="module", params=[False, True], ids=["arrow", "native"])
def native(request: pytest.FixtureRequest) -> bool:
    """Which writer."""
    is_native: bool = request.param
    return is_native


def with_zones(column: str, value: Any) -> Any:
    """What a scan gives where Spark was given a time without a zone, in a session in UTC, and maps as pairs."""
    match value:
        case datetime() if "TIMESTAMP_NTZ" not in column:
            return value.replace(tzinfo=UTC)
        case dict() if column.startswith("m"):
            return [(key, with_zones(column, item)) for key, item in value.items()]
        case dict():
            return {key: with_zones(column, item) for key, item in value.items()}
        case list():
            return [with_zones(column, item) for item in value]
        case _:
            return value


def test_every_type_makes_the_round_trip_with_its_nulls(spark: "SparkSession", tmp_path: Path, native: bool) -> None:
    rows = [tuple(values[place] for values in COLUMNS.values()) for place in range(2)]
    schema = ", ".join(["id INT", *COLUMNS])
    frame = spark.createDataFrame([(0, *rows[0]), (1, *rows[1]), (2, *[None] * len(COLUMNS))], schema)
    write(frame, str(tmp_path), native=native)
    found = sorted(Table.open(str(tmp_path)).snapshot().scan().read_all().to_pylist(), key=lambda row: row["id"])
    for column, values in COLUMNS.items():
        name = column.partition(" ")[0]
        assert [row[name] for row in found] == [*(with_zones(column, value) for value in values), None], column


def test_what_a_table_cannot_hold_is_refused_by_its_column_and_type(spark: "SparkSession", tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"'gap'.*interval"):
        write(spark.sql("SELECT 1 AS id, INTERVAL '1' DAY AS gap"), str(tmp_path))


PARTITIONS: Mapping[str, tuple[Any, ...]] = {
    "s STRING": (
        "a/b",
        "100%",
        "a%20b",
        "%2F",
        " sp ace ",
        "ünï😀",
        "k=v",
        "a:b*c?d\\e\"f'g#h",
        "tab\there",
        "..",
        "NULL",
        None,
    ),
    "i INT": (-1, 0, None),
    "y TINYINT": (-128, 127),
    "l BIGINT": (2**63 - 1, -(2**63)),
    "b BOOLEAN": (True, False, None),
    "d DATE": (date(1, 1, 1), date(2024, 2, 29), None),
    "c DECIMAL(38,18)": (Decimal("1E-18"), Decimal("-12345678901234567890"), None),
    "f DOUBLE": (0.1, float("inf"), float("-inf"), 1e300, None),
    "g FLOAT": (0.1, 1.5),
    "t TIMESTAMP": (MOMENT, MIDNIGHT, None),
    "n TIMESTAMP_NTZ": (MOMENT, MIDNIGHT, None),
}


@pytest.fixture(scope="module")
def by_partition(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory, native: bool
) -> Mapping[str, list[Any]]:
    """By column, what is read from a table that is partitioned by it; one job for all of them would test the same."""
    found: dict[str, list[Any]] = {}
    for column, values in PARTITIONS.items():
        uri = str(tmp_path_factory.mktemp("partitions"))
        name = column.partition(" ")[0]
        frame = spark.createDataFrame([(place, value) for place, value in enumerate(values)], f"id INT, {column}")
        write(frame.coalesce(1), uri, native=native, partitionBy=name)
        rows = Table.open(uri).snapshot().scan().read_all().to_pylist()
        found[column] = [row[name] for row in sorted(rows, key=lambda row: row["id"])]
    return found


@pytest.mark.parametrize("column", PARTITIONS)
def test_a_partition_value_makes_the_round_trip(column: str, by_partition: Mapping[str, list[Any]]) -> None:
    expected = [with_zones(column, value) for value in PARTITIONS[column]]
    if column == "g FLOAT":
        expected = [pytest.approx(value) for value in expected]
    assert by_partition[column] == expected


def test_an_empty_partition_text_is_read_as_null(spark: "SparkSession", tmp_path: Path, native: bool) -> None:
    write(spark.sql("SELECT 1 AS id, '' AS k"), str(tmp_path), native=native, partitionBy="k")
    assert Table.open(str(tmp_path)).snapshot().scan().read_all().to_pylist() == [{"id": 1, "k": None}]


def test_moments_are_the_same_whatever_the_sessions_zone(spark: "SparkSession", tmp_path: Path, native: bool) -> None:
    uri = str(tmp_path)
    rows = spark.sql("SELECT timestamp'2024-07-01 12:00:00Z' AS ts, timestamp'2024-01-01 12:00:00Z' AS part")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        write(rows, uri, native=native, partitionBy="part")
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert Table.open(uri).snapshot().scan().read_all().to_pylist() == [
        {"ts": datetime(2024, 7, 1, 12, tzinfo=UTC), "part": datetime(2024, 1, 1, 12, tzinfo=UTC)}
    ]
