"""`headgate table verify|repair`: list all faults of a log, and write a new log from the rest of a damaged one."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.terminal.given import DryRun, Uri, names, schema, wrong
from headgate.cli.terminal.output import Format
from headgate.cli.terminal.session import FAILED, Session, command

if TYPE_CHECKING:
    from headgate_table.interface.findings import Checked


def register(tables: typer.Typer) -> None:
    command(tables, "verify", verify)
    command(tables, "repair", repair)


def verify(
    session: Session,
    uri: Uri,
    log_only: Annotated[bool, typer.Option("--log-only", help="Check only the log, not the data files.")] = False,
) -> None:
    """Check the log and the data files, and list all findings.

    The exit code is 1 if some reader cannot read the newest version, or a part of the log. Warnings and notes do not
    change it. A missing file that only earlier versions need is a warning.
    """
    from headgate_table.caching.resources import process_resources
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.indextables.verify.verify import verify_table
    from headgate_table.milvus.committed.log import RecordedLog
    from headgate_table.milvus.verify import verify_manifests

    # Not by `Table.open`, which requires a sound table.
    reader = LogReader(session.open_store(uri), process_resources())
    with session.output.working("Verifying ..."):
        manifests = RecordedLog(reader.store, session.ambient)
        if reader.full_listing().is_empty and manifests.found().latest:
            report = verify_manifests(manifests, data_files=not log_only)
        else:
            report = verify_table(reader, session.ambient, data_files=not log_only)
    findings = [
        {"severity": found.severity.value, "object": found.object, "what": found.what, "advice": found.advice}
        for found in report.findings
    ]
    if session.format is Format.JSON:
        session.output.one(
            {
                "table_path": report.uri,
                "version": report.version,
                "ok": report.ok,
                "errors": report.errors,
                "checked": asdict(report.checked),
                "findings": findings,
            }
        )
    else:
        session.output.rows(findings, ("severity", "object", "what", "advice"), nothing="No findings.")
        session.output.note(f"Looked at {_counted(report.checked)}.")
        session.output.note("The table is sound." if report.ok else f"Errors: {report.errors:,}.")
    if not report.ok:
        raise typer.Exit(FAILED)


def repair(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE_LOG", help="The damaged log: …/_transaction_log.")],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET_LOG",
            help="The new log: a folder that is empty or missing. Default with --from-files: SOURCE_LOG.",
        ),
    ] = None,
    from_files: Annotated[
        bool,
        typer.Option(
            "--from-files",
            help="Use all Parquet files below the table, even removed ones. Only if nothing of the log is readable.",
        ),
    ] = False,
    schema_source: Annotated[
        str | None,
        typer.Option(
            "--schema",
            metavar="FILE_OR_DDL",
            help="With --from-files: all columns, as in `table create`. Default: the columns of the files.",
        ),
    ] = None,
    partition_by: Annotated[
        str | None,
        typer.Option(
            "--partition-by",
            metavar="a,b",
            help="With --from-files: the partition columns. Default: all key=value folders.",
        ),
    ] = None,
    partition_types: Annotated[
        str | None,
        typer.Option(
            "--partition-types",
            metavar="DDL",
            help="With --from-files: the types of partition columns, such as 'day date, month int'.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Write a new log from a damaged one.

    The damaged log stays unchanged. The new log holds its files that still exist. If no log is left, --from-files makes
    a new one from the Parquet files below the table. It cannot tell which of them were removed.
    """
    if from_files:
        _rebuild(session, source, target, schema_source, partition_by, partition_types, dry_run=dry_run)
        return
    given = {"--schema": schema_source, "--partition-by": partition_by, "--partition-types": partition_types}
    for option, value in {**given, "--dry-run": dry_run or None}.items():
        if value is not None:
            raise wrong("it is for a repair with --from-files; otherwise the log says it", option)
    if target is None:
        raise wrong("say where to write the new log, such as NEW_PLACE/_transaction_log", "TARGET_LOG")
    from headgate_table.indextables.repair.repair import repair_log

    with session.output.working("Repairing ..."):
        result = repair_log(source, target, session.loaded.store, ambient=session.ambient)
    session.output.one(asdict(result))


def _rebuild(
    session: Session,
    source: str,
    target: str | None,
    schema_source: str | None,
    partition_by: str | None,
    partition_types: str | None,
    *,
    dry_run: bool,
) -> None:
    from headgate_table.indextables.repair.rebuild import rebuild_log

    columns = None if schema_source is None else schema(schema_source)
    partitions = names(partition_by, "--partition-by")
    with session.output.working("Reading footers ..."):
        result = rebuild_log(
            source,
            target,
            session.loaded.store,
            schema=columns,
            partition_by=partitions,
            partition_types=partition_types,
            dry_run=dry_run,
            ambient=session.ambient,
        )
    told = asdict(result)
    if session.format is Format.TABLE:
        del told["notes"]  # printed below, a line each
    session.output.one(told)
    # Also for programs, so that nobody can miss it.
    for note in result.notes:
        typer.echo(f"Note: {note}.", err=True)


def _counted(checked: "Checked") -> str:
    counts = {
        "versions": checked.versions,
        "states": checked.states,
        "checkpoints": checked.checkpoints,
        "manifests": checked.manifests,
        "entries": checked.entries,
        "data files": checked.data_files,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())
