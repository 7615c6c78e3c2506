"""The benchmark of Spark runs, and all its engines do the same work; what it measures here means nothing."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import headgate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
TIMESTAMPS = "spark.sql.parquet.outputTimestampType"
ROWS = 1_000


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Of the benchmark; it is found where the program would find it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("parts.spark_batch")


@pytest.fixture
def session(spark: "SparkSession") -> Iterator["SparkSession"]:
    """As the benchmark sets it."""
    spark.conf.set(TIMESTAMPS, "TIMESTAMP_MICROS")
    yield spark
    spark.conf.unset(TIMESTAMPS)


def test_every_way_to_write_writes_as_many_files(session: "SparkSession", part: ModuleType, tmp_path: Path) -> None:
    bus = f"sqlite://{tmp_path}/bus.db"
    with headgate.committing(bus):
        figures = part.writes(session, tmp_path, ROWS, 1, bus)
    assert [len(figure.seconds) for figure in figures] == [1, 1, 1, 1, 1]
    assert {figure.result for figure in figures} == {"2 files, 0 MB"}


def test_every_way_to_read_finds_the_same(session: "SparkSession", part: ModuleType, tmp_path: Path) -> None:
    results: dict[str, set[str]] = {}
    for figure in part.reads(session, tmp_path, ROWS, 1):
        results.setdefault(figure.work, set()).add(figure.result)
    assert results == {
        "read all columns": {"every value"},
        "read one column": {"sum 499,500"},
        "count": {"1,000 rows"},
        "read selected rows": {"2 rows"},
    }


def test_every_way_to_plan_finds_all_files(session: "SparkSession", part: ModuleType, tmp_path: Path) -> None:
    figures = part.plans(session, tmp_path, 300, 1)
    assert {figure.result for figure in figures} == {"300 files, 10 tasks"}


def test_every_stream_takes_all_its_batches(
    session: "SparkSession", part: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = importlib.import_module("parts.spark_streams")
    monkeypatch.setattr(streams, "WARM_UP", 1)
    monkeypatch.setattr(streams, "TURNS", 1)
    bus = f"sqlite://{tmp_path}/bus.db"
    with headgate.committing(bus):
        figures = list(streams.streams(session, tmp_path, "micro-batch", 10, 1, bus))
    assert [(figure.engine, len(figure.seconds)) for figure in figures] == [
        ("parquet", 1),
        ("parquet, in foreachBatch", 1),
        ("headgate, data source", 1),
        ("headgate.spark.sink", 1),
        ("headgate.spark.sink, Arrow", 1),
    ]
