"""Writes a table's files by Spark's own Parquet writer: into a folder of its own, then renamed into place.

Only on local and mounted file systems, where renaming is cheap, and only if Spark's files equal Headgate's;
`why_not_native` decides. Arrow writes all others.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from headgate.spark.writes.copied_session import SessionCopy
from headgate_producer.errors import WriteRefused
from headgate_schemas.columns.column_names import name_key
from headgate_table.data_file import DataFile
from headgate_table.store.local.leftovers import STAGING
from headgate_table.store.paths import is_hidden_folder
from pyspark_headgate.executor.fsync import make_durable
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write.plan import WritePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FOOTER_READERS = 8
"""Footers read at once, from local files."""
MAX_FILES = 200_000
"""Of one batch: as many as a proposal names."""

_CODECS = {"lz4": "lz4_raw", "none": "uncompressed"}
"""Spark's names where they differ."""


def why_not_native(session: "SparkSession", rows: "DataFrame", given: SourceOptions, plan: WritePlan) -> str | None:
    """The reason why Spark's own writer can't be used; None if it can."""
    if getattr(session, "sparkContext", None) is None:
        return "on Spark Connect the driver has no hand in it"
    if plan.parts.place.kind != "local":
        return "on an object store each of Spark's renames is a copy"
    if given.target_file_bytes is not None:
        return "Spark's writer knows no target size"
    held = [*plan.parts.data, *plan.parts.partition]
    if any((field.metadata or {}).get(b"spark.type") for field in held):
        return "the table has texts of limited length, which Spark's writer doesn't check"
    may_be_null = {name_key(field.name): field.nullable for field in rows.schema.fields}
    if any(not field.nullable and may_be_null[name_key(field.name)] for field in held):
        return "the table has columns that are NOT NULL, which Spark's writer doesn't check"
    return None


def native_files(
    rows: "DataFrame", given: SourceOptions, plan: WritePlan, staging_name: str, copy: SessionCopy
) -> list[DataFile]:
    """The rows as files in their places, with statistics from their footers.

    Only one attempt at a time may use a `staging_name`. The next attempt with the same name, or cleaning, removes the
    leftovers of a killed one. Raises `SessionNotCopied` if the session's settings don't fit and this Spark can't change
    them for one write.
    """
    root = plan.parts.place.root
    folder = os.path.join(root, STAGING, staging_name)
    shutil.rmtree(folder, ignore_errors=True)
    staging = os.path.join(folder, plan.parts.job)
    shaped = _in_shape(rows, plan)
    changed = _settings_to_change(rows.sparkSession, plan)
    writer = (
        (copy.of(shaped, changed) if changed else shaped)
        .write.mode("errorifexists")
        .option("compression", _CODECS.get(given.compression, given.compression))
        # For timestamps in the names of folders.
        .option("timeZone", "UTC")
        # The other algorithm moves files into place whose tasks may still fail.
        .option("mapreduce.fileoutputcommitter.algorithm.version", "1")
    )
    if plan.parts.partition.names:
        writer = writer.partitionBy(*plan.parts.partition.names)
    try:
        writer.parquet(f"file://{staging}")
        found = list(_data_files(staging))
        if len(found) > MAX_FILES:
            raise WriteRefused(
                f"a batch falls into {len(found)} files, more than {MAX_FILES} (MAX_FILES): repartition it by the partition columns of "
                f"{root}"
            )
        with ThreadPoolExecutor(FOOTER_READERS, thread_name_prefix="headgate-footers") as readers:
            return list(readers.map(lambda path: _into_place(plan, staging, path), found))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings_to_change(session: "SparkSession", plan: WritePlan) -> dict[str, str]:
    """The settings that make Spark's files equal Headgate's: decimals, dates and timestamps as every reader reads them,
    with statistics.
    """
    wanted = {"spark.sql.parquet.writeLegacyFormat": "false"}
    if any(_holds(field.type, _is_time) for field in plan.parts.data):
        wanted["spark.sql.parquet.datetimeRebaseModeInWrite"] = "CORRECTED"
    if any(_holds(field.type, _is_moment) for field in plan.parts.data):
        wanted["spark.sql.parquet.outputTimestampType"] = "TIMESTAMP_MICROS"
    return {name: value for name, value in wanted.items() if str(session.conf.get(name)).casefold() != value.casefold()}


def _in_shape(rows: "DataFrame", plan: WritePlan) -> "DataFrame":
    """The table's columns in its types and order."""
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    table_types = StructType.fromJson(json.loads(plan.schema_string))
    given = rows.schema.fields
    columns = []
    for name in [*plan.parts.data.names, *plan.parts.partition.names]:
        source = given[plan.parts.sources[name]]
        column = functions.col("`" + source.name.replace("`", "``") + "`")
        wanted = table_types[name].dataType
        columns.append((column if source.dataType == wanted else column.cast(wanted)).alias(name))
    return rows.select(*columns)


def _data_files(staging: str) -> Iterator[str]:
    """Paths below `staging`. Spark's committer uses names that begin with an underscore or a dot for itself."""
    for place, folders, names in os.walk(staging):
        folders[:] = [folder for folder in folders if not is_hidden_folder(folder)]
        for name in names:
            if not name.startswith(("_", ".")):
                yield os.path.relpath(os.path.join(place, name), staging)


def _into_place(plan: WritePlan, staging: str, path: str) -> DataFile:
    """Moves the files into place. Spark's names contain an id of the job, so they never collide."""
    place = plan.parts.place
    target = place.path(path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.rename(os.path.join(staging, path), target)
    if place.durable:
        make_durable(target)
    return DataFile.of_parquet(path, root=place.root)


def _holds(type_: pa.DataType, is_wanted: Callable[[pa.DataType], bool]) -> bool:
    if types.is_nested(type_):
        return any(_holds(type_.field(place).type, is_wanted) for place in range(type_.num_fields))
    return is_wanted(type_)


def _is_moment(type_: pa.DataType) -> bool:
    return bool(types.is_timestamp(type_) and type_.tz is not None)


def _is_time(type_: pa.DataType) -> bool:
    return bool(types.is_date(type_) or types.is_timestamp(type_))
