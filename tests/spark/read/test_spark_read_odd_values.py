"""Odd numbers and old times in files of several row groups: Spark's own reader gives the rows that a scan gives, and skips none of them."""

from datetime import UTC, date, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import headgate
import headgate.spark
from support.spark.reading import WAYS, frame, table_of, untold, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAN, INF = float("nan"), float("inf")
NUMBERS = [1.0, NAN, -0.0, 3.0, 0.0, 3.0, NAN, NAN, INF, 2.0, -INF, -5.0, 1e300, 5e-324, None, 7.0]
"""Two of them are a row group, whose statistics leave NaN out."""
DAYS = [
    "0001-01-01",
    "0999-12-31",
    "1000-01-01",
    "1582-10-04",
    "1582-10-05",
    "1582-10-10",
    "1582-10-14",
    "1582-10-15",
    "1600-02-29",
    "1899-12-31",
    "1970-01-01",
    "9999-12-31",
]
"""All of one calendar, which goes on before its first day. Each is one row group."""
TIMES = [f"{day} {time}" for day in DAYS[1:-1] for time in ("00:00:00", "23:59:59.999999")]
OPS = ("=", "<>", "<", "<=", ">", ">=")
LITERALS = ["'NaN'", "'Infinity'", "'-Infinity'", "0", "'-0.0'", "3", "2", "5"]


def _wheres() -> list[str]:
    texts = [f"{column} {op} {literal}" for column in ("x", "f") for op in OPS for literal in LITERALS]
    texts += [
        text.format(c=column)
        for column in ("x", "f")
        for text in (
            "{c} IN ('NaN', 7)",
            "{c} IN (0, 7)",
            "{c} NOT IN (3, 0)",
            "NOT {c} <= 3",
            "{c} BETWEEN 3 AND 'NaN'",
        )
    ]
    texts += [f"day {op} DATE '{day}'" for op in OPS for day in [*DAYS[1::2], "1582-10-10"]]
    texts += [f"day IN ({', '.join(repr(day) for day in DAYS[1::2])})", "day NOT IN ('1582-10-10', '0999-12-31')"]
    for column in ("at", "local"):
        texts += [f"{column} {op} TIMESTAMP '{time}'" for op in OPS for time in TIMES[::5]]
        texts += [f"{column} IN ({', '.join(repr(time) for time in TIMES[::3])})"]
    return texts


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    """Three files, as PyArrow writes them."""
    columns = "id BIGINT, x DOUBLE, f FLOAT, s STRUCT<x: DOUBLE>, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ"
    made = table_of(tmp_path_factory.mktemp("odd") / "t", columns)
    narrow = pa.array([None if number is None else float(number) for number in NUMBERS], pa.float32())
    numbers = {
        "id": range(len(NUMBERS)),
        "x": pa.array(NUMBERS, pa.float64()),
        "f": narrow,
        "s": pa.array([{"x": number} for number in NUMBERS], pa.struct([("x", pa.float64())])),
    }
    days = {"id": range(100, 100 + len(DAYS)), "day": pa.array(map(date.fromisoformat, DAYS), pa.date32())}
    moments = [datetime.fromisoformat(time) for time in TIMES]
    times = {
        "id": range(200, 200 + len(TIMES)),
        "at": pa.array([moment.replace(tzinfo=UTC) for moment in moments], pa.timestamp("us", "UTC")),
        "local": pa.array(moments, pa.timestamp("us")),
    }
    made.append(
        [
            written(made, "numbers.parquet", numbers, row_group_size=2),
            written(made, "days.parquet", days, row_group_size=1),
            written(made, "times.parquet", times, row_group_size=1),
        ]
    )
    return made


def _found(frames: "dict[str, DataFrame]") -> dict[str, list[int]]:
    """The ids that each frame has, in one job for many."""
    from pyspark.sql import functions

    found: dict[str, list[int]] = {text: [] for text in frames}
    named = list(frames.items())
    for start in range(0, len(named), 40):
        tagged = [each.select(functions.lit(text).alias("text"), "id") for text, each in named[start : start + 40]]
        for row in reduce(lambda left, right: left.unionAll(right), tagged).collect():
            found[row["text"]].append(row["id"])
    return {text: sorted(ids) for text, ids in found.items()}


def _expected(table: headgate.Table, where: str) -> list[int]:
    return sorted(table.snapshot().scan(["id"], where).read_all().column("id").to_pylist())


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_a_where_finds_what_a_scan_finds(spark: "SparkSession", table: headgate.Table, zone: str) -> None:
    wheres = (
        _wheres() if zone == "UTC" else [text for text in _wheres() if text.startswith(("day", "at", "local"))][::4]
    )
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = _found({text: headgate.spark.read(spark, table.uri, text) for text in wheres})
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert found == {text: _expected(table, text) for text in wheres}


