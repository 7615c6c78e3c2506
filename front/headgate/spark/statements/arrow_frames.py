"""Results of statements as Spark sees them: an Arrow table as a DataFrame of the session."""

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(session: "SparkSession", table: pa.Table) -> "DataFrame":
    """A DataFrame with the table's rows, columns and types. The rows are in the session, so that it never changes."""
    return session.createDataFrame(table)
