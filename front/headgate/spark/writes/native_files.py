"""Spark's own Parquet writer for files of a table: into a folder of its own, and by renaming to where the table has them.

Only where renaming is free, on local and mounted file systems, and where Spark's files would be as ours: `why_not_native`
says which. Everything else is written by Arrow.
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
    """Why Spark's own writer wouldn't do; None where it does."""
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
    """The rows as files in their places, with statistics out of their footers.

    `staging_name` is of one attempt at a time. What a killed one has left goes with the next of that name, or by cleaning.
    Raises `SessionNotCopied` where the session's settings won't do and this Spark lets nobody change them for one write.
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
        # Of moments in the names of folders.
        .option("timeZone", "UTC")
        # The other algorithm moves files of tasks into place that fail afterwards.
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
    """By which Spark's files become as ours: decimals, dates and timestamps as every reader takes them, with statistics."""
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
    """Paths below `staging`. What Spark's committer keeps for itself begins with an underscore or a dot."""
    for place, folders, names in os.walk(staging):
        folders[:] = [folder for folder in folders if "=" in folder or not folder.startswith(("_", "."))]
        for name in names:
            if not name.startswith(("_", ".")):
                yield os.path.relpath(os.path.join(place, name), staging)


def _into_place(plan: WritePlan, staging: str, path: str) -> DataFile:
    """Spark's names hold an id of the job, so that they meet no others."""
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
