"""`sql`: operator statements in a Spark program, with the session's settings and catalog; results are DataFrames."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, assert_never

from headgate.commits import Commits
from headgate.spark.session_settings import session_settings
from headgate.spark.statements.arrow_frames import frame_of
from headgate.spark.statements.named_tables import path_of
from headgate.statements.execute import Executor
from headgate.statements.forms import is_operator_statement
from headgate.statements.parse import parse_statement
from headgate.statements.statements import InvalidateCache, MergeSplits, RepairLog, Statement, TableName, TablePath
from headgate_schemas.ambient import SystemAmbient

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ALL_TABLES = "/"
"""Instead of a path, for the settings of a statement that names no table."""


def sql(
    session: "SparkSession",
    statement: str,
    args: Any = None,
    *,
    bus: str | None = None,
    options: Mapping[str, str] | None = None,
    **kwargs: Any,
) -> "DataFrame":
    """Run an operator statement, such as "COMPACT HEADGATE 's3://lake/events'"; any other text is Spark's own to run.

    It is done when this returns, and its result is a DataFrame with the documented columns. Tables are named by paths, or
    by names in the session's catalog. With the address of a `bus` (or `spark.headgate.bus`), what changes a table is
    proposed there. `options` are those of `format("headgate")`, over the session's settings.

    Raises as `headgate.sql` does, and what Spark raises for its own statements.
    """
    if is_operator_statement(statement):
        return run_statement(session, parse_statement(statement), statement, bus=bus, options=options)
    from headgate.spark.statements.path_queries import run_query

    return run_query(session, type(session).sql.__get__(session), statement, args, kwargs, options)


def run_statement(
    session: "SparkSession",
    statement: Statement,
    text: str = "",
    *,
    bus: str | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """Run a parsed statement; `text` is its original text."""
    resolved, uri = _resolved(session, statement)
    settings = session_settings(session, uri, options)
    ambient = SystemAmbient()
    with Commits(bus or settings.bus, settings.store, ambient) as commits:
        executor = Executor(settings.store, settings.table, ambient, commits=commits)
        return frame_of(session, executor.run(resolved, text))


def _resolved(session: "SparkSession", statement: Statement) -> tuple[Statement, str]:
    """The statement with the path of its table in place of the name, and that path."""
    match statement:
        case RepairLog(source):
            return statement, source
        case MergeSplits(target=None) | InvalidateCache(target=None):
            return statement, _ALL_TABLES
        case _:
            pass
    target = statement.target
    match target:
        case TablePath(path):
            return statement, path
        case TableName(parts):
            path = path_of(session, parts)
            return replace(statement, target=TablePath(path)), path
        case None:
            raise AssertionError("statements without a table were looked at before")
        case _:
            assert_never(target)
