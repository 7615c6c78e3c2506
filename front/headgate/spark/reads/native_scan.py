"""A DataFrame over known files: Spark's own vectorised Parquet reader, without a listing.

Spark has no public way to do that. This module owns the private parts that it uses (a subclass of Spark's file index,
compiled by Spark's own compiler), and reports a Spark with different ones.
"""

from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from headgate.spark.reads.packed_files import PackedFiles

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_SOURCE = "HeadgateFileIndex.java"
_CLASS = "org.headgate.spark.HeadgateFileIndex"

_INDEX_OPTIONS = {
    # Spark skips files and folders whose names begin with "_" or "."; a log lists only files that count.
    "ignoredPathSegmentRegex": "(?!)",
}
_READ_OPTIONS = {
    # Files without a writer's name are read unchanged, as by every other reader of a table.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}

_compiled: "WeakKeyDictionary[SparkContext, Any]" = WeakKeyDictionary()
"""The class of each JVM."""


class NativeScanUnavailable(Exception):
    """This Spark doesn't accept a list of files. The message gives the reason."""


def native_frame(
    spark: "SparkSession",
    root: str,
    schema: "StructType",
    partition_columns: "StructType",
    packed: PackedFiles,
    identity: str,
) -> "DataFrame":
    """The rows of the packed files below `root`, an address in Spark's file systems.

    Spark treats DataFrames with the same `identity` and files as the same. Raises `NativeScanUnavailable`.
    """
    try:
        from py4j.protocol import Py4JError
        from pyspark.sql import DataFrame
    except ModuleNotFoundError as error:
        raise NativeScanUnavailable("only the client of Spark Connect is installed") from error
    classic: Any = spark
    if not hasattr(classic, "_jsparkSession"):
        raise NativeScanUnavailable("a session of Spark Connect has no JVM of its own")
    try:
        session, jvm = classic._jsparkSession, classic._jvm
        index = _new_index(classic, root, partition_columns, packed, identity)
        shown = index.shown()
        if shown != packed.files:
            raise NativeScanUnavailable(
                f"Spark would hide {packed.files - shown} of {packed.files} files, by their names or sizes"
            )
        sources = jvm.org.apache.spark.sql.execution.datasources
        relation = sources.HadoopFsRelation(
            index,
            index.partitionSchema(),
            _java_type(jvm, schema),
            jvm.scala.Option.empty(),
            sources.parquet.ParquetFileFormat(),
            _scala_map(jvm, _READ_OPTIONS),
            session,
        )
        return DataFrame(session.baseRelationToDataFrame(relation), classic)
    except (Py4JError, TypeError, AttributeError) as error:
        # py4j treats an unknown name as a package, which can't be called.
        raise NativeScanUnavailable(_first_line(error)) from error


def _new_index(spark: Any, root: str, partition_columns: "StructType", packed: PackedFiles, identity: str) -> Any:
    context, jvm = spark.sparkContext, spark._jvm
    given = (
        spark._jsparkSession,
        _scala_map(jvm, _INDEX_OPTIONS),
        f"{identity}/{packed.digest}",
        root,
        _java_type(jvm, partition_columns),
        bytearray(packed.data),
    )
    arguments = context._gateway.new_array(jvm.java.lang.Object, len(given))
    for place, argument in enumerate(given):
        arguments[place] = argument
    return _index_class(spark).getConstructors()[0].newInstance(arguments)


def _index_class(spark: Any) -> Any:
    found = _compiled.get(spark.sparkContext)
    if found is None:
        compiler = spark._jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(spark._jsparkSession.getClass().getClassLoader())
        compiler.cook(package_files(__package__).joinpath(_SOURCE).read_text("utf-8"))
        found = compiler.getClassLoader().loadClass(_CLASS)
        _compiled[spark.sparkContext] = found
    return found


def _java_type(jvm: Any, schema: "StructType") -> Any:
    return jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())


def _scala_map(jvm: Any, texts: dict[str, str]) -> Any:
    found = jvm.java.util.HashMap()
    for key, text in texts.items():
        found.put(key, text)
    maps = getattr(getattr(jvm.scala.collection.immutable, "Map$"), "MODULE$")
    return getattr(maps, "from")(jvm.scala.jdk.javaapi.CollectionConverters.asScala(found))


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # The first line of py4j's message names the call, the second the error.
    return " ".join(lines[:2])[:500] or type(error).__name__
