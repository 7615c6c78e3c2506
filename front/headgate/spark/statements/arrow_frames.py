"""Converts the results of statements from Arrow tables to DataFrames of the session."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(session: "SparkSession", table: pa.Table) -> "DataFrame":
    """A DataFrame with the table's rows, columns and types. The session holds the rows, so the result never changes."""
    return session.createDataFrame(table)
