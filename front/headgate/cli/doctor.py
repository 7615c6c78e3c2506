"""`headgate doctor`: what is wrong with this set-up, and how to mend it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.session import FAILED, Session, command

if TYPE_CHECKING:
    from headgate.checkup import Finding


def register(app: typer.Typer) -> None:
    command(app, "doctor", doctor)


def doctor(
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="[URI]", help="Also look at this place, and at the table if one is there.")
    ] = None,
) -> None:
    """What is wrong with this set-up, and how to mend it."""
    from headgate.checkup import Health, examine

    with session.output.working("Looking ..."):
        findings = list(examine(uri, session.loaded, session.ambient))
    if session.output.is_for_people:
        session.output.rows(_lines(findings), ("health", "check", "found"))
    else:
        session.output.rows(findings, ("check", "health", "found", "mend"))
    problems = sum(finding.health is Health.PROBLEM for finding in findings)
    if problems:
        session.output.note(f"{problems} things to mend." if problems > 1 else "One thing to mend.")
        raise typer.Exit(FAILED)
    session.output.note("Nothing is wrong.")


def _lines(findings: "Iterable[Finding]") -> Iterator[dict[str, str]]:
    """A line for each finding, and one below it for what mends it."""
    for finding in findings:
        yield {"health": finding.health.value, "check": finding.check, "found": finding.found}
        if finding.mend is not None:
            yield {"health": "", "check": "", "found": f"  to mend: {finding.mend}"}
