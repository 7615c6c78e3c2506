"""Finds the path of a name in a Spark session: a view of one table, or a table of the session's catalog.

A Spark Connect session doesn't show what its views and tables consist of.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headgate.spark.statements.path_reads import FORMAT
from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AS_IT_IS = frozenset({"SubqueryAlias", "View", "Project"})
"""What Spark puts around the table of a view. Anything else, such as a filter, makes a view another thing than its table."""


def path_of(session: "SparkSession", parts: Sequence[str]) -> str:
    """The path of the table with this name. Raises `InvalidInput` if Spark doesn't know it."""
    from pyspark.errors import AnalysisException

    if len(parts) == 2 and parts[0].lower() == FORMAT:
        return parts[1]
    shown, advice = ".".join(parts), f"Give the table's path, in quotes: 's3://bucket/{parts[-1]}'"
    name = ".".join(f"`{part.replace('`', '``')}`" for part in parts)
    try:
        frame: Any = session.table(name)
    except AnalysisException as error:
        raise InvalidInput(f"{shown} is no table or view of this session ({error.getCondition()}). {advice}") from error
    if not hasattr(frame, "_jdf"):
        raise InvalidInput(f"{shown} is a name, and Spark Connect doesn't say what its names stand for. {advice}")
    plan = frame._jdf.queryExecution().analyzed()
    found = _path_in(session, plan, name)
    if found is None:
        raise InvalidInput(
            f"{shown} is known to Spark, but not as a whole table in the format {FORMAT}: statements are for tables, not for "
            f"queries. {advice}"
        )
    return _plain(found)


def _path_in(session: "SparkSession", plan: Any, name: str) -> str | None:
    while plan.getClass().getSimpleName() in _AS_IT_IS:
        plan = plan.children().apply(0)
    match plan.getClass().getSimpleName():
        case "DataSourceV2Relation" if plan.table().name().lower() == FORMAT:
            path = plan.options().get("path")
            return _in_catalog(session, name) if path is None else str(path)
        case "LogicalRelation":
            return _of_native_scan(plan.relation())
        case _:
            return None


def _in_catalog(session: Any, name: str) -> str | None:
    """The catalog's own entry of a table, which readers don't get."""
    state = session._jsparkSession.sessionState()
    table = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))
    kept = table.properties().get("path")
    location = kept if kept.isDefined() else table.storage().locationUri()
    if not location.isDefined():
        return None
    # Hadoop's paths show the decoded characters of a URI.
    return str(session._jvm.org.apache.hadoop.fs.Path(location.get()).toString())


def _of_native_scan(relation: Any) -> str | None:
    """The folder of a scan by `headgate.spark.read`, which Spark takes for Parquet files in one folder."""
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return None
    roots = relation.location().rootPaths()
    return str(roots.apply(0).toString()) if roots.size() == 1 else None


def _plain(path: str) -> str:
    """Hadoop writes `file:/lake` for `/lake`."""
    return path.removeprefix("file:") if path.startswith("file:/") and not path.startswith("file://") else path
