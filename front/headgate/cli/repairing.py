"""`headgate table verify|repair`: everything that is wrong with a log, and a new log out of what is left of one."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.given import Uri
from headgate.cli.output import Format
from headgate.cli.session import FAILED, Session, command

if TYPE_CHECKING:
    from headgate_table.indextables.verify_report import Checked


def register(tables: typer.Typer) -> None:
    command(tables, "verify", verify)
    command(tables, "repair", repair)


def verify(
    session: Session,
    uri: Uri,
    log_only: Annotated[bool, typer.Option("--log-only", help="Don't look for the data files.")] = False,
) -> None:
    """Check everything, and say what is wrong.

    Ends with 1 when some reader can't read a retained version. Warnings and notes are findings, too, but no failures.
    """
    from headgate_table.indextables.log_reader import LogReader
    from headgate_table.indextables.resources import process_resources
    from headgate_table.indextables.verify import verify_table

    # Not by `Table.open`, which a table must be sound for.
    reader = LogReader(session.open_store(uri), process_resources())
    with session.output.working("Verifying ..."):
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
        str, typer.Argument(metavar="TARGET_LOG", help="Where to write the new one; must not exist, or be empty.")
    ],
) -> None:
    """Write a new log of the files that exist.

    The damaged log stays as it is; what it names and the store has goes into the new one.
    """
    from headgate_table.indextables.repair import repair_log

    with session.output.working("Repairing ..."):
        result = repair_log(source, target, session.loaded.store, ambient=session.ambient)
    session.output.one(asdict(result))


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
