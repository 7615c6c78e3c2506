"""Tables as streams of changes in a real session: exactly once, whatever happens to the query, and errors that help."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headgate.spark
from support.spark.local_lake import LocalLake

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

LIMIT_S = 120


class Stopped(Exception):
    """What a test's sink raises in the middle of a batch."""


class Query:
    """A stream over one table with one checkpoint, started as often as a test wants. Batches are kept by their number."""

    def __init__(self, session: "SparkSession", lake: LocalLake, folder: Path, **options: str) -> None:
        self._session = session
        self._uri = lake.uri
        self._checkpoint = str(folder / "checkpoint")
        self.options = options
        self.batches: dict[int, list[Row]] = {}
        self.fails_in: int | None = None

    def run(self) -> "list[list[Row]]":
        """Read what is there; the rows of the batches that are new, and what ends the query is raised."""
        known = set(self.batches)
        source = headgate.spark.read_stream(self._session, self._uri, options=self.options)
        query = (
            source.writeStream.foreachBatch(self._take)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            assert query.awaitTermination(LIMIT_S), "the query comes to its end"
        finally:
            query.stop()
        return [rows for number, rows in sorted(self.batches.items()) if number not in known]

    def failure(self) -> str:
        """What ends the query."""
        from pyspark.errors import StreamingQueryException

        with pytest.raises(StreamingQueryException) as raised:
            self.run()
        return str(raised.value)

    def _take(self, batch: "DataFrame", number: int) -> None:
        self.batches[number] = batch.collect()
        if self.fails_in == number:
            self.fails_in = None
            raise Stopped


Start = Callable[..., Query]


@pytest.fixture
def lake(tmp_path: Path) -> LocalLake:
    return LocalLake(tmp_path / "table")


@pytest.fixture
def start(spark: "SparkSession", lake: LocalLake, tmp_path: Path) -> Iterator[Start]:
    def new_query(**options: str) -> Query:
        return Query(spark, lake, tmp_path, **options)

    yield new_query
    for query in spark.streams.active:
        query.stop()


def _ids(rows: "list[Row]") -> list[int]:
    return sorted(row["id"] for row in rows)


def test_a_query_that_is_started_again_and_again_has_every_row_once(start: Start, lake: LocalLake) -> None:
    lake.append(lake.file(1), lake.file(2, 3), lake.file(4, region="us"))
    query = start(maxFilesPerTrigger="2")
    assert [len(batch) for batch in query.run()] == [3, 1]
    lake.add(5)
    lake.append(lake.file(6), lake.file(7), lake.file(8))
    query.fails_in = 3
    query.failure()  # in the second batch, in the middle of a version, and after its rows were seen
    failed = query.batches[3]
    lake.add(9)
    lake.delete("region = 'us'")
    query.options["ignoreDeletes"] = "true"
    query.run()
    assert query.batches[3] == failed
    assert _ids([row for batch in query.batches.values() for row in batch]) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_a_change_feed_has_rows_that_came_and_rows_that_went_and_none_that_were_only_rewritten(
    spark: "SparkSession", start: Start, lake: LocalLake
) -> None:
    small = [lake.file(1), lake.file(2)]
    lake.append(*small, lake.file(3, region="us"))
    lake.rewrite(*small, into=lake.file(1, 2))
    lake.delete("region = 'us'")
    options = {"readChangeFeed": "true", "startingVersion": "1"}
    (batch,) = start(**options).run()
    found = sorted((row["id"], row["region"], row["_change_type"], row["_commit_version"]) for row in batch)
    assert found == [(1, "eu", "insert", 1), (2, "eu", "insert", 1), (3, "us", "delete", 3), (3, "us", "insert", 1)]
    times = {entry.version: entry.time for entry in lake.table.history()}
    assert {(row["_commit_version"], int(row["_commit_timestamp"].timestamp() * 1000 + 0.5)) for row in batch} == {
        (version, times[version]) for version in (1, 3)
    }
    at_once = spark.read.format("headgate").options(**options).load(lake.uri)
    assert sorted(at_once.collect()) == sorted(batch)


def test_a_removal_ends_a_query_that_was_not_told_what_to_do(start: Start, lake: LocalLake) -> None:
    lake.add(1)
    lake.delete("region = 'eu'")
    said = start(startingVersion="1").failure()
    assert "version 2" in said
    assert "ignoreDeletes=true" in said
