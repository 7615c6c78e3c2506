"""`enable`: operator statements, tables named by paths, and table functions in a session's own `spark.sql`.

It wraps the method of that one session. Every other text reaches Spark unchanged, and so do Spark's own errors.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

from headgate.spark.statements.operator_sql import run_statement
from headgate.spark.statements.path_queries import run_query
from headgate.spark.statements.table_functions import register_functions
from headgate.statements.forms import is_operator_statement
from headgate.statements.parse import parse_statement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SQL = "sql"


def enable(
    session: "SparkSession", *, bus: str | None = None, options: Mapping[str, str] | None = None
) -> "SparkSession":
    """Let this session's `spark.sql` run operator statements, read ``headgate.`uri``` and know the table functions.

    `bus` and `options` are as for `headgate.spark.sql`. Enabled again, the last call counts. Other sessions, such as those
    of `newSession()`, are not touched. Returns the session.
    """
    disable(session)
    own: Callable[..., DataFrame] = session.sql

    @wraps(own)
    def enabled_sql(sqlQuery: str, args: Any = None, **kwargs: Any) -> "DataFrame":
        if is_operator_statement(sqlQuery):
            return run_statement(session, parse_statement(sqlQuery), sqlQuery, bus=bus, options=options)
        return run_query(session, own, sqlQuery, args, kwargs, options)

    register_functions(session, options)
    # An attribute of the object hides the method of its class.
    session.__dict__[_SQL] = enabled_sql
    return session


def disable(session: "SparkSession") -> None:
    """Give the session its own `sql` back. The table functions stay: Spark can't forget them."""
    session.__dict__.pop(_SQL, None)
