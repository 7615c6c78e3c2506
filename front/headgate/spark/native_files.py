"""Spark's own Parquet writer for files of a table: into a folder of its own, and by renaming to where the table has them.

Only where renaming is free, on local and mounted file systems, and where Spark's files would be as ours: `why_not_native`
says which. Everything else is written by Arrow.
"""

import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

from headgate_producer.errors import WriteRefused
from headgate_table.data_file import DataFile, partition_values_in
from pyspark_headgate.after_written import stored_text
from pyspark_headgate.durable import make_durable
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write_plan import WritePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGING = "_headgate/spark"
"""Below the table: a folder for each query, which at most one batch of it uses. What a killed one left goes with the next."""
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
    may_be_null = {field.name.casefold(): field.nullable for field in rows.schema.fields}
    if any(not field.nullable and may_be_null[field.name.casefold()] for field in held):
        return "the table has columns that are NOT NULL, which Spark's writer doesn't check"
    if _setting(session, "spark.sql.parquet.writeLegacyFormat", "false") != "false":
        return "spark.sql.parquet.writeLegacyFormat is set"
    if any(_has_moments(field.type) for field in plan.parts.data):
        kind = _setting(session, "spark.sql.parquet.outputTimestampType", "INT96")
        if kind.upper() != "TIMESTAMP_MICROS":
            return f"spark.sql.parquet.outputTimestampType is {kind}, by which timestamps have no statistics"
        if _setting(session, "spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED").upper() == "LEGACY":
            return "spark.sql.parquet.datetimeRebaseModeInWrite is LEGACY"
    if any(_has_moments(field.type) for field in plan.parts.partition):
        zone = _setting(session, "spark.sql.session.timeZone", "")
        if zone not in ("UTC", "Etc/UTC", "Z"):
            return f"partitions by a timestamp would be named in the session's time zone, {zone}"
    return None


def native_files(rows: "DataFrame", given: SourceOptions, plan: WritePlan, query: str) -> list[DataFile]:
    """The rows as files in their places, with statistics out of their footers. One attempt of a query at a time."""
    root = plan.parts.place.root
    folder = os.path.join(root, STAGING, query)
    shutil.rmtree(folder, ignore_errors=True)
    staging = os.path.join(folder, plan.parts.job)
    writer = (
        _in_shape(rows, plan)
        .write.mode("errorifexists")
        .option("compression", _CODECS.get(given.compression, given.compression))
        # The other algorithm moves files of tasks into place that fail afterwards.
        .option("mapreduce.fileoutputcommitter.algorithm.version", "1")
    )
    if plan.parts.partition.names:
        writer = writer.partitionBy(*plan.parts.partition.names)
    writer.parquet(f"file://{staging}")
    found = list(_data_files(staging))
    if len(found) > MAX_FILES:
        raise WriteRefused(
            f"a batch falls into {len(found)} files, more than {MAX_FILES} (MAX_FILES): repartition it by the partition columns of {root}"
        )
    with ThreadPoolExecutor(FOOTER_READERS, thread_name_prefix="headgate-footers") as readers:
        files = list(readers.map(lambda path: _into_place(plan, staging, path), found))
    shutil.rmtree(folder, ignore_errors=True)
    return files


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
    values = {column: stored_text(text) for column, text in partition_values_in(path).items()}
    return DataFile.of_parquet(path, root=place.root, partition_values=values)


def _has_moments(type_: pa.DataType) -> bool:
    if types.is_nested(type_):
        return any(_has_moments(type_.field(place).type) for place in range(type_.num_fields))
    return bool(types.is_timestamp(type_))


def _setting(session: "SparkSession", key: str, default: str) -> str:
    return str(session.conf.get(key, default))
