"""The reader of changes as Spark uses it, driven by hand: offsets out, tasks out, rows from a pickled reader. Without a session."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headgate_schemas.errors import HeadgateError, InvalidInput
from pyspark_headgate.changes.stream import ChangeStreamReader
from pyspark_headgate.executor.file_rows import UnreadableFile
from pyspark_headgate.source import HeadgateSource
from support.merging import put_file, rows_table
from support.spark.local_lake import LocalLake

if TYPE_CHECKING:
    from pyspark.sql.datasource import InputPartition

Row = dict[str, Any]


@pytest.fixture
def lake(tmp_path: Path) -> LocalLake:
    return LocalLake(tmp_path / "table")


def _reader(lake: LocalLake, columns: str | None = None, **options: str) -> ChangeStreamReader:
    source = HeadgateSource({"path": lake.uri, **options})
    schema = source.schema()
    assert isinstance(schema, StructType)
    wanted = StructType([field for field in schema.fields if columns is None or field.name in columns.split()])
    reader = source.streamReader(wanted)
    assert isinstance(reader, ChangeStreamReader)
    return reader


def _rows(reader: Any, tasks: "Sequence[InputPartition]") -> list[Row]:
    """What executors make of the tasks."""
    return [row for task in tasks for batch in _sent(reader).read(_sent(task)) for row in batch.to_pylist()]


def _sent(what: Any) -> Any:
    """As it arrives on an executor."""
    return pickle.loads(pickle.dumps(what))  # noqa: S301 - it was made just here


def _all(reader: ChangeStreamReader) -> list[Row]:
    start = reader.initialOffset()
    return _rows(reader, reader.partitions(start, reader.latestOffset(start, ReadAllAvailable())))


def test_rows_have_the_values_of_their_partition_and_of_their_change(lake: LocalLake) -> None:
    lake.add(1, region="us")
    (row,) = _all(_reader(lake, startingVersion="1", readChangeFeed="true"))
    assert {name: value for name, value in row.items() if name != "_commit_timestamp"} == {
        "id": 1,
        "text": "text 1",
        "region": "us",
        "_change_type": "insert",
        "_commit_version": 1,
    }
    assert round(row["_commit_timestamp"].timestamp() * 1000) == lake.table.history(1)[0].time


def test_only_the_columns_that_are_asked_for_are_read(lake: LocalLake) -> None:
    lake.add(1, 2)
    reader = _reader(lake, "id _commit_version", startingVersion="1", readChangeFeed="true")
    assert _all(reader) == [{"id": 1, "_commit_version": 1}, {"id": 2, "_commit_version": 1}]


def test_a_batch_is_bounded_unless_everything_is_asked_for(lake: LocalLake) -> None:
    lake.append(*(lake.file(number) for number in range(5)))
    reader = _reader(lake, maxFilesPerTrigger="2")
    limit = reader.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxFiles)
    start = reader.initialOffset()
    first = reader.latestOffset(start, limit)
    everything = reader.latestOffset(first, ReadAllAvailable())
    counts = [len(_rows(reader, reader.partitions(*pair))) for pair in ((start, first), (first, everything))]
    assert counts == [2, 3]
    assert everything == reader.reportLatestOffset()


def test_nothing_new_is_no_task(lake: LocalLake) -> None:
    lake.add(1)
    reader = _reader(lake, startingVersion="latest")
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    assert list(reader.partitions(start, start)) == []


def test_a_query_of_what_is_available_ends_where_the_table_was(lake: LocalLake) -> None:
    lake.add(1)
    reader = _reader(lake)
    assert isinstance(reader, SupportsTriggerAvailableNow)
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    lake.add(2)
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert [row["id"] for row in _rows(reader, reader.partitions(start, end))] == [1]
    assert reader.latestOffset(end, reader.getDefaultReadLimit()) == end


def test_a_removed_file_that_was_deleted_since_can_not_be_a_change(lake: LocalLake) -> None:
    file = lake.file(1)
    lake.append(file)
    lake.delete("region = 'eu'")
    lake.table.store.delete([file.path])
    with pytest.raises(UnreadableFile, match=rf"{file.path} of .* is missing.*removed from the table since"):
        _all(_reader(lake, startingVersion="2", readChangeFeed="true"))


def test_columns_that_came_later_are_read_by_the_query_that_is_started_again(lake: LocalLake) -> None:
    lake.add(1)
    reader = _reader(lake)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    lake.table.alter(schema="id BIGINT, text STRING, region STRING, more STRING")
    lake.add(2)
    with pytest.raises(HeadgateError, match=r"columns of .* have changed"):
        reader.latestOffset(end, ReadAllAvailable())
    again = _reader(lake)
    rows = _rows(again, again.partitions(end, again.latestOffset(end, ReadAllAvailable())))
    assert rows == [{"id": 2, "text": "text 2", "region": "eu", "more": None}]


def test_a_feed_that_is_read_at_once_ends_with_the_version_that_is_read(lake: LocalLake) -> None:
    for number in range(1, 4):
        lake.add(number)
    source = HeadgateSource({"path": lake.uri, "readChangeFeed": "true", "startingVersion": "2", "versionAsOf": "2"})
    schema = source.schema()
    assert isinstance(schema, StructType)
    reader = source.reader(schema)
    assert [row["id"] for row in _rows(reader, reader.partitions())] == [2]


def test_a_table_with_a_column_of_the_feed_has_no_feed(tmp_path: Path, lake: LocalLake) -> None:
    lake.table.alter(schema="id BIGINT, text STRING, region STRING, _change_type STRING")
    with pytest.raises(InvalidInput, match="column '_change_type' of its own"):
        HeadgateSource({"path": lake.uri, "readChangeFeed": "true"}).schema()


def test_a_file_without_a_column_is_read_with_nulls(lake: LocalLake) -> None:
    lake.append(put_file(lake.table, "region=eu/narrow.parquet", rows_table(1, 1).select(["id"])))
    assert _all(_reader(lake)) == [{"id": 1, "text": None, "region": "eu"}]
