"""`HeadgateTable` in a real session: results as DataFrames, changes directly and through a bus."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headgate
from headgate.spark import HeadgateTable
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.coordination.commit_info import commit_record
from headgate_table.errors import TableNotFound
from support.spark.local_lake import LocalLake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def lake(tmp_path: Path) -> LocalLake:
    lake = LocalLake(tmp_path / "table")
    lake.add(1, 2)
    lake.add(3, region="us")
    return lake


@pytest.fixture
def table(spark: "SparkSession", lake: LocalLake) -> HeadgateTable:
    return HeadgateTable.forPath(spark, lake.uri)


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[str]:
    address = f"sqlite://{tmp_path / 'bus.db'}"
    with headgate.committing(address, roots=[str(tmp_path)]):
        yield address


def _ids(frame: "DataFrame") -> list[int]:
    return sorted(row["id"] for row in frame.select("id").collect())


def test_the_history_is_newest_first(table: HeadgateTable) -> None:
    rows = table.history().select("version", "operation", "adds").collect()
    assert [tuple(row) for row in rows] == [(2, "Append", 1), (1, "Append", 1), (0, "Create", 0)]
    assert [row["version"] for row in table.history(1).collect()] == [2]


def test_details_are_one_row(table: HeadgateTable, lake: LocalLake) -> None:
    (row,) = table.detail().collect()
    assert (row["location"], row["id"], row["version"]) == (lake.uri, lake.table.metadata.id, 2)
    assert (row["partition_columns"], row["num_files"], row["num_records"]) == (["region"], 2, 3)
    assert row["configuration"] == {"checkpoint.interval": "10"}


def test_files_and_changes_are_those_of_the_log(table: HeadgateTable, lake: LocalLake) -> None:
    assert [row["path"] for row in table.files().collect()] == lake.table.snapshot().paths()
    assert [(row["change"], row["version"]) for row in table.changes(since=1).collect()] == [("added", 2)]


def test_rows_are_those_of_the_newest_version_or_of_the_one_asked_for(table: HeadgateTable) -> None:
    assert (_ids(table.toDF()), _ids(table.toDF(version=1))) == ([1, 2, 3], [1, 2])


def test_small_files_are_written_together_where_it_is_asked_for(table: HeadgateTable, lake: LocalLake) -> None:
    lake.add(4)
    lake.add(5, region="us")
    (row,) = table.optimize().where("region = 'eu'").targetSize(1 << 20).executeCompaction().collect()
    assert (row["metrics"]["status"], row["metrics"]["merged_files"]) == ("success", 2)
    assert lake.table.snapshot().num_files == 3
    assert _ids(table.toDF()) == [1, 2, 3, 4, 5]


def test_sorting_while_merging_is_refused(table: HeadgateTable) -> None:
    with pytest.raises(InvalidInput, match="keeps their order"):
        table.optimize().executeZOrderBy("id")


def test_vacuum_is_a_purge(table: HeadgateTable) -> None:
    (row,) = table.vacuum(200, dryRun=True).collect()
    assert (row["metrics"]["status"], row["metrics"]["retention_hours"]) == ("DRY_RUN", 200)
    with pytest.raises(InvalidInput, match="whole hours"):
        table.vacuum(1.5)


def test_a_partition_is_deleted_and_comes_back_by_version_and_by_time(table: HeadgateTable, lake: LocalLake) -> None:
    before = lake.table.history(1)[0].time
    (deleted,) = table.delete("region = 'us'").collect()
    assert (deleted["status"], deleted["version"], _ids(table.toDF())) == ("committed", 3, [1, 2])
    (restored,) = table.restoreToVersion(2).collect()
    assert (restored["version"], _ids(table.toDF())) == (4, [1, 2, 3])
    table.delete()
    assert _ids(table.toDF()) == []
    (again,) = table.restoreToTimestamp(before).collect()
    assert (again["version"], _ids(table.toDF())) == (6, [1, 2, 3])


def test_what_is_rejected_is_raised_with_its_reason(table: HeadgateTable) -> None:
    with pytest.raises(HeadgateError, match=r"rejected \(not_a_partition\)"):
        table.delete("id = 3")


def test_changes_go_through_a_bus_where_there_is_one(spark: "SparkSession", lake: LocalLake, bus: str) -> None:
    HeadgateTable.forPath(spark, lake.uri, bus=bus).delete("region = 'us'")
    spark.conf.set("spark.headgate.bus", bus)
    try:
        HeadgateTable.forPath(spark, lake.uri).restoreToVersion(2)
        headgate.spark.sql(spark, f"DROP HEADGATE PARTITIONS FROM '{lake.uri}' WHERE region = 'eu'")
    finally:
        spark.conf.unset("spark.headgate.bus")
    for version in (3, 4, 5):
        record = commit_record(lake.table.reader.actions(version))
        assert record is not None
        assert record.settled is not None, "a committer decided it"


def test_a_table_has_the_name_that_a_view_gives_it(spark: "SparkSession", lake: LocalLake) -> None:
    headgate.spark.read(spark, lake.uri).createOrReplaceTempView("named_lake")
    assert HeadgateTable.forName(spark, "named_lake").path == lake.uri
    with pytest.raises(InvalidInput, match="forPath"):
        HeadgateTable.forName(spark, f"'{lake.uri}'")


def test_where_there_is_no_table_there_is_none(spark: "SparkSession", lake: LocalLake, tmp_path: Path) -> None:
    assert HeadgateTable.isHeadgateTable(spark, lake.uri)
    assert not HeadgateTable.isHeadgateTable(spark, str(tmp_path))
    with pytest.raises(TableNotFound):
        HeadgateTable.forPath(spark, str(tmp_path))
