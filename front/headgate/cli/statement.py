"""`headgate sql`: runs any operator statement, without Spark."""

from typing import Annotated

import typer

from headgate.cli.table.reading import LOG_SHOWN, LOG_SPARE
from headgate.cli.terminal.session import CHANGES_A_TABLE, UNKNOWN, Session, command, fail


def register(app: typer.Typer) -> None:
    command(app, "sql", sql, also=CHANGES_A_TABLE)


def sql(
    session: Session,
    statement: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENT", help="The statement, such as \"DESCRIBE HEADGATE STATE 's3://lake/events'\"."
        ),
    ],
) -> None:
    """Run an operator statement.

    The statements are CHECKPOINT, COMPACT, DESCRIBE STATE, DESCRIBE TRANSACTION LOG, PURGE, TRUNCATE TIME TRAVEL, DROP
    PARTITIONS, MERGE SPLITS, REPAIR and INVALIDATE TRANSACTION LOG CACHE. Write a table as its path, in quotes.
    """
    from headgate.statements.execute import Executor, failure
    from headgate.statements.parse import parse_statement
    from headgate.statements.statements import DescribeLog

    parsed = parse_statement(statement)
    with session.output.working(f"{type(parsed).__name__} ..."), session.committing() as commits:
        executor = Executor(session.loaded.store, session.loaded.table, session.ambient, commits=commits)
        result = executor.run(parsed, statement)
    if isinstance(parsed, DescribeLog):
        session.output.rows(result, result.column_names, shown=LOG_SHOWN, spare=LOG_SPARE)
        return
    rows = result.to_pylist(maps_as_pydicts="lossy")
    if len(rows) == 1 and session.output.is_for_people:
        session.output.one(rows[0])
    else:
        session.output.rows(rows, result.column_names)
    for row in rows:
        message = failure(row)
        if message is not None:
            raise fail(message)
        told = row.get("metrics")
        if isinstance(told, dict) and told["status"] == "pending":
            raise fail(told["message"], UNKNOWN)
