"""Micro-batches in Spark: how long one takes with its receipt, and how many rows a second a stream takes with large ones.

The time of a micro-batch is Spark's own (`triggerExecution`): from its beginning, with what Spark itself logs, to its end.
"""

import shutil
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import headgate
import headgate.spark
from parts.processors import Processors
from parts.spark_batch import COLUMNS, PARQUET, TASKS, TYPES, Figure

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

TURNS = 3
"""Queries of each engine."""
WARM_UP = 5
"""Batches of each query that don't count."""
LIMIT_S = 900
LOOK_S = 1
"""Between two looks at processes, which take along what they spent when they end."""

Start = Callable[["DataFrame", str, str], "StreamingQuery"]
"""With rows, the address of a table, and a checkpoint."""


def streams(spark: "SparkSession", scratch: Path, work: str, rows: int, batches: int, bus: str) -> Iterable[Figure]:
    """So many micro-batches with so many rows by each engine, in `TURNS` queries: what disturbs the machine disturbs them all."""

    def plainly(found: "DataFrame", table: str, checkpoint: str) -> "StreamingQuery":
        return _stream(found, checkpoint).format("parquet").start(table)

    def in_batches(found: "DataFrame", table: str, checkpoint: str) -> "StreamingQuery":
        def put(batch: "DataFrame", _: int) -> None:
            batch.write.mode("append").parquet(table)

        return _stream(found, checkpoint).foreachBatch(put).start()

    def by_source(found: "DataFrame", table: str, checkpoint: str) -> "StreamingQuery":
        headgate.Table.create(table, TYPES)
        return _stream(found, checkpoint).format("headgate").option("bus", bus).start(table)

    def by_sink(found: "DataFrame", table: str, checkpoint: str, native: bool | None = None) -> "StreamingQuery":
        headgate.Table.create(table, TYPES)
        return _stream(found, checkpoint).foreachBatch(headgate.spark.sink(table, bus, native=native)).start()

    engines: dict[str, Start] = {
        PARQUET: plainly,
        "parquet, in foreachBatch": in_batches,
        "headgate, data source": by_source,
        "headgate.spark.sink": by_sink,
        "headgate.spark.sink, Arrow": lambda found, table, checkpoint: by_sink(found, table, checkpoint, native=False),
    }
    ids = scratch / f"{work}-ids"
    count = max(1, batches // TURNS) + WARM_UP
    spark.range(0, rows * count, 1, TASKS * count).write.parquet(str(ids))
    seconds: dict[str, list[float]] = {engine: [] for engine in engines}
    processor_s: dict[str, list[float]] = {engine: [] for engine in engines}
    for turn in range(TURNS):
        for number, (engine, start) in enumerate(engines.items()):
            folder = scratch / f"{work}-{turn}-{number}"
            processors = Processors()
            before_s = processors.spent_s()
            query = start(_rows(spark, ids), str(folder / "table"), str(folder / "checkpoint"))
            seconds[engine] += _seconds(query, engine, processors)
            # Of the whole query, by its micro-batches.
            processor_s[engine].append((processors.spent_s() - before_s) / count)
            shutil.rmtree(folder)
    for engine, took in seconds.items():
        result = f"{rows / statistics.median(took):,.0f} rows/s"
        yield Figure(work, engine, tuple(took), tuple(processor_s[engine]), result)


def _stream(found: "DataFrame", checkpoint: str) -> "DataStreamWriter":
    """It ends by itself, when all that there is was taken."""
    return found.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)


def _rows(spark: "SparkSession", ids: Path) -> "DataFrame":
    """A micro-batch after the other, as fast as they are taken: two files each, for two tasks."""
    source = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", TASKS).parquet(str(ids))
    return source.selectExpr(*COLUMNS)


def _seconds(query: "StreamingQuery", engine: str, processors: Processors) -> tuple[float, ...]:
    """Of the micro-batches that count. Raises what ended the query."""
    deadline = time.monotonic() + LIMIT_S
    while not query.awaitTermination(LOOK_S):
        processors.spent_s()
        if time.monotonic() > deadline:
            query.stop()
            raise SystemExit(f"{engine} was not done in {LIMIT_S} s")
    found = {progress.batchId: progress.durationMs for progress in query.recentProgress if progress.numInputRows}
    return tuple(found[batch]["triggerExecution"] / 1000 for batch in sorted(found) if batch >= WARM_UP)
