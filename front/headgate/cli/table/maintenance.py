"""`headgate table checkpoint|compact|merge|purge|truncate-history|drop-partitions|bring-back|mirror`: maintain a table.

Each runs an operator statement and prints its result.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.terminal.given import DryRun, Uri, duration_hours, size_bytes
from headgate.cli.terminal.output import Format
from headgate.cli.terminal.session import CHANGES_A_TABLE, UNKNOWN, Session, command, fail

if TYPE_CHECKING:
    from headgate.statements.execute import Executor
    from headgate.statements.statements import Statement
    from headgate_table.indextables.cleaning.plan import Deletion

_RETENTION = "Such as 7d or 24h."


def register(tables: typer.Typer) -> None:
    command(tables, "checkpoint", checkpoint)
    command(tables, "compact", compact, also=CHANGES_A_TABLE)
    command(tables, "merge", merge, also=CHANGES_A_TABLE)
    command(tables, "purge", purge, also=CHANGES_A_TABLE)
    command(tables, "truncate-history", truncate_history, also=CHANGES_A_TABLE)
    command(tables, "drop-partitions", drop_partitions, also=CHANGES_A_TABLE)
    command(tables, "bring-back", bring_back)
    command(tables, "mirror", mirror)


def checkpoint(session: Session, uri: Uri) -> None:
    """Write a state of the newest version.

    Readers of that version then need no version files.
    """
    from headgate.statements.statements import Checkpoint, TablePath

    session.output.one(outcome(session, Checkpoint(TablePath(uri)), "Writing a state ..."))


def compact(session: Session, uri: Uri) -> None:
    """Compact the state: sort manifests and drop tombstones."""
    from headgate.statements.statements import Compact, TablePath

    session.output.one(outcome(session, Compact(TablePath(uri)), "Compacting ..."))


def merge(
    session: Session,
    uri: Uri,
    where: Annotated[
        str | None,
        typer.Option(
            "--where", metavar="EXPR", help="A predicate on partition columns, such as \"date = '2024-01-01'\"."
        ),
    ] = None,
    target_size: Annotated[
        str | None,
        typer.Option(
            "--target-size",
            metavar="SIZE",
            help="The size of merged files, such as 512M or 1G. Default: merge.targetSize, else 128M.",
        ),
    ] = None,
    max_outputs: Annotated[
        int | None, typer.Option("--max-outputs", metavar="N", help="Write at most this many files.", min=1)
    ] = None,
    max_sources: Annotated[
        int | None,
        typer.Option("--max-sources", metavar="N", help="Merge at most this many files into one.", min=2),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Merge small Parquet files into larger ones.

    It merges files of the same partition. Rows, their order and the schema stay the same. The exit code is 3 if the
    receipt of a merge did not come, so that its outcome is unknown.
    """
    size = None if target_size is None else size_bytes(target_size, "--target-size")
    from headgate.statements.statements import MergeSplits, TablePath
    from headgate_worker.merge.table_settings import UNASKED_TARGET_BYTES

    statement = MergeSplits(
        TablePath(uri),
        where,
        size,
        max_outputs,
        max_sources,
        dry_run=dry_run,
        default_size_bytes=UNASKED_TARGET_BYTES,
    )
    found = outcome(session, statement, "Merging ...")
    session.output.one(found)
    match found["status"]:
        case "partial_success":
            raise fail(found["message"])
        case "pending":
            raise fail(found["message"], UNKNOWN)


def purge(
    session: Session,
    uri: Uri,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help=f"Delete unneeded data files of at least this age. {_RETENTION}"
        ),
    ] = None,
    log_retention: Annotated[
        str | None,
        typer.Option("--log-retention", metavar="AGE", help=f"Delete version files of at least this age. {_RETENTION}"),
    ] = None,
    dry_run: DryRun = False,
    nothing_waits: Annotated[
        bool,
        typer.Option(
            "--nothing-waits",
            help="Delete data files without asking the table's bus. Only safe if no proposal waits there.",
        ),
    ] = False,
) -> None:
    """Delete expired versions and unneeded files.

    It deletes expired versions and states first, then manifests and data files that no retained version names. If the
    table is fed from a bus, it deletes data files only with --bus, because waiting proposals may need them. --dry-run
    lists the files.
    """
    hours = None if older_than is None else duration_hours(older_than, "--older-than")
    log_hours = None if log_retention is None else duration_hours(log_retention, "--log-retention")
    from headgate.statements.execute import purge_row
    from headgate.statements.statements import PurgeStatement, TablePath

    with executing(session, "Purging ...") as executor:
        found, report = executor.purge(PurgeStatement(TablePath(uri), hours, log_hours, dry_run, nothing_waits))
    _show_deletions(session, flat(purge_row(found, report)), report.deletions, listed=dry_run)
    if report.status == "PARTIAL_SUCCESS":
        raise fail(report.message)


