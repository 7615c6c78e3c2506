"""Batches in Spark: writing a DataFrame, and reading what was written, by Headgate and by Spark's own Parquet."""

import itertools
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import headgate
import headgate.spark
from parts.processors import Processors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET = "parquet"
COLUMNS = (
    "id",
    "CAST(id % 100000 AS INT) AS customer",
    "id * 0.01D AS amount",
    "concat('order ', id % 1000003) AS text",
    "timestamp_micros(1700000000000000 + id * 1000) AS at",
    "CAST(id % 7 AS STRING) AS region",
)
TYPES = "id BIGINT, customer INT, amount DOUBLE, text STRING, at TIMESTAMP, region STRING"
TASKS = 2
SELECTED = 500
"""One row in so many is selected."""
REGIONS = 100
"""Folders that files whose reading is planned lie in."""
PLANNED_ROWS = 100
"""Of each of these files."""


@dataclass(frozen=True)
class Figure:
    """One line of a table: seconds of each run, by the clock and of all processors together."""

    work: str
    engine: str
    seconds: tuple[float, ...]
    processor_s: tuple[float, ...]
    result: str

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    @property
    def processor_median_s(self) -> float:
        return statistics.median(self.processor_s)


Work = Callable[[], str]
"""Does it, and tells what came of it."""


def measure(work: str, engines: Mapping[str, tuple[Callable[[], object], Work]], runs: int) -> list[Figure]:
    """Each engine in turn, and that several times: what disturbs the machine disturbs them all. The first round warms up."""
    seconds: dict[str, list[float]] = {engine: [] for engine in engines}
    processor_s: dict[str, list[float]] = {engine: [] for engine in engines}
    results: dict[str, str] = {}
    processors = Processors()
    for turn in range(runs + 1):
        for engine, (prepare, do) in engines.items():
            prepare()
            spent_s, start = processors.spent_s(), time.perf_counter()
            results[engine] = do()
            took = time.perf_counter() - start
            if turn:
                seconds[engine].append(took)
                processor_s[engine].append(processors.spent_s() - spent_s)
    return [
        Figure(work, engine, tuple(seconds[engine]), tuple(processor_s[engine]), results[engine]) for engine in engines
    ]


def rows_of(spark: "SparkSession", rows: int) -> "DataFrame":
    return spark.range(0, rows, 1, TASKS).selectExpr(*COLUMNS)


def writes(spark: "SparkSession", scratch: Path, rows: int, runs: int, bus: str) -> list[Figure]:
    """Each time into a table, or a folder, that is new and empty."""
    # Of its own each time: what was told of a table isn't forgotten when somebody deletes it.
    places = (scratch / f"written-{number}" for number in itertools.count())
    place = next(places)

    def empty() -> None:
        nonlocal place
        shutil.rmtree(place, ignore_errors=True)
        place = next(places)

    def new_table() -> None:
        empty()
        headgate.Table.create(str(place), TYPES)

    def plainly() -> str:
        rows_of(spark, rows).write.parquet(str(place))
        return _held(place)

    def by_source(**options: str) -> str:
        rows_of(spark, rows).write.format("headgate").mode("append").options(**options).save(str(place))
        return _held(place)

    def by_function(*, native: bool | None = None) -> str:
        headgate.spark.write(rows_of(spark, rows), str(place), native=native)
        return _held(place)

    return measure(
        "write",
        {
            PARQUET: (empty, plainly),
            "headgate, data source": (new_table, by_source),
            "headgate, data source, by Kafka": (new_table, lambda: by_source(bus=bus)),
            "headgate.spark.write": (new_table, by_function),
            "headgate.spark.write, Arrow": (new_table, lambda: by_function(native=False)),
        },
        runs,
    )


def reads(spark: "SparkSession", scratch: Path, rows: int, runs: int) -> Iterable[Figure]:
    """All of them read the same files: those of a table, which for plain Parquet is a folder."""
    table = str(scratch / "read")
    headgate.Table.create(table, TYPES)
    headgate.spark.write(rows_of(spark, rows), table)
    first, last = rows // 2, rows // 2 + max(1, rows // SELECTED) - 1
    sources: dict[str, Callable[[], DataFrame]] = {
        PARQUET: lambda: spark.read.parquet(table),
        "headgate.spark.read": lambda: headgate.spark.read(spark, table),
        "headgate, data source": lambda: spark.read.format("headgate").load(table),
    }
    queries: dict[str, Callable[[DataFrame], str]] = {
        "read all columns": _all_columns,
        "read one column": lambda found: f"sum {found.selectExpr('sum(customer)').first()[0]:,}",  # type: ignore[index]  # one row, always
        "count": lambda found: f"{found.count():,} rows",
        "read selected rows": lambda found: f"{len(found.where(f'id BETWEEN {first} AND {last}').collect()):,} rows",
    }
    for work, query in queries.items():
        yield from measure(
            work,
            {
                engine: (lambda: None, lambda query=query, source=source: query(source()))  # type: ignore[misc]  # bound per turn
                for engine, source in sources.items()
            },
            runs,
        )


def plans(spark: "SparkSession", scratch: Path, files: int, runs: int) -> list[Figure]:
    """Until Spark knows which files its tasks read; it reads none. Plain Parquet is told its columns, and lists its folders."""
    table = scratch / "many"
    opened = headgate.Table.create(str(table), TYPES, ["region"])
    rows_of(spark, PLANNED_ROWS).drop("region").coalesce(1).write.parquet(str(scratch / "one"))
    (one,) = (scratch / "one").glob("*.parquet")
    regions = [f"region={number}" for number in range(REGIONS)]
    for region in regions:
        (table / region).mkdir()
    paths = [f"{regions[number % REGIONS]}/{number}.parquet" for number in range(files)]
    for path in paths:
        os.link(one, table / path)
    size, modified_ms = one.stat().st_size, one.stat().st_mtime_ns // 1_000_000
    opened.append(
        [
            headgate.DataFile(
                path=path,
                size=size,
                modification_time=modified_ms,
                partition_values={"region": str(number % REGIONS)},
                num_records=PLANNED_ROWS,
            )
            for number, path in enumerate(paths)
        ]
    )
    opened.checkpoint()
    sources: dict[str, Callable[[], DataFrame]] = {
        PARQUET: lambda: spark.read.schema(TYPES).parquet(str(table)),
        "headgate.spark.read": lambda: headgate.spark.read(spark, str(table)),
    }
    return measure(
        "plan",
        {
            engine: (lambda: None, lambda source=source: _planned(source()))  # type: ignore[misc]  # bound per turn
            for engine, source in sources.items()
        },
        runs,
    )


def _planned(found: "DataFrame") -> str:
    tasks = found._jdf.queryExecution().toRdd().getNumPartitions()
    return f"{len(found._jdf.inputFiles()):,} files, {tasks:,} tasks"


def _all_columns(found: "DataFrame") -> str:
    found.write.format("noop").mode("overwrite").save()
    return "every value"


def _held(folder: Path) -> str:
    files = [path for path in folder.rglob("*.parquet") if "_transaction_log" not in path.parts]
    return f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:,.0f} MB"
