"""The same rows by public means of Spark, for sessions without `native_scan`.

It uses `read.parquet` if that agrees with the log, and otherwise the data source.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.partition_text import stored_text
from headgate_table.indextables.read.rows.row_shape import RowShape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_GLOB = frozenset("*?[]{}\\")
"""What `read.parquet` takes for a pattern in a path."""
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_SAME_IN_FOLDERS = frozenset({ColumnKind.STRING, ColumnKind.INTEGER, ColumnKind.DATE, ColumnKind.BOOLEAN})
"""Kinds whose values Spark reads out of a folder's name just as we read them out of the log. Times depend on its zone."""


def parquet_frame(spark: "SparkSession", root: str, schema: "StructType", paths: list[str]) -> "DataFrame":
    """The rows of these files, which Spark lists again. Correct for files of which `is_plain` is true."""
    if not paths:
        return spark.createDataFrame([], schema)
    options = {"basePath": root, "datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
    reader = spark.read.schema(schema).options(**options)
    return reader.parquet(*(f"{root}/{path}" for path in paths))


def is_plain(root: str, files: pa.Table, shape: RowShape, table: str) -> bool:
    """Whether Spark derives from the names of these files (path, partition_values, size) the same values as the log
    has.
    """
    if not set(shape.partition_kinds.values()) <= _SAME_IN_FOLDERS or not _GLOB.isdisjoint(root):
        return False
    if 0 in files.column("size").to_pylist():  # Spark would skip it, but a damaged file must be an error
        return False
    return all(
        _is_plain(path, dict(pairs or ()), shape, table)
        for path, pairs in zip(
            files.column("path").to_pylist(), files.column("partition_values").to_pylist(), strict=True
        )
    )


def _is_plain(path: str, values: Mapping[str, str | None], shape: RowShape, table: str) -> bool:
    *folders, name = path.split("/")
    if not _GLOB.isdisjoint(path) or name.startswith(("_", ".")) or len(folders) != len(shape.partition_kinds):
        return False
    in_folders: dict[str, str | None] = {}
    for folder, column in zip(folders, shape.partition_kinds, strict=True):
        key, equals, text = folder.partition("=")
        if not equals or _as_spark_reads(key) != column or folder.startswith("."):
            return False
        in_folders[column] = stored_text(_as_spark_reads(text))
    return shape.partition_scalars(in_folders, table) == shape.partition_scalars(values, table)


def _as_spark_reads(name: str) -> str:
    """The path as Spark reads it: Spark undoes every escape of one byte, whoever wrote it."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), name)
