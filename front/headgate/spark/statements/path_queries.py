"""Queries that name tables by their paths: each such place becomes a DataFrame of one version, and Spark runs the rest."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headgate.spark.session_settings import session_settings
from headgate.spark.statements.path_reads import PathRead, path_reads, replaced
from headgate.statements.forms import leading_words
from headgate.table import Table
from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RunSql = Callable[..., "DataFrame"]
"""`SparkSession.sql` as Spark has it."""

_NAME = "headgate_path_{}"
_VIEW_WITHIN_WORDS = 6
"""CREATE OR REPLACE GLOBAL TEMPORARY VIEW."""


def run_query(
    session: "SparkSession",
    run: RunSql,
    text: str,
    args: Any,
    kwargs: Mapping[str, Any],
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """The result of `run` for a text that may name tables as ``headgate.`uri` [VERSION|TIMESTAMP AS OF …]``.

    Raises Spark's errors for the text, `StatementError` for an unsupported use of a path, and the errors of reading.
    """
    reads = path_reads(text)
    if not reads:
        return run(text, args, **kwargs)
    if _keeps_text(text):
        views = [_kept_view(session, run, read, options) for read in reads]
        return run(_with_views(text, reads, views), args, **kwargs)
    # A table that is named twice has the same version in both places.
    named = {read.meant: read for read in reads}
    name_of = {meant: _NAME.format(number) for number, meant in enumerate(named)}
    taken = sorted(kwargs.keys() & set(name_of.values()))
    if taken:
        raise InvalidInput(f"the name {taken[0]!r} stands for a table in this query: call the argument otherwise")
    frames = {name_of[meant]: _frame(session, run, read, options) for meant, read in named.items()}
    with_names = replaced(text, reads, [name_of[read.meant] for read in reads], is_format=bool(kwargs))
    return run(with_names, args, **kwargs, **frames)


def _keeps_text(text: str) -> bool:
    """Whether Spark keeps the query as text, and parses it again at each use."""
    first = leading_words(text, _VIEW_WITHIN_WORDS)
    keeps = not {"VIEW", "FUNCTION"}.isdisjoint(first)
    return first[:1] == ["CACHE"] or (first[:1] in (["CREATE"], ["ALTER"]) and keeps)


def _frame(session: "SparkSession", run: RunSql, read: PathRead, options: Mapping[str, str] | None) -> "DataFrame":
    from headgate.spark import read as read_table

    time_ms = None if read.time is None else _time_ms(run, read.time)
    return read_table(session, read.uri, version=read.version, timestamp=time_ms, options=options)


def _time_ms(run: RunSql, expression: str) -> int:
    """The time of the expression, in the session's time zone if it names none."""
    (row,) = run(f"SELECT unix_millis(CAST({expression} AS TIMESTAMP))").collect()
    if row[0] is None:
        raise InvalidInput(f"TIMESTAMP AS OF {expression} is no time: Spark takes it for NULL")
    return int(row[0])


def _kept_view(session: "SparkSession", run: RunSql, read: PathRead, options: Mapping[str, str] | None) -> str:
    """A temporary view that stays with the session, for queries that Spark parses again later: always the same version."""
    settings = session_settings(session, read.uri, options)
    time_ms = None if read.time is None else _time_ms(run, read.time)
    table = Table.open(read.uri, settings.store, settings=settings.table)
    version = table.snapshot(read.version, time_ms).version
    what = json.dumps([table.uri, table.metadata.id, version])
    name = _NAME.format(hashlib.sha256(what.encode()).hexdigest()[:16])
    _frame(session, run, replace(read, version=version, time=None), options).createOrReplaceTempView(name)
    return name


def _with_views(text: str, reads: list[PathRead], views: list[str]) -> str:
    parts: list[str] = []
    at = 0
    for read, view in zip(reads, views, strict=True):
        parts += [text[at : read.start], view]
        at = read.end
    return "".join([*parts, text[at:]])
