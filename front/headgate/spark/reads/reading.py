"""`headgate.spark.read`: a version of a table as a DataFrame that Spark reads itself. The log gives the files, so
nothing is listed.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate.spark.places import spark_root
from headgate.spark.reads.manifest_reading import ManifestsOnSpark
from headgate.spark.reads.native_scan import NativeScanUnavailable, native_frame
from headgate.spark.reads.packed_files import packed_files
from headgate.spark.reads.plain_scan import is_plain, parquet_frame
from headgate.spark.reads.row_conditions import row_condition
from headgate.spark.reads.unpushed_columns import column_named, without_pushing_floats
from headgate.spark.session_settings import session_options, session_settings
from headgate_schemas import arguments
from headgate_schemas.arguments import checked
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.logs import get_logger
from headgate_schemas.predicates.format import format_predicate
from headgate_schemas.predicates.text import parse_predicate
from headgate_schemas.predicates.tree import Predicate
from headgate_schemas.predicates.tree import columns as columns_of
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.indextables.read.rows.scan import check_readable
from headgate_table.indextables.read.snapshot import LogSnapshot
from headgate_table.interface.readable_rows import checked_columns
from headgate_table.interface.snapshot import Snapshot
from headgate_table.table import Table
from pyspark_headgate.row_types import arrow_columns, spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = get_logger("headgate.spark")

_FILE_COLUMNS = ("path", "partition_values", "size", "modification_time")


@checked(
    uri=arguments.address,
    where=arguments.predicate,
    version=arguments.whole,
    timestamp=arguments.time,
    columns=arguments.texts,
    distributed=arguments.flag,
)
def read(
    spark: "SparkSession",
    uri: str,
    where: str | Predicate | None = None,
    version: int | None = None,
    timestamp: int | str | None = None,
    columns: Sequence[str] | None = None,
    *,
    options: Mapping[str, str] | None = None,
    distributed: bool | None = None,
) -> "DataFrame":
    """The rows of a table at a version, at a time (ISO 8601 or epoch ms), or now; `where` keeps those that match.

    Spark reads the files by its own settings of their store; `options`, as of `format("headgate")`, are for the log. Where a
    session can't be handed a list of files (Spark Connect, an unknown Spark), they are read by `read.parquet`, or else by
    `format("headgate")`, and a warning says so.

    With a `where`, the manifests of a giant table are decoded on executors (`distributed`: always, or never).

    Columns are nullable, as Spark has those of all files. Raises what reading a table raises.
    """
    settings = session_settings(spark, uri, options)
    table = Table.open(uri, settings.store, settings=settings.table)
    predicate = parse_predicate(where) if isinstance(where, str) else where
    snapshot = _snapshot(spark, table.snapshot(version, timestamp), table, where, distributed)
    metadata = snapshot.metadata
    files = snapshot.files(_FILE_COLUMNS)
    check_readable(uri, metadata, files)
    schema = spark_schema(metadata.schema_string, uri, all_nullable=True)
    names = None if columns is None else checked_columns(columns, schema.names)
    kinds = kinds_of(column_kinds(metadata.schema_string))
    looked_at = {*metadata.partition_columns, *(columns_of(predicate) if predicate is not None else ())}
    arrow = arrow_columns(metadata.schema_string, looked_at)
    shape = RowShape(arrow, {name: kinds[name] for name in metadata.partition_columns})
    root = spark_root(spark, uri, settings.store)
    try:
        packed = packed_files(files, shape, uri)
        partitions = type(schema)([schema[name] for name in metadata.partition_columns])
        found = native_frame(spark, root, schema, partitions, packed, f"{table.uri}@{snapshot.version}")
    except NativeScanUnavailable as reason:
        listed = is_plain(root, files, shape, uri)
        _log.warning(
            "native_scan_unavailable", table=uri, reason=str(reason), instead="parquet" if listed else "headgate"
        )
        if listed:
            found = parquet_frame(spark, root, schema, snapshot.paths())
        else:
            found = _by_source(spark, uri, snapshot.version, predicate, options)
    if predicate is not None:
        found = found.where(row_condition(predicate, arrow, kinds))
    found = without_pushing_floats(found, schema)
    return found if names is None else found.select(*map(column_named, names))


def _snapshot(
    spark: "SparkSession", whole: Snapshot, table: Table, where: str | Predicate | None, distributed: bool | None
) -> Snapshot:
    match distributed:
        case True:
            return LogSnapshot(
                table.reader, whole.log, where, ManifestsOnSpark(spark, least_entries=0, everything=True)
            )
        case False:
            return LogSnapshot(table.reader, whole.log, where)
        case None:
            return LogSnapshot(table.reader, whole.log, where, ManifestsOnSpark(spark))


def _by_source(
    spark: "SparkSession", uri: str, version: int, predicate: Predicate | None, options: Mapping[str, str] | None
) -> "DataFrame":
    own = {key: text for key, text in session_options(spark, uri, options).items() if key != "path"}
    own["versionAsOf"] = str(version)
    if predicate is not None:
        own["where"] = format_predicate(predicate)
    return spark.read.format("headgate").options(**own).load(uri)
