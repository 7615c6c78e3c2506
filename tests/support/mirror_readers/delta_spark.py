"""Delta's connector for Spark: the jars that the lock beside this module names, which PySpark doesn't bring along, and its settings."""

import json
from pathlib import Path

import pyarrow.parquet as pq

from support.servers.maven_jars import locked_jars, provide_jars
from support.spark.session import local_settings

VERSION = "4.4.0"
LOCK = Path(__file__).with_name(f"delta-spark-{VERSION}.lock")


def delta_settings(folder: Path, cache: Path | None = None) -> dict[str, str]:
    """Of a session that reads Delta; what it writes besides goes into the folder."""
    jars = provide_jars("delta-spark", VERSION, LOCK, cache)
    return local_settings(folder) | {
        "spark.master": "local[1]",
        "spark.jars": ",".join(str(jars / jar.file_name) for jar in locked_jars(LOCK.read_text())),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # By default a log of any size is read by fifty tasks.
        "spark.databricks.delta.snapshotPartitions": "1",
    }


def opens(path: Path) -> bool:
    """Whether Spark reads such a file: it refuses times in nanoseconds, but for those of the old type INT96."""
    schema = pq.ParquetFile(path).schema
    kinds = (json.loads(schema.column(index).logical_type.to_json()) for index in range(len(schema)))
    return not any(kind.get("timeUnit") == "nanoseconds" for kind in kinds)
