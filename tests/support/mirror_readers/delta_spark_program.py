"""A program that reads mirrors by Delta's own connector for Spark. It runs where a Spark that the connector supports is installed.

Its argument is the session's settings, as JSON.
"""

import json
import sys
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import SparkSession

from support.mirror_readers.answering import Read, serve


def open_spark() -> Read:
    builder: SparkSession.Builder = SparkSession.builder
    for name, value in json.loads(sys.argv[1]).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()

    def read(uri: str, version: int, columns: Sequence[str]) -> pa.Table:
        return session.read.format("delta").option("versionAsOf", str(version)).load(uri).toArrow()

    return read


if __name__ == "__main__":
    serve(open_spark)
