"""Batches written by Spark, through `format("headgate")` and `headgate.spark.write`, read back by Headgate's own scan."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.spark import write
from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_producer.errors import WriteRefused
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed
from headgate_table.errors import TableExists
from headgate_table.indextables.cleaning.orphans import is_data_key
from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.spark.restless_source import DoomedSource, RestlessSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.readwriter import DataFrameWriter


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def numbers(spark: "SparkSession", count: int = 6, tasks: int = 2) -> "DataFrame":
    """id from 0, and its remainder by 3 as a text."""
    return spark.range(0, count, 1, tasks).selectExpr("id", "cast(id % 3 as string) as k")


def saved(rows: "DataFrame", uri: str, mode: str = "append", **options: str) -> None:
    writer: DataFrameWriter = rows.write.format("headgate").mode(mode)
    writer.options(**options).save(uri)


def held(uri: str) -> list[Any]:
    """All rows of the newest version, in the order of their ids."""
    rows: list[Any] = Table.open(uri).snapshot().scan().read_all().to_pylist()
    return sorted(rows, key=lambda row: row["id"])


def ids(uri: str) -> list[int]:
    return [row["id"] for row in held(uri)]


def data_files_in(uri: str) -> list[str]:
    root = Path(uri)
    found = (path.relative_to(root).as_posix() for path in root.rglob("*.parquet"))
    return sorted(key for key in found if is_data_key(key))


def proposals_on(address: str) -> int:
    with closing(open_bus(address, SystemAmbient())) as bus:
        return sum(
            bus.extent(Topic.PROPOSALS, partition).next_offset for partition in range(bus.partitions(Topic.PROPOSALS))
        )


def refusal(act: Callable[[], object]) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        act()
    return str(caught.value)


def test_an_append_makes_the_table_and_adds_all_rows_in_one_version(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark), uri, partitionBy="k")
    table = Table.open(uri)
    assert (table.version, table.metadata.partition_columns) == (1, ("k",))
    assert held(uri) == [{"id": number, "k": str(number % 3)} for number in range(6)]


def test_a_file_says_how_many_rows_it_has_and_between_which_values(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark, tasks=1), uri, partitionBy="k")
    entries = {entry["path"].partition("/")[0]: entry for entry in Table.open(uri).snapshot().files().to_pylist()}
    told = entries["k=1"]
    assert told["num_records"] == 2
    assert (dict(told["min_values"]), dict(told["max_values"])) == ({"id": "1"}, {"id": "4"})


def test_an_overwrite_replaces_everything(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark), uri)
    saved(numbers(spark, 2), uri, "overwrite")
    assert ids(uri) == [0, 1]


def test_replace_where_replaces_what_matches_and_takes_nothing_else(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark), uri, partitionBy="k")
    saved(spark.sql("SELECT 10L AS id, '1' AS k"), uri, "overwrite", replaceWhere="k = '1'")
    assert ids(uri) == [0, 2, 3, 5, 10]
    message = refusal(lambda: saved(numbers(spark), uri, "overwrite", replaceWhere="k = '1'"))
    assert "lies outside of the overwritten range: k = '1'; nothing was written" in message
    assert ids(uri) == [0, 2, 3, 5, 10]


def test_a_dynamic_overwrite_replaces_the_partitions_that_rows_go_to(spark: "SparkSession", uri: str) -> None:
    rows = spark.sql("SELECT * FROM VALUES (1L, 'a', 1), (2L, 'a', 2), (3L, '%2F', 1), (4L, NULL, 1) AS t(id, k, n)")
    saved(rows, uri, partitionBy="k,n")
    news = spark.sql("SELECT * FROM VALUES (10L, 'a', 2), (11L, '%2F', 1), (12L, NULL, 1) AS t(id, k, n)")
    saved(news, uri, "overwrite", partitionOverwriteMode="dynamic")
    assert ids(uri) == [1, 10, 11, 12]


def test_an_unknown_column_is_refused_unless_it_may_be_added(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark, 1), uri)
    wider = numbers(spark, 1).selectExpr("1 AS colour", "id + 1 AS id", "k")
    assert "no column 'colour'" in refusal(lambda: saved(wider, uri))
    saved(wider, uri, mergeSchema="true")
    assert held(uri) == [{"id": 0, "k": "0", "colour": None}, {"id": 1, "k": "0", "colour": 1}]


def test_a_file_is_no_larger_than_asked_and_in_the_codec_that_was_asked_for(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark, 200_000, tasks=1), uri, targetFileSize="200KB", codec="zstd")
    files = [Path(uri) / name for name in data_files_in(uri)]
    assert len(files) > 1
    assert {pq.read_metadata(file).row_group(0).column(0).compression for file in files} == {"ZSTD"}
    assert ids(uri) == list(range(200_000))


def test_lost_tasks_and_speculative_ones_leave_orphans_and_no_row_twice(spark: "SparkSession", uri: str) -> None:
    spark.dataSource.register(RestlessSource)
    numbers(spark).write.format("headgate_restless").mode("append").save(uri)
    assert ids(uri) == list(range(6))
    assert len(data_files_in(uri)) == 4 * Table.open(uri).snapshot().num_files


@pytest.mark.parametrize("native", [True, False])
def test_tasks_that_are_lost_after_their_last_row_write_no_row_twice(
    spark: "SparkSession", uri: str, native: bool
) -> None:
    def lost_once(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        if context is not None and context.attemptNumber() == 0:
            raise ConnectionError("the executor was lost before it could tell")

    rows = numbers(spark).mapInArrow(lost_once, "id BIGINT, k STRING")
    write(rows, uri, native=native, partitionBy="k")
    assert ids(uri) == list(range(6))


def test_a_job_that_fails_makes_no_table(spark: "SparkSession", uri: str) -> None:
    spark.dataSource.register(DoomedSource)
    message = refusal(lambda: numbers(spark).write.format("headgate_doomed").mode("append").save(uri))
    assert "this executor is lost each time" in message
    assert not (Path(uri) / "_transaction_log").exists()
    assert data_files_in(uri)


def test_a_partitioning_other_than_the_tables_is_refused(spark: "SparkSession", uri: str) -> None:
    saved(numbers(spark), uri, partitionBy="k")
    message = refusal(lambda: saved(numbers(spark), uri, partitionBy="id"))
    assert "is partitioned by k, the option partitionBy says id" in message


def test_a_batch_goes_through_a_committer_when_it_is_given_a_bus(
    spark: "SparkSession", uri: str, tmp_path: Path
) -> None:
    bus = f"sqlite:{tmp_path / 'bus.db'}"
    with a_committer(bus):
        saved(numbers(spark), uri, bus=bus, partitionBy="k")
        saved(numbers(spark, 1).selectExpr("id", "k", "1 AS n"), uri, "overwrite", bus=bus, mergeSchema="true")
    assert held(uri) == [{"id": 0, "k": "0", "n": 1}]
    assert proposals_on(bus) == 4, "the table, its rows, its new column, and what replaces the rows"


def test_write_returns_the_receipt(spark: "SparkSession", uri: str) -> None:
    receipt = write(numbers(spark), uri, partitionBy="k")
    assert isinstance(receipt, Committed)
    assert receipt.version == Table.open(uri).version
    assert ids(uri) == list(range(6))


def writers_of(uri: str) -> set[str]:
    """Who wrote the live files, by their footers."""
    footers = [pq.read_metadata(Path(uri) / path) for path in Table.open(uri).snapshot().paths()]
    return {footer.created_by.partition(" ")[0] for footer in footers}


def test_write_lets_spark_write_the_files_itself_and_leaves_nothing_behind(spark: "SparkSession", uri: str) -> None:
    write(numbers(spark), uri, partitionBy="k")
    write(numbers(spark).where("k = '1'"), uri, "overwrite", replaceWhere="k = '1'")
    assert ids(uri) == list(range(6))
    assert writers_of(uri) == {"parquet-mr"}
    assert list((Path(uri) / "_headgate" / "spark").iterdir()) == []


def test_write_leaves_files_to_arrow_where_sparks_would_differ_or_nobody_wants_them(
    spark: "SparkSession", uri: str
) -> None:
    write(numbers(spark), f"{uri}-1", targetFileSize="1MB")
    write(numbers(spark), f"{uri}-2", native=False)
    assert writers_of(f"{uri}-1") | writers_of(f"{uri}-2") == {"parquet-cpp-arrow"}


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("name", ["x.y", "tick`s", "a b", "`x`.`y`"])
def test_write_takes_columns_whatever_their_names(spark: "SparkSession", uri: str, name: str, native: bool) -> None:
    write(numbers(spark).toDF("id", name), uri, native=native)
    rows = Table.open(uri).snapshot().scan().read_all().sort_by("id")
    assert rows.column_names == ["id", name]
    assert rows.column(name).to_pylist() == [row.k for row in numbers(spark).orderBy("id").collect()]


def test_a_native_write_that_fails_leaves_nothing_behind(spark: "SparkSession", uri: str) -> None:
    write(numbers(spark), uri)
    with pytest.raises(Exception, match="not today"):
        write(numbers(spark).where("assert_true(id < 3, 'not today') IS NULL"), uri, native=True)
    assert ids(uri) == list(range(6))
    assert list((Path(uri) / "_headgate" / "spark").iterdir()) == []


def test_a_native_write_is_refused_where_its_files_would_differ(spark: "SparkSession", uri: str) -> None:
    with pytest.raises(InvalidInput, match="knows no target size"):
        write(numbers(spark), uri, native=True, targetFileSize="1MB")
    assert not Path(uri).exists()


def test_write_takes_the_modes_that_sparks_own_way_refuses(spark: "SparkSession", uri: str) -> None:
    assert write(numbers(spark, 2), uri, "errorifexists") is not None
    assert write(numbers(spark), uri, "ignore") is None
    with pytest.raises(TableExists, match="write with mode append or overwrite"):
        write(numbers(spark), uri, "errorifexists")
    assert ids(uri) == [0, 1]


def test_write_raises_headgates_own_errors(spark: "SparkSession", uri: str) -> None:
    write(numbers(spark), uri, partitionBy="k")
    with pytest.raises(WriteRefused, match="outside_where"):
        write(numbers(spark), uri, "overwrite", replaceWhere="k = '1'")
    with pytest.raises(InvalidInput, match="did you mean replaceWhere"):
        write(numbers(spark), uri, "overwrite", replaceWher="k = '1'")


def test_write_takes_the_sessions_settings(spark: "SparkSession", uri: str) -> None:
    spark.conf.set("spark.headgate.checkpoint.interval", "2")
    try:
        write(numbers(spark, 1), uri)
        write(numbers(spark, 1), uri)
    finally:
        spark.conf.unset("spark.headgate.checkpoint.interval")
    assert (Path(uri) / "_transaction_log" / "state-v00000000000000000002").is_dir()
