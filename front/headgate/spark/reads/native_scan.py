"""A DataFrame over files that are known already: Spark's own vectorised reader of Parquet, without any listing.

Spark has no public way for that. This module owns what it takes of its private parts (a subclass of its file index, compiled by the
compiler it brings along), and says so when a Spark has none of them or others.
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
    # Spark leaves out files and folders whose names begin with "_" or "."; a log lists what it means.
    "ignoredPathSegmentRegex": "(?!)",
}
_READ_OPTIONS = {
    # Files that name no writer are taken as they are, as every other reader of a table takes them.
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}

_compiled: "WeakKeyDictionary[SparkContext, Any]" = WeakKeyDictionary()
"""The class of each JVM."""


class NativeScanUnavailable(Exception):
    """This Spark can't be handed a list of files. The message says why."""


def native_frame(
    spark: "SparkSession",
    root: str,
    schema: "StructType",
    partition_columns: "StructType",
    packed: PackedFiles,
    identity: str,
) -> "DataFrame":
    """The rows of the packed files below `root`, an address that Spark's file systems understand.

    DataFrames of equal `identity` and files are the same to Spark. Raises `NativeScanUnavailable`.
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
        # A name that isn't there is a package to py4j, and a package can't be called.
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
    # The first line of what py4j says names the call, the second what went wrong there.
    return " ".join(lines[:2])[:500] or type(error).__name__
