"""A program on Spark Connect: what of Headgate works there, found out in one session of its own process.

`python -m support.spark.connect_program FOLDER` prints what it found, as the last line, in JSON.
"""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headgate.spark
from headgate.spark import HeadgateTable
from headgate_schemas.errors import InvalidInput
from support.processes.isolated import module_path
from support.spark.local_lake import LocalLake
from support.spark.session import LOOPBACK, spark_settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LIMIT_S = 120


def connected(folder: Path) -> "SparkSession":
    """A session of Spark Connect, with its server beside it on a port that was free."""
    from pyspark.sql import SparkSession

    os.environ |= headgate.spark.local_environment() | {
        "PYTHONPATH": module_path(),
        "SPARK_LOCAL_IP": LOOPBACK,
        # Without it the port is a fixed one.
        "SPARK_TESTING": "1",
    }
    builder = SparkSession.builder.remote("local[2]")
    for key, value in (spark_settings(folder) | {"spark.connect.grpc.binding.address": LOOPBACK}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def findings(spark: "SparkSession", lake: LocalLake, folder: Path) -> dict[str, Any]:
    from pyspark.errors import ParseException

    found: dict[str, Any] = {"session": type(spark).__module__}
    source = spark.read.format("headgate")
    source.load(lake.uri).selectExpr("id + 10 AS id", "text", "region").write.format("headgate").mode("append").save(
        lake.uri
    )
    found["written"] = _ids(source.load(lake.uri))
    compacted = headgate.spark.sql(spark, f"COMPACT HEADGATE '{lake.uri}'")
    found["statement"] = [compacted.dtypes[2], compacted.collect()[0]["status"]]
    headgate.spark.enable(spark)
    found["path"] = _ids(
        spark.sql(f"SELECT id FROM headgate.`{lake.uri}` VERSION AS OF 1 WHERE id > :least", {"least": 1})
    )
    found["function"] = [
        row["version"] for row in spark.sql(f"SELECT version FROM headgate_history('{lake.uri}')").collect()
    ]
    found["table"] = HeadgateTable.forPath(spark, lake.uri).delete("region = 'us'").collect()[0]["version"]
    found["stream"] = _streamed(spark, lake, folder)
    spark.sql(f"CREATE TEMPORARY VIEW v USING headgate OPTIONS (path '{lake.uri}')")
    try:
        spark.sql("COMPACT HEADGATE v")
    except InvalidInput as error:
        found["name"] = str(error)
    try:
        spark.sql("SELEC 1").collect()
    except ParseException as error:
        found["parse error"] = error.getCondition()
    return found


def _streamed(spark: "SparkSession", lake: LocalLake, folder: Path) -> list[list[Any]]:
    query = (
        spark.readStream.format("headgate")
        .options(readChangeFeed=True, startingVersion=1)
        .load(lake.uri)
        .writeStream.format("memory")
        .queryName("changes")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(LIMIT_S), "the query comes to its end"
    return sorted([row["id"], row["_change_type"]] for row in spark.table("changes").collect())


def _ids(frame: "DataFrame") -> list[int]:
    return sorted(row["id"] for row in frame.collect())


def main(folder: Path) -> None:
    lake = LocalLake(folder / "table")
    lake.add(1, 2)
    lake.add(3, region="us")
    spark = connected(folder)
    try:
        found = findings(spark, lake, folder)
    finally:
        spark.stop()
    print(json.dumps(found))  # noqa: T201 - what the test reads


if __name__ == "__main__":
    main(Path(sys.argv[1]))
