"""The additional columns of a change feed, as values that executors can use without Headgate."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from headgate_schemas.errors import InvalidInput
from pyspark_headgate.changes.changed_files import FileChange

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"

CHANGE_COLUMNS = StructType(
    [
        StructField(CHANGE_TYPE, StringType()),
        StructField(COMMIT_VERSION, LongType()),
        StructField(COMMIT_TIMESTAMP, TimestampType()),
    ]
)
"""`insert` or `delete`; the version whose commit did it; and when that was."""


def with_change_columns(table: StructType, uri: str) -> StructType:
    """The columns of the feed. Raises `InvalidInput` for a table with columns of these names."""
    for name in CHANGE_COLUMNS.fieldNames():
        if name in table.fieldNames():
            raise InvalidInput(
                f"{uri} has a column {name!r} of its own, so that its change feed can't have one. Read it without readChangeFeed"
            )
    return StructType([*table.fields, *CHANGE_COLUMNS.fields])


def without_change_columns(schema: StructType) -> StructType:
    """The columns of the table alone."""
    return StructType([field for field in schema.fields if field.name not in CHANGE_COLUMNS.fieldNames()])


def files_of(changes: Sequence[FileChange]) -> pa.Table:
    """The files to read (path, partition_values, size), with the change's columns as constants of each."""
    return pa.table(
        {
            "path": pa.array([change.path for change in changes], pa.string()),
            "partition_values": pa.array(
                [list((change.partition_values or {}).items()) for change in changes], pa.map_(pa.string(), pa.string())
            ),
            "size": pa.array([change.size or 0 for change in changes], pa.int64()),
            CHANGE_TYPE: pa.array([change.type.value for change in changes], pa.string()),
            COMMIT_VERSION: pa.array([change.version for change in changes], pa.int64()),
            COMMIT_TIMESTAMP: pa.array([change.time_ms * 1000 for change in changes], pa.timestamp("us", tz="UTC")),
        }
    )