SINGLES = [
    0.1,
    0.3,
    -0.1,
    0.5,
    16777216.0,
    3.4028234663852886e38,
    -3.4028234663852886e38,
    1e-45,
    0.0,
    -0.0,
    INF,
    NAN,
    None,
]
"""Of 32 bits."""
WIDE = [
    "0.1",
    "0.10000000149011612",
    "0.1D",
    "'0.1'",
    "16777217",
    "16777216",
    "3.4028234663852886e38",
    "1e39",
    "1e-45",
    "0",
]


@pytest.fixture(scope="module", params=[(), ("f",)], ids=["flat", "partitioned"])
def singles(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    rows = pa.table({"id": range(len(SINGLES)), "f": pa.array(SINGLES, pa.float32())})
    place = str(tmp_path_factory.mktemp("singles") / "t")
    headgate.write(place, rows, partition_by=request.param, storage={"local.durable": "false"})
    return headgate.Table.open(place)


def test_a_32_bit_column_compares_as_in_spark(spark: "SparkSession", singles: headgate.Table) -> None:
    """Break: 0.1 finds the column's 0.1, which is 0.10000000149011612. Spark's own conditions are on rows that it was given."""
    texts = [f"f {op} {literal}" for op in (*OPS, "<=>") for literal in WIDE]
    texts += ["f IN (0.1, 0.5)", "f NOT IN (0.1, 16777217)", "f BETWEEN 0.1 AND 0.2", "NOT f <= 0.1"]
    rows = spark.createDataFrame(list(enumerate(SINGLES)), "id BIGINT, f FLOAT").repartition(1)
    wanted = _found({text: rows.where(text) for text in texts})
    assert {text: _expected(singles, text) for text in texts} == wanted
    assert _found({text: headgate.spark.read(spark, singles.uri, text) for text in texts}) == wanted
    for way in WAYS:
        pushed: Any = frame(spark, singles, way)
        assert _found({text: pushed.where(text) for text in texts}) == wanted


@pytest.mark.parametrize("way", WAYS)
def test_a_filter_of_spark_finds_every_nan(spark: "SparkSession", table: headgate.Table, way: str) -> None:
    """Spark pushes these into the files by itself."""
    texts = [f"x {op} double({literal})" for op in OPS for literal in LITERALS]
    rows: Any = frame(spark, table, way)
    found = _found({text: rows.where(text) for text in texts})
    assert found == {text: _expected(table, text.replace("double(", "").rstrip(")")) for text in texts}
    narrow = _found({f"f {op} 3.0F": rows.where(f"f {op} 3.0F") for op in OPS})
    assert narrow == {f"f {op} 3.0F": _expected(table, f"f {op} 3") for op in OPS}
    nested = _found({f"s.x {op} 3.0D": rows.where(f"s.x {op} 3.0D") for op in OPS})
    assert nested == {f"s.x {op} 3.0D": _expected(table, f"x {op} 3") for op in OPS}


@pytest.mark.parametrize("native", [False, True], ids=["arrow", "native"])
def test_files_that_spark_writes_hide_no_nan_from_any_reader(
    spark: "SparkSession", tmp_path: Path, native: bool
) -> None:
    rows = spark.createDataFrame([(1, 1.0), (2, NAN), (3, 3.0), (4, -0.0)], "id INT, x DOUBLE").coalesce(1)
    headgate.spark.write(rows, str(tmp_path), native=native)
    plain = (
        spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*.parquet").parquet(str(tmp_path))
    )
    assert sorted(row.id for row in plain.where("x > 2").collect()) == [2, 3]
    assert sorted(row.id for row in plain.where("x = double('NaN')").collect()) == [2]
    (file,) = headgate.Table.open(str(tmp_path)).snapshot().files(("min_values", "max_values")).to_pylist()
    assert "x" not in {*dict(file["min_values"]), *dict(file["max_values"])}


def test_java_vouches_for_its_statistics_of_numbers(spark: "SparkSession", tmp_path: Path) -> None:
    rows = spark.createDataFrame([(1, 1.5), (2, 3.0)], "id INT, x DOUBLE").coalesce(1)
    headgate.spark.write(rows, str(tmp_path), native=True)
    (file,) = headgate.Table.open(str(tmp_path)).snapshot().files(("min_values", "max_values")).to_pylist()
    assert (dict(file["min_values"])["x"], dict(file["max_values"])["x"]) == ("1.5", "3.0")


@pytest.mark.parametrize("way", WAYS)
def test_doubles_in_a_column_of_floats_are_no_rounded_rows(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    made = table_of(tmp_path / "t", "id BIGINT, f FLOAT")
    file = untold(written(made, "a.parquet", {"id": [1], "f": [1e39]}))
    assert isinstance(made.append([file]), headgate.Committed)
    with pytest.raises(Exception, match=r"(?i)double"):
        frame(spark, made, way).collect()
