"""A Spark program of its own whose executors have nothing but the zip file of the data source: writes, streams and reads.

`python -m support.spark.bare_driver FOLDER` prints what it found, as one line of JSON. Its executors' Python and its submit
arguments come from the environment.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import headgate
import headgate.spark
from support.spark.session import spark_settings

ROWS = 100
PARTS = 2


def on_executor(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Which of our packages a task can import, and from where."""
    import importlib.util

    for _ in batches:
        for name in ("headgate", "headgate_schemas", "headgate_table", "pydantic", "fastavro", "pyspark_headgate"):
            spec = importlib.util.find_spec(name)
            yield pa.RecordBatch.from_pylist([{"name": name, "origin": spec.origin if spec else None}], NAMES)


NAMES = pa.schema([("name", pa.string()), ("origin", pa.string())])


def main(folder: Path) -> dict[str, object]:
    os.environ |= headgate.spark.local_environment()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for key, value in spark_settings(folder).items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    jvm = spark.sparkContext._jvm
    assert jvm is not None, "a session of this process"
    found: dict[str, object] = {"java": jvm.System.getProperty("java.home")}
    import pyspark_headgate

    spark.dataSource.register(pyspark_headgate.DefaultSource)
    one = spark.range(1, numPartitions=1)
    found["imports"] = {
        row.name: row.origin for row in one.mapInArrow(on_executor, "name string, origin string").collect()
    }

    table = str(folder / "table")
    rows = spark.range(0, ROWS, 1, PARTS).selectExpr("id", "concat('text ', id) AS text", "id % 2 AS part")
    rows.write.format("headgate").mode("append").option("partitionBy", "part").save(table)
    found["written"] = headgate.Table.open(table).snapshot().num_records
    found["read"] = spark.read.format("headgate").load(table).where("part = 1").count()

    bus = f"sqlite://{folder}/bus.db"
    with headgate.committing(bus):
        query = (
            spark.readStream.format("headgate")
            .load(table)
            .selectExpr("id + 1000 AS id", "text", "part")
            .writeStream.format("headgate")
            .option("bus", bus)
            .option("partitionBy", "part")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(folder / "copy"))
        )
        query.awaitTermination()
    found["streamed"] = headgate.Table.open(str(folder / "copy")).snapshot().num_records
    spark.stop()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))) + "\n")
