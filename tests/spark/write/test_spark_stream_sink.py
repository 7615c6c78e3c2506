"""Streams into a table: each micro-batch is one version, exactly once, by the data source and by `foreachBatch` alike."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headgate.spark import sink
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.cleaning.orphans import is_data_key
from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.spark.streams import FileStream, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Write = Callable[["DataFrame"], "DataStreamWriter"]
FIRST = ((1, "a"), (2, "b"))
SECOND = ((3, "a"), (4, None))


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bus with a committer, for all tables of these tests."""
    address = f"sqlite:{tmp_path_factory.mktemp('bus') / 'bus.db'}"
    with a_committer(address):
        yield address


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


@pytest.fixture
def stream(spark: "SparkSession", tmp_path: Path) -> FileStream:
    found = FileStream(spark, tmp_path)
    found.add(*FIRST)
    found.add(*SECOND)
    return found


def source(uri: str, bus: str, **options: str) -> Write:
    named = {"bus": bus, "partitionBy": "k", **options}
    return lambda rows: rows.writeStream.format("headgate").options(path=uri, **named)


def native(uri: str, bus: str) -> Write:
    return lambda rows: rows.writeStream.foreachBatch(sink(uri, bus, native=True, partitionBy="k"))


def by_arrow(uri: str, bus: str) -> Write:
    return lambda rows: rows.writeStream.foreachBatch(sink(uri, bus, native=False, partitionBy="k"))


def files_in(uri: str) -> list[str]:
    keys = (path.relative_to(uri).as_posix() for path in Path(uri).rglob("*.parquet"))
    return sorted(key for key in keys if is_data_key(key))


def query_of(stream: FileStream) -> str:
    return str(json.loads((stream.checkpoint / "metadata").read_text())["id"])


@pytest.mark.parametrize("way", [source, native, by_arrow])
def test_a_batch_that_is_replayed_adds_no_row_again(
    way: Callable[[str, str], Write], stream: FileStream, uri: str, bus: str
) -> None:
    stream.run(way(uri, bus))
    assert Table.open(uri).version == 2, "the table, and a version for each batch"
    stream.forget_last_batch()
    stream.add((5, "a"))
    stream.run(way(uri, bus))
    assert rows_of(uri) == sorted([*FIRST, *SECOND, (5, "a")], key=repr)
    assert Table.open(uri).version == 3
    table = Table.open(uri)
    assert {key.partition("/")[0] for key in table.snapshot().paths()} == {
        "k=a",
        "k=b",
        "k=__HIVE_DEFAULT_PARTITION__",
    }
    assert len(files_in(uri)) == table.snapshot().num_files + 2, "the replayed batch has left two files without a name"


def test_a_query_that_begins_anew_writes_its_rows_anew(stream: FileStream, uri: str, bus: str, tmp_path: Path) -> None:
    stream.run(source(uri, bus))
    stream.checkpoint = tmp_path / "another checkpoint"
    stream.run(source(uri, bus))
    assert rows_of(uri) == sorted([*FIRST, *SECOND] * 2, key=repr)


def test_output_mode_complete_replaces_everything_with_each_batch(stream: FileStream, uri: str, bus: str) -> None:
    def counts(rows: "DataFrame") -> "DataStreamWriter":
        counted = rows.groupBy("k").count().coalesce(1)
        return counted.writeStream.outputMode("complete").format("headgate").options(path=uri, bus=bus, partitionBy="")

    stream.run(counts)
    assert rows_of(uri) == sorted([("a", 2), ("b", 1), (None, 1)], key=repr)


def test_a_stream_without_a_bus_is_refused_and_told_why(stream: FileStream, uri: str) -> None:
    from pyspark.errors import StreamingQueryException

    with pytest.raises(StreamingQueryException, match="needs the option bus: that a replayed batch is there already"):
        stream.run(lambda rows: rows.writeStream.format("headgate").option("path", uri))


def test_a_stream_does_not_guess_how_a_new_table_is_partitioned(stream: FileStream, uri: str, bus: str) -> None:
    from pyspark.errors import StreamingQueryException

    def write(rows: "DataFrame") -> "DataStreamWriter":
        return rows.writeStream.format("headgate").partitionBy("k").options(path=uri, bus=bus)

    with pytest.raises(StreamingQueryException, match=r"Spark drops partitionBy\(\) on streams without a word"):
        stream.run(write)
    assert not Path(uri).exists()


def test_a_stream_is_told_when_the_table_is_partitioned_otherwise(stream: FileStream, uri: str, bus: str) -> None:
    from pyspark.errors import StreamingQueryException

    Table.create(uri, "id BIGINT, k STRING")
    with pytest.raises(StreamingQueryException, match="is partitioned by nothing, the option partitionBy says k"):
        stream.run(source(uri, bus))


def test_what_spark_wrote_natively_has_counts_and_bounds(stream: FileStream, uri: str, bus: str) -> None:
    stream.run(native(uri, bus))
    entries = Table.open(uri).snapshot().files().to_pylist()
    told = sorted((entry["num_records"], dict(entry["min_values"])["id"]) for entry in entries)
    assert told == [(1, "1"), (1, "2"), (1, "3"), (1, "4")]


def test_what_a_killed_batch_has_left_goes_with_the_next(stream: FileStream, uri: str, bus: str) -> None:
    stream.run(native(uri, bus))
    left = Path(uri) / "_headgate" / "spark" / query_of(stream) / "of a killed attempt" / "part.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"unfinished")
    stream.add((5, "a"))
    stream.run(native(uri, bus))
    assert not left.exists()
    assert rows_of(uri) == sorted([*FIRST, *SECOND, (5, "a")], key=repr)


def test_odd_partition_values_written_natively_are_read_as_they_were(
    spark: "SparkSession", tmp_path: Path, uri: str, bus: str
) -> None:
    odd = ["a/b", "100%", "a%20b", " sp ace", "ünï😀", "k=v", "a:b*c?d\\e\"f'g#h", None]
    stream = FileStream(spark, tmp_path / "odd")
    stream.add(*enumerate(odd))
    stream.run(native(uri, bus))
    assert rows_of(uri) == sorted(enumerate(odd), key=repr)


def test_what_spark_would_not_check_is_left_to_arrow(stream: FileStream, uri: str, bus: str) -> None:
    Table.create(uri, "id BIGINT, k VARCHAR(3)")
    stream.run(lambda rows: rows.writeStream.foreachBatch(sink(uri, bus)))
    paths = Table.open(uri).snapshot().paths()
    assert paths
    assert not any(path.endswith(".snappy.parquet") for path in paths), "Spark's own names end so"
    assert [row[0] for row in rows_of(uri)] == [1, 2, 3, 4]


def test_a_sink_that_is_called_outside_of_a_stream_is_refused(spark: "SparkSession", uri: str, bus: str) -> None:
    with pytest.raises(InvalidInput, match="outside of a stream's foreachBatch"):
        sink(uri, bus)(spark.range(1), 0)


def test_a_sinks_mistyped_option_is_told_before_the_stream_begins(uri: str, bus: str) -> None:
    with pytest.raises(InvalidInput, match="did you mean partitionBy"):
        sink(uri, bus, partitionedBy="k")