def truncate_history(session: Session, uri: Uri, dry_run: DryRun = False) -> None:
    """Delete earlier versions. Live files stay. --dry-run lists the files to delete."""
    from headgate.statements.execute import truncate_row
    from headgate.statements.statements import TablePath, TruncateTimeTravel

    with executing(session, "Truncating ...") as executor:
        report = executor.truncate(TruncateTimeTravel(TablePath(uri), dry_run))
    if report.status == "ERROR":
        raise fail(report.message)
    _show_deletions(session, flat(truncate_row(report)), report.deletions, listed=dry_run)


def drop_partitions(
    session: Session,
    uri: Uri,
    where: Annotated[
        str,
        typer.Option(
            "--where", metavar="EXPR", help="A predicate on partition columns, such as \"date < '2024-01-01'\"."
        ),
    ],
) -> None:
    """Remove all files of the matching partitions."""
    from headgate.statements.statements import DropPartitions, TablePath

    session.output.one(outcome(session, DropPartitions(TablePath(uri), where), "Dropping ..."))


def bring_back(
    session: Session,
    uri: Uri,
    prefix: Annotated[
        str, typer.Argument(metavar="PREFIX", help="Only files with this path or prefix. Default: all files.")
    ] = "",
) -> None:
    """Move files back from the quarantine of a purge.

    No version names them. The exit code is 1 if another file has taken a name meanwhile.
    """
    found = session.open(uri).bring_back(prefix)
    rows = [{"path": path, "restored": True} for path in found.restored]
    rows += [{"path": path, "restored": False} for path in found.in_the_way]
    called = f" whose name begins with {prefix!r}" if prefix else ""
    session.output.rows(rows, ("path", "restored"), nothing=f"Nothing{called} is in quarantine.")
    if found.in_the_way:
        raise fail(
            f"{len(found.in_the_way)} files stay in quarantine, because something has their name, such as "
            f"{found.in_the_way[0]}; move that away first"
        )


def mirror(
    session: Session,
    uri: Uri,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Delete the Delta log first, whoever wrote to it, and make a new one."),
    ] = False,
) -> None:
    """Publish versions as a Delta log beside the table.

    Engines that read Delta can then read the table. No data is copied. If mirror.formats is delta, a worker does it after
    each commit.
    """
    table = session.open(uri)
    with session.output.working("Publishing ..."):
        published = table.mirror(rebuild=rebuild)
    session.output.one(
        {"version": published.version, "published": published.commits, "checkpoint": published.checkpoint}
    )


@contextmanager
def executing(session: Session, what: str) -> "Iterator[Executor]":
    """The executor of statements, with this command's settings and way to commit."""
    from headgate.statements.execute import Executor

    with session.output.working(what), session.committing() as commits:
        yield Executor(session.loaded.store, session.loaded.table, session.ambient, commits=commits)


def outcome(session: Session, statement: "Statement", what: str) -> dict[str, Any]:
    """The only row of a statement's result, with its metrics as further columns; a failure of it ends the command."""
    from headgate.statements.execute import failure

    with executing(session, what) as executor:
        result = executor.run(statement)
    (row,) = result.to_pylist(maps_as_pydicts="lossy")
    message = failure(row)
    if message is not None:
        raise fail(message)
    return flat(row)


def flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with its metrics as further columns."""
    return {key: value for key, value in row.items() if key != "metrics"} | (row.get("metrics") or {})


def _show_deletions(session: Session, row: dict[str, Any], deletions: "Sequence[Deletion]", *, listed: bool) -> None:
    if not listed:
        session.output.one(row)
        return
    found = [
        {"path": item.key, "size": item.size, "kind": item.category.value, "reason": item.reason} for item in deletions
    ]
    if session.format is Format.TABLE:
        session.output.one(row)
        session.output.rows(found, ("path", "size", "kind", "reason"), nothing="Nothing would be deleted.")
    else:
        session.output.one({**row, "deletions": found})
