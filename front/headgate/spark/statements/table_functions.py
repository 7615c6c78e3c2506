"""Table functions of plain SQL: `SELECT * FROM headgate_history('s3://lake/events')`, and `_files`, `_state`, `_log`,
`_changes`.

They only read, because Spark runs a function lazily and at each run of a query. It does so in a Python process of an
executor, where Headgate must be installed, with the session's settings at the time of the registration.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headgate.spark.session_settings import session_options
from headgate.spark.statements import table_facts
from headgate.statements.arrow_columns import result_of, result_schema
from headgate.statements.statements import DescribeLog, DescribeState
from headgate_schemas.errors import InvalidInput
from headgate_table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Options = Mapping[str, str]
_Row = tuple[Any, ...]

_BATCH_ROWS = 4096
"""Rows turned into Python's values at a time."""
_ANY_STORE = "s3://"
"""The settings of every store are taken along: which tables will be asked for, nobody knows yet."""


def register_functions(session: "SparkSession", options: Options | None = None) -> None:
    """Register the table functions in the session's SQL; the last registration counts."""
    from pyspark.sql.functions import udtf
    from pyspark.sql.pandas.types import from_arrow_schema

    taken = session_options(session, _ANY_STORE, options)
    del taken["path"]
    for name, schema, function in (
        ("headgate_history", table_facts.HISTORY, _history(taken)),
        ("headgate_files", table_facts.FILES, _files(taken)),
        ("headgate_state", result_schema(DescribeState), _state(taken)),
        ("headgate_log", result_schema(DescribeLog), _log(taken)),
        ("headgate_changes", table_facts.CHANGES, _changes(taken)),
    ):
        made: Any = udtf(function, returnType=from_arrow_schema(schema))  # another class on Spark Connect
        session.udtf.register(name, made)


# Spark takes classes, makes an object of each without arguments, and calls `eval` with the query's arguments: its
# parameter names are those of the function. Each registration makes its own class, which holds the options.


def _history(options: Options) -> type:
    class HeadgateHistory:
        def eval(self, path: str, limit: int | None = None) -> Iterator[_Row]:
            yield from _rows(table_facts.history(_opened(options, path), limit))

    return HeadgateHistory


def _files(options: Options) -> type:
    class HeadgateFiles:
        def eval(self, path: str, version: int | None = None, where: str | None = None) -> Iterator[_Row]:
            yield from _rows(table_facts.files(_opened(options, path), version, where))

    return HeadgateFiles


def _state(options: Options) -> type:
    class HeadgateState:
        def eval(self, path: str) -> Iterator[_Row]:
            yield from _rows(_described(_opened(options, path)))

    return HeadgateState


def _log(options: Options) -> type:
    class HeadgateLog:
        def eval(self, path: str, include_all: bool = False) -> Iterator[_Row]:
            from headgate.statements.execute import describe_log

            yield from _rows(describe_log(_opened(options, path), include_all=bool(include_all)))

    return HeadgateLog


def _changes(options: Options) -> type:
    class HeadgateChanges:
        def eval(self, path: str, since: int, until: int | None = None) -> Iterator[_Row]:
            yield from _rows(table_facts.changes(_opened(options, path), since, until))

    return HeadgateChanges


def _opened(options: Options, path: str | None) -> Table:
    from pyspark_headgate.effective_settings import effective
    from pyspark_headgate.options import SourceOptions

    if not path:
        raise InvalidInput("the path of the table is missing: headgate_history('s3://bucket/table')")
    settings = effective(SourceOptions.of({**options, "path": path}))
    return Table.open(path, settings.store, settings=settings.table)


def _described(table: Table) -> pa.Table:
    described = table.describe(skips=False)
    return result_of(DescribeState, [{name: described[name] for name in result_schema(DescribeState).names}])


def _rows(table: pa.Table) -> Iterator[_Row]:
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        for row in batch.to_pylist(maps_as_pydicts="lossy"):
            yield tuple(row.values())
