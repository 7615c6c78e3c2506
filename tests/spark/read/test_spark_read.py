"""What Spark reads of a table, by the data source and by the native path alike."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import headgate
import headgate.spark
from support.spark.reading import WAYS, column, frame, table_of, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXTRA = pa.struct({"a": pa.int32(), "b": pa.list_(pa.string())})
STRANGE = ("a/b", "50%", "%2F", "with space", "ünï", "=", "x:y", "#?")


@pytest.fixture
def numbers(tmp_path: Path) -> headgate.Table:
    """Versions 1 to 3 add a file each, with one row."""
    table = table_of(tmp_path / "numbers", "id BIGINT")
    for number in (1, 2, 3):
        table.append([written(table, f"{number}.parquet", {"id": [number]})])
    return table


@pytest.fixture
def pushing(spark: "SparkSession") -> "Iterator[SparkSession]":
    """A session that pushes filters to Python sources."""
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    yield spark
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.spec("testReadWithSparkDataSource")
@pytest.mark.parametrize("way", WAYS)
def test_files_of_an_avro_state_and_of_versions_after_it_are_read(
    spark: "SparkSession", tmp_path: Path, way: str
) -> None:
    table = table_of(tmp_path / "t", "id BIGINT")
    table.append([written(table, f"{number}.parquet", {"id": [number]}) for number in range(4)])
    table.delete(paths=["0.parquet"])
    state = table.checkpoint()
    table.append([written(table, "4.parquet", {"id": [4]})])
    table.delete(paths=["1.parquet"])
    assert table.snapshot().log.plan.base.version == state
    assert column(frame(spark, table, way), "id") == [2, 3, 4]


@pytest.mark.parametrize("way", WAYS)
def test_an_earlier_version_is_read(spark: "SparkSession", numbers: headgate.Table, way: str) -> None:
    assert column(frame(spark, numbers, way, version=2), "id") == [1, 2]


@pytest.mark.parametrize("way", WAYS)
def test_the_version_of_a_time_is_read(spark: "SparkSession", numbers: headgate.Table, way: str) -> None:
    moment = next(entry.time for entry in numbers.history() if entry.version == 2)
    assert max(column(frame(spark, numbers, way, timestamp=moment), "id")) >= 2


@pytest.mark.parametrize("way", WAYS)
def test_a_dataframe_is_one_version_whatever_is_committed_after(
    spark: "SparkSession", numbers: headgate.Table, way: str
) -> None:
    before = frame(spark, numbers, way)
    numbers.append([written(numbers, "4.parquet", {"id": [4]})])
    numbers.delete(paths=["1.parquet"])
    assert column(before, "id") == [1, 2, 3]
    assert column(before.where("id > 1"), "id") == [2, 3]


def test_a_dataframe_with_a_schema_of_its_own_is_one_version_from_its_first_use_on(
    spark: "SparkSession", numbers: headgate.Table
) -> None:
    before = spark.read.format("headgate").schema("id LONG").load(numbers.uri)
    before.count()  # Spark makes the source only now
    numbers.delete(paths=["1.parquet"])
    assert column(before, "id") == [1, 2, 3]


@pytest.mark.parametrize("way", WAYS)
def test_two_versions_in_one_query_stay_two(spark: "SparkSession", numbers: headgate.Table, way: str) -> None:
    old, new = frame(spark, numbers, way, version=1).cache(), frame(spark, numbers, way, version=3)
    try:
        assert old.count() == 1
        assert column(new.join(old, "id", "left_anti"), "id") == [2, 3]
    finally:
        old.unpersist()


def test_the_same_version_is_the_same_to_sparks_cache(spark: "SparkSession", numbers: headgate.Table) -> None:
    first = headgate.spark.read(spark, numbers.uri).cache()
    try:
        again = headgate.spark.read(spark, numbers.uri, version=3)
        assert "InMemoryTableScan" in _plan(again)
    finally:
        first.unpersist()


def test_refreshing_the_folder_does_not_show_files_that_the_log_does_not_name(
    spark: "SparkSession", numbers: headgate.Table
) -> None:
    read = headgate.spark.read(spark, numbers.uri).cache()
    try:
        read.count()
        written(numbers, "orphan.parquet", {"id": [99]})
        spark.catalog.refreshByPath(numbers.uri)
        assert column(read, "id") == [1, 2, 3]
    finally:
        read.unpersist()


@pytest.mark.parametrize("way", WAYS)
def test_a_version_that_is_not_there_is_refused(spark: "SparkSession", numbers: headgate.Table, way: str) -> None:
    with pytest.raises(Exception, match="version 9"):
        frame(spark, numbers, way, version=9).count()


@pytest.mark.parametrize("way", WAYS)
def test_where_there_is_no_table_reading_says_so(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    class Nothing:
        uri = str(tmp_path / "nothing")

    with pytest.raises(Exception, match="there is no table at"):
        frame(spark, Nothing(), way).count()  # type: ignore[arg-type]  # only the address is looked at


@pytest.mark.parametrize("way", WAYS)
def test_a_table_without_files_has_its_columns_and_no_rows(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    read = frame(spark, table_of(tmp_path / "t", "id BIGINT, day DATE", ["day"]), way)
    assert (read.columns, read.count()) == (["id", "day"], 0)


@pytest.mark.parametrize("way", WAYS)
def test_split_files_are_refused_in_one_sentence(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    table = table_of(tmp_path / "t", "id BIGINT", configuration={"format.provider": "indextables"})
    table.append([headgate.DataFile(path="a.split", partition_values={}, size=10, modification_time=0)])
    with pytest.raises(Exception, match=r"holds \.split files, and only rows of Parquet files can be read"):
        frame(spark, table, way).count()


@pytest.mark.parametrize("way", WAYS)
def test_partition_values_are_those_of_the_log_wherever_a_file_lies(
    spark: "SparkSession", tmp_path: Path, way: str
) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, part STRING", ["part"])
    values = [*STRANGE, "", None]
    table.append(
        [written(table, f"f{place}.parquet", {"id": [place]}, {"part": value}) for place, value in enumerate(values)]
    )
    read = {row.id: row.part for row in frame(spark, table, way).collect()}
    # The empty text is null in every partitioned table.
    assert read == {place: value or None for place, value in enumerate(values)}


def test_spark_finds_a_strange_partition_by_its_value(spark: "SparkSession", strange_parts: headgate.Table) -> None:
    read = frame(spark, strange_parts, "native")
    each = [read.where(_equals("part", value)) for value in STRANGE]
    found = reduce(lambda left, right: left.unionAll(right), each).collect()
    assert [row.id for row in found] == list(range(len(STRANGE)))


def test_a_where_finds_a_strange_partition_by_its_value(spark: "SparkSession", strange_parts: headgate.Table) -> None:
    assert column(frame(spark, strange_parts, "source", where="part = 'a/b'"), "id") == [STRANGE.index("a/b")]


@pytest.fixture(scope="module")
def strange_parts(tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    """A partition for each strange value, in folders that are named as Spark names them."""
    from headgate_schemas.predicates.partition_text import escape_partition_text

    table = table_of(tmp_path_factory.mktemp("strange") / "t", "id BIGINT, part STRING", ["part"])
    table.append(
        [
            written(table, f"part={escape_partition_text(value)}/f.parquet", {"id": [place]}, {"part": value})
            for place, value in enumerate(STRANGE)
        ]
    )
    return table


TYPED: dict[str, tuple[str, Any]] = {
    "BOOLEAN": ("true", True),
    "TINYINT": ("-3", -3),
    "SMALLINT": ("300", 300),
    "INT": ("007", 7),
    "BIGINT": (str(2**62), 2**62),
    "FLOAT": ("0.5", 0.5),
    "DOUBLE": ("1e300", 1e300),
    "DECIMAL(20,3)": ("12345678901234567.125", Decimal("12345678901234567.125")),
    "DATE": ("2024-02-29", date(2024, 2, 29)),
    "TIMESTAMP": ("2024-02-29 12:30:00.5", datetime.fromisoformat("2024-02-29 12:30:00.500")),
    "TIMESTAMP_NTZ": ("2024-02-29 12:30:00", datetime.fromisoformat("2024-02-29 12:30")),
    "STRING": ("x", "x"),
    "VARCHAR(5)": ("y", "y"),
}


@pytest.mark.parametrize("way", WAYS)
def test_partition_columns_have_their_types(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    names = {kind: f"c{place}" for place, kind in enumerate(TYPED)}
    table = table_of(
        tmp_path / "t",
        ", ".join(["id BIGINT", *(f"{name} {kind}" for kind, name in names.items())]),
        list(names.values()),
    )
    given = {names[kind]: text for kind, (text, _) in TYPED.items()}
    table.append(
        [
            written(table, "a.parquet", {"id": [1]}, given),
            written(table, "b.parquet", {"id": [2]}, dict.fromkeys(given)),
        ]
    )
    full, empty = frame(spark, table, way).orderBy("id").collect()
    assert {kind: full[name] for kind, name in names.items()} == {kind: value for kind, (_, value) in TYPED.items()}
    assert [empty[name] for name in names.values()] == [None] * len(names)


@pytest.mark.parametrize("way", WAYS)
def test_columns_keep_their_order_with_partition_columns_in_between(
    spark: "SparkSession", tmp_path: Path, way: str
) -> None:
    table = table_of(tmp_path / "t", "day DATE, id BIGINT, part STRING, text STRING", ["part", "day"])
    table.append([written(table, "a.parquet", {"text": ["t"], "id": [1]}, {"day": "2024-01-01", "part": "p"})])
    read = frame(spark, table, way)
    assert read.columns == ["day", "id", "part", "text"]
    assert tuple(read.first() or ()) == (date(2024, 1, 1), 1, "p", "t")


@pytest.mark.parametrize("way", WAYS)
def test_a_column_of_the_file_never_stands_for_a_partition_column(
    spark: "SparkSession", tmp_path: Path, way: str
) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, part STRING", ["part"])
    table.append([written(table, "a.parquet", {"id": [1], "part": ["wrong"]}, {"part": "right"})])
    assert column(frame(spark, table, way), "part") == ["right"]


@pytest.mark.parametrize("way", WAYS)
def test_a_column_that_came_later_is_null_in_older_files(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    table = table_of(tmp_path / "t", "id BIGINT")
    table.append([written(table, "a.parquet", {"id": [1]})])
    table.alter(schema="id BIGINT, extra STRUCT<a: INT, b: ARRAY<STRING>>")
    rows = pa.table({"id": [2], "extra": pa.array([{"a": 5, "b": ["x"]}], EXTRA)})
    table.append([written(table, "b.parquet", rows)])
    read = frame(spark, table, way).orderBy("id").select("id", "extra.a", "extra.b").collect()
    assert [tuple(row) for row in read] == [(1, None, None), (2, 5, ["x"])]


@pytest.mark.parametrize("way", WAYS)
def test_a_column_that_came_later_has_its_default_in_older_files(
    spark: "SparkSession", tmp_path: Path, way: str
) -> None:
    from pyspark.sql.types import StructType

    columns = "id BIGINT, n INT, price DECIMAL(5,2), name STRING, day DATE, big BIGINT, x DOUBLE, ok BOOLEAN, no INT"
    defaults = ("7", "1.50BD", r"'it\'s'", "DATE '2024-01-31'", "5L", "2.5D", "true", "NULL")
    schema: Any = StructType.fromDDL(columns)
    for field, text in zip(schema.fields[1:], defaults, strict=True):
        field.metadata = {"EXISTS_DEFAULT": text, "CURRENT_DEFAULT": text}
    table = table_of(tmp_path / "t", "id BIGINT")
    table.append([written(table, "a.parquet", {"id": [1]})])
    table.alter(schema=schema)
    table.append([written(table, "b.parquet", {"id": [2], "n": pa.array([None], pa.int32())})])
    old, new = frame(spark, table, way).orderBy("id").collect()
    assert tuple(old) == (1, 7, Decimal("1.50"), "it's", date(2024, 1, 31), 5, 2.5, True, None)
    assert new.n is None


@pytest.mark.parametrize("way", WAYS)
def test_files_whose_names_spark_would_hide_are_read(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    table = table_of(tmp_path / "t", "id BIGINT")
    paths = ["_a.parquet", ".b.parquet", "_folder/c.parquet", "d[1]*{x}.parquet", "e f%20#?.parquet"]
    table.append([written(table, path, {"id": [place]}) for place, path in enumerate(paths)])
    assert column(frame(spark, table, way), "id") == list(range(len(paths)))


@pytest.mark.parametrize("way", WAYS)
def test_where_gives_the_rows_that_match_and_no_others(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, part STRING, text STRING", ["part"])
    table.append(
        [
            written(table, f"{part}.parquet", {"id": list(range(10)), "text": ["a", None] * 5}, {"part": part})
            for part in ("p", "q")
        ]
    )
    read = frame(spark, table, way, where="part = 'q' AND id BETWEEN 3 AND 6 AND text IS NOT NULL")
    assert [tuple(row) for row in read.orderBy("id").collect()] == [(4, "q", "a"), (6, "q", "a")]


@pytest.mark.parametrize("way", WAYS)
def test_a_where_on_an_unknown_column_is_refused_with_the_nearest(
    spark: "SparkSession", numbers: headgate.Table, way: str
) -> None:
    with pytest.raises(Exception, match="did you mean 'id'"):
        frame(spark, numbers, way, where="idd = 1").count()


def test_columns_are_chosen_by_name(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", pa.schema({"id": pa.int64(), "a.b`c": pa.string()}))
    table.append([written(table, "a.parquet", {"id": [1, 2], "a.b`c": ["x", "y"]})])
    read = headgate.spark.read(spark, table.uri, "id = 2", columns=["a.b`c"])
    assert (read.columns, read.collect()[0][0]) == (["a.b`c"], "y")


def test_an_unknown_column_is_refused_with_the_nearest(spark: "SparkSession", numbers: headgate.Table) -> None:
    with pytest.raises(headgate.InvalidInput, match="did you mean 'id'"):
        headgate.spark.read(spark, numbers.uri, columns=["idd"])


def test_a_schema_of_the_users_own_reads_only_its_columns(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, text STRING, part INT", ["part"])
    table.append([written(table, "a.parquet", {"id": [1, 2], "text": ["x", "y"]}, {"part": "5"})])
    read = spark.read.format("headgate").schema("part INT").option("where", "id = 2").load(table.uri)
    assert [tuple(row) for row in read.collect()] == [(5,)]


@pytest.mark.parametrize(
    ("schema", "reason"), [("idd LONG", "has no column 'idd'"), ("id STRING", "is bigint, not string")]
)
def test_a_schema_of_the_users_own_must_be_of_the_tables_columns(
    spark: "SparkSession", numbers: headgate.Table, schema: str, reason: str
) -> None:
    with pytest.raises(Exception, match=reason):
        spark.read.format("headgate").schema(schema).load(numbers.uri).count()


PUSHED = (
    "NOT (n IN (1, 3)) AND NOT (n <=> 4)",
    "f > 0.1 OR f = FLOAT(0.1)",
    "f >= 0.2 AND f < DOUBLE('NaN')",
    "x >= DOUBLE('Infinity') AND text LIKE 'a%'",
    "at >= TIMESTAMP '2024-01-02 00:00:00' AND local < TIMESTAMP_NTZ '2024-01-03 00:00:00' AND price > 1.004",
    "NOT (part = 'a/b') AND n IN (2, 3, NULL)",
    "part IS NULL",
)


def test_pushed_filters_select_the_rows_that_spark_would(pushing: "SparkSession", mixed: headgate.Table) -> None:
    from pyspark.sql import functions

    conditions = [functions.expr(text) for text in PUSHED]
    # Computed by Spark over all rows: as columns, nothing is pushed.
    truths = frame(pushing, mixed, "source").select("id", *conditions).collect()
    expected = {text: sorted(row[0] for row in truths if row[1 + place]) for place, text in enumerate(PUSHED)}
    each = [_pushed(pushing, mixed).where(text).select(functions.lit(text).alias("text"), "id") for text in PUSHED]
    found: dict[str, list[int]] = {text: [] for text in PUSHED}
    for row in reduce(lambda left, right: left.unionAll(right), each).collect():
        found[row.text].append(row.id)
    assert {text: sorted(ids) for text, ids in found.items()} == expected


def test_a_filter_of_one_query_never_narrows_another(pushing: "SparkSession", mixed: headgate.Table) -> None:
    read = frame(pushing, mixed, "source")
    assert column(read.where("n = 3 AND part = 'c'"), "id") == [13]
    assert read.count() == 18
    assert column(read.where("id = 0").unionAll(read.where("id = 20")), "id") == [0, 20]


def test_pushed_filters_leave_files_and_row_groups_unread(pushing: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, part STRING", ["part"])
    table.append(
        [
            written(table, f"{part}{low}.parquet", {"id": list(range(low, low + 10))}, {"part": part})
            for part in ("p", "q")
            for low in (0, 10)
        ]
    )
    for unread in ("p0", "p10", "q0"):
        (tmp_path / "t" / f"{unread}.parquet").write_bytes(b"reading it would fail")
    read = _pushed(pushing, table).where("part = 'q' AND id > 15")
    assert column(read, "id") == [16, 17, 18, 19]


def test_without_the_setting_spark_filters_by_itself(spark: "SparkSession", mixed: headgate.Table) -> None:
    assert column(frame(spark, mixed, "source").where("part = 'a/b' AND n > 1"), "n") == [2, 3, 4, 5]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    """Rows of many types, some null, in two partitions and none, in several files."""
    table = table_of(
        tmp_path_factory.mktemp("mixed") / "t",
        "id BIGINT, n INT, f FLOAT, x DOUBLE, text STRING, at TIMESTAMP, local TIMESTAMP_NTZ, day DATE, price DECIMAL(6,3), "
        "part STRING",
        ["part"],
    )
    table.append([_mixed_file(table, place, part) for place, part in enumerate(("a/b", "c", None))])
    return table


def _mixed_file(table: headgate.Table, place: int, part: str | None) -> headgate.DataFile:
    days = [date(2024, 1, number) for number in (1, 2, 3)]
    rows = pa.table(
        {
            "id": [place * 10 + number for number in range(6)],
            "n": pa.array([None, 1, 2, 3, 4, 5], pa.int32()),
            "f": pa.array([0.1, 0.2, None, 0.3, float("nan"), -0.0], pa.float32()),
            "x": pa.array([1.5, None, 1e9, float("nan"), float("inf"), -1.5], pa.float64()),
            "text": ["a", "b", "bb", None, "", "ab"],
            "at": pa.array([*(datetime(2024, 1, day.day, tzinfo=UTC) for day in days), None, None, None]).cast(
                pa.timestamp("us", "UTC")
            ),
            "local": pa.array(
                [*(datetime.fromisoformat(str(day)) for day in days), None, None, None], pa.timestamp("us")
            ),
            "day": pa.array([*days, None, None, None], pa.date32()),
            "price": pa.array(
                [Decimal(text) for text in ("1.000", "1.005", "1.006", "-1", "0", "2")], pa.decimal128(6, 3)
            ),
        }
    )
    return written(table, f"{place}.parquet", rows, {"part": part}, row_group_size=3)


def _pushed(spark: "SparkSession", table: headgate.Table) -> "DataFrame":
    return spark.read.format("headgate").option("filterPushdown", "true").load(table.uri)


def _equals(name: str, value: str) -> Any:
    from pyspark.sql import functions

    return functions.col(name) == functions.lit(value)


def _plan(read: Any) -> str:
    return str(read._jdf.queryExecution().executedPlan().toString())
