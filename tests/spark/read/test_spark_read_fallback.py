"""What `headgate.spark.read` does where Spark can't be handed a list of files, and what it hands over where it can."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import headgate
import headgate.spark
from headgate.spark.places import spark_root
from headgate.spark.reads import native_scan, reading
from headgate.spark.reads.packed_files import packed_files
from headgate.spark.reads.plain_scan import is_plain, parquet_frame
from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.store.settings import StoreSettings
from support.spark.reading import column, frame, table_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHAPE = RowShape(
    pa.schema({"part": pa.string(), "n": pa.int32()}), {"part": ColumnKind.STRING, "n": ColumnKind.INTEGER}
)


def listed(*files: tuple[str, dict[str, str | None]]) -> pa.Table:
    return pa.table(
        {
            "path": [path for path, _ in files],
            "partition_values": pa.array(
                [list(values.items()) for _, values in files], pa.map_(pa.string(), pa.string())
            ),
            "size": [10] * len(files),
            "modification_time": [20] * len(files),
        }
    )


class Connected:
    """A session without a JVM of its own, as far as it is asked for one."""

    def __init__(self, session: "SparkSession") -> None:
        self.read = session.read
        self.conf = session.conf
        self.createDataFrame = session.createDataFrame


@pytest.mark.parametrize(
    ("path", "values", "plain"),
    [
        ("part=a/n=1/f.parquet", {"part": "a", "n": "1"}, True),
        ("part=a%2Fb/n=01/f.parquet", {"part": "a/b", "n": "1"}, True),
        ("part=__HIVE_DEFAULT_PARTITION__/n=1/f.parquet", {"part": None, "n": "1"}, True),
        ("part=a/n=1/f.parquet", {"part": "b", "n": "1"}, False),
        ("n=1/part=a/f.parquet", {"part": "a", "n": "1"}, False),
        ("f.parquet", {"part": "a", "n": "1"}, False),
        ("part=a/n=1/more/f.parquet", {"part": "a", "n": "1"}, False),
        ("part=a/n=1/_f.parquet", {"part": "a", "n": "1"}, False),
        ("part=a/n=1/f[1].parquet", {"part": "a", "n": "1"}, False),
    ],
)
def test_read_parquet_is_trusted_only_where_names_say_what_the_log_says(
    path: str, values: dict[str, str | None], plain: bool
) -> None:
    assert is_plain("file:///t", listed((path, values)), SHAPE, "the table") is plain


def test_read_parquet_is_not_trusted_with_times(tmp_path: Path) -> None:
    shape = RowShape(pa.schema({"at": pa.timestamp("us", "UTC")}), {"at": ColumnKind.TIMESTAMP})
    files = listed(("at=2024-01-01 00%3A00%3A00/f.parquet", {"at": "2024-01-01 00:00:00"}))
    assert not is_plain("file:///t", files, shape, "the table")


@pytest.mark.parametrize("layout", ["part={part}/{name}", "{name}"])
def test_without_a_jvm_the_rows_are_the_same(spark: "SparkSession", tmp_path: Path, layout: str) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, part STRING", ["part"])
    table.append(
        [
            written(table, layout.format(part=part, name=f"{part}.parquet"), {"id": list(range(4))}, {"part": part})
            for part in ("p", "q")
        ]
    )
    connected: Any = Connected(spark)
    read = headgate.spark.read(connected, table.uri, "part = 'q' AND id > 1", columns=["id", "part"])
    assert sorted(tuple(row) for row in read.collect()) == [(2, "q"), (3, "q")]


def test_without_a_jvm_the_version_is_the_one_that_was_asked_for(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT")
    for number in (1, 2):
        table.append([written(table, f"_{number}.parquet", {"id": [number]})])
    connected: Any = Connected(spark)
    assert column(headgate.spark.read(connected, table.uri, version=1), "id") == [1]


def test_a_spark_whose_private_parts_differ_is_served_all_the_same(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of(tmp_path / "t", "id BIGINT")
    table.append([written(table, "a.parquet", {"id": [1, 2]})])
    monkeypatch.setattr(native_scan, "_CLASS", "org.headgate.spark.SomethingElse")
    monkeypatch.setattr(native_scan, "_compiled", {})
    reasons = []

    def noting(*given: Any) -> Any:
        reasons.append("listed")
        return parquet_frame(*given)

    monkeypatch.setattr(reading, "parquet_frame", noting)
    assert column(frame(spark, table, "native"), "id") == [1, 2]
    assert reasons == ["listed"]


def test_a_file_that_spark_would_leave_out_is_not_left_out(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT")
    (tmp_path / "t" / "empty.parquet").touch()
    table.append([headgate.DataFile(path="empty.parquet", partition_values={}, size=0, modification_time=0)])
    with pytest.raises(Exception, match=r"empty\.parquet of .* can't be read as Parquet"):
        frame(spark, table, "native").count()


def test_ten_thousand_files_are_planned_without_a_look_at_any_of_them(spark: "SparkSession", tmp_path: Path) -> None:
    """None of them exists. What this takes in time is in the benchmark."""
    table = table_of(tmp_path / "t", "id BIGINT, part INT", ["part"])
    table.append(
        [
            headgate.DataFile(
                path=f"{number}.parquet", partition_values={"part": str(number % 100)}, size=100, modification_time=1
            )
            for number in range(10_000)
        ]
    )
    read: Any = headgate.spark.read(spark, table.uri, "part <> 7").where("part = 8 OR part = 7")
    plan = read._jdf.queryExecution().executedPlan()
    assert "PartitionFilters" in plan.toString()
    assert len(read.inputFiles()) == 9_900
    assert [leaf.inputRDDs().head().getNumPartitions() > 0 for leaf in [plan.children().head()]] == [True]


def test_files_of_equal_values_are_one_partition() -> None:
    files = listed(("a", {"part": "x", "n": "1"}), ("b", {"n": "01", "part": "x"}), ("c", {"part": "x"}))
    packed = packed_files(files, SHAPE, "the table")
    assert (packed.files, packed.partitions) == (3, 2)


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("/data/my table", "file:///data/my table"),
        ("file:///data/my%20table", "file:///data/my table"),
        ("s3://bucket/t", "s3a://bucket/t"),
        ("s3n://bucket/t/", "s3n://bucket/t"),
        ("az://box/t", "abfss://box@acc.dfs.core.windows.net/t"),
        ("abfss://box@acc.dfs.core.windows.net/t", "abfss://box@acc.dfs.core.windows.net/t"),
    ],
)
def test_spark_knows_the_table_by_its_own_address(uri: str, root: str) -> None:
    assert spark_root(_without_settings(), uri, StoreSettings(azure_account_name="acc")) == root


def test_a_container_alone_does_not_say_where_it_is() -> None:
    with pytest.raises(InvalidInput, match=r"set azure\.account-name"):
        spark_root(_without_settings(), "az://box/t", StoreSettings())


def _without_settings() -> Any:
    class Settings:
        def get(self, key: str, default: str | None) -> str | None:
            return default

    class Session:
        conf = Settings()

    return Session()
