"""`headgate table checkpoint|compact|purge|truncate-history|drop-partitions`: the upkeep of a table.

Each is an operator statement by another name, and prints what that answers.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.given import DryRun, Uri, duration_hours
from headgate.cli.session import CHANGES_A_TABLE, Session, command, fail

if TYPE_CHECKING:
    from headgate.statements.statements import Statement

_RETENTION = "Such as 7d or 24h."


def register(tables: typer.Typer) -> None:
    command(tables, "checkpoint", checkpoint)
    command(tables, "compact", compact, also=CHANGES_A_TABLE)
    command(tables, "purge", purge, also=CHANGES_A_TABLE)
    command(tables, "truncate-history", truncate_history)
    command(tables, "drop-partitions", drop_partitions, also=CHANGES_A_TABLE)


def checkpoint(session: Session, uri: Uri) -> None:
    """Write a state of the newest version.

    Readers of that version then need no version files.
    """
    from headgate.statements.statements import Checkpoint, TablePath

    session.output.one(outcome(session, Checkpoint(TablePath(uri)), "Writing a state ..."))


def compact(session: Session, uri: Uri) -> None:
    """Sort manifests and drop tombstones."""
    from headgate.statements.statements import Compact, TablePath

    session.output.one(outcome(session, Compact(TablePath(uri)), "Compacting ..."))


def purge(
    session: Session,
    uri: Uri,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help=f"Data files that nothing names go from this age. {_RETENTION}"
        ),
    ] = None,
    log_retention: Annotated[
        str | None, typer.Option("--log-retention", metavar="AGE", help=f"Version files go from this age. {_RETENTION}")
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Delete what expired and what nothing names.

    Expired versions and states go, then manifests and data files that nothing retained names.
    """
    hours = None if older_than is None else duration_hours(older_than, "--older-than")
    log_hours = None if log_retention is None else duration_hours(log_retention, "--log-retention")
    from headgate.statements.statements import Purge, TablePath

    statement = Purge(TablePath(uri), hours, log_hours, dry_run)
    found = outcome(session, statement, "Purging ...")
    session.output.one(found)
    if found["status"] == "PARTIAL_SUCCESS":
        raise fail(found["message"])


def truncate_history(session: Session, uri: Uri, dry_run: DryRun = False) -> None:
    """Forget earlier versions; live files stay."""
    from headgate.statements.statements import TablePath, TruncateTimeTravel

    session.output.one(outcome(session, TruncateTimeTravel(TablePath(uri), dry_run), "Truncating ..."))


def drop_partitions(
    session: Session,
    uri: Uri,
    where: Annotated[
        str, typer.Option("--where", metavar="EXPR", help="Over partition columns, such as \"date < '2024-01-01'\".")
    ],
) -> None:
    """Remove every file of the partitions that match."""
    from headgate.statements.statements import DropPartitions, TablePath

    session.output.one(outcome(session, DropPartitions(TablePath(uri), where), "Dropping ..."))


def outcome(session: Session, statement: "Statement", what: str) -> dict[str, Any]:
    """The only row of a statement's result, with its metrics among the other columns; its failure is ours."""
    from headgate.statements.execute import Executor, failure

    with session.output.working(what), session.committing() as commits:
        executor = Executor(session.loaded.store, session.loaded.table, session.ambient, commits=commits)
        result = executor.run(statement)
    (row,) = result.to_pylist(maps_as_pydicts="lossy")
    message = failure(row)
    if message is not None:
        raise fail(message)
    return {key: value for key, value in row.items() if key != "metrics"} | (row.get("metrics") or {})
