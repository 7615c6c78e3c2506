"""`headgate doctor`: what is wrong with this set-up, and how to mend it."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.given import seconds
from headgate.cli.session import FAILED, ON_A_BUS, Session, command

if TYPE_CHECKING:
    from headgate.checkup import Finding


def register(app: typer.Typer) -> None:
    command(app, "doctor", doctor, also=ON_A_BUS)


def doctor(
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="[URI]", help="Also look at this place, and at the table if one is there.")
    ] = None,
    late_after: Annotated[
        str,
        typer.Option("--late-after", metavar="TIME", help="How old an undecided proposal on the bus may be."),
    ] = "60s",
) -> None:
    """What is wrong with this set-up, and how to mend it.

    With a bus, it also tells whether the committers keep up; so it is a health check for them.
    """
    from headgate.bus_checkup import examine_bus
    from headgate.checkup import Health, examine

    late_after_s = seconds(late_after, "--late-after")
    with session.output.working("Looking ..."):
        settings = session.loaded
        findings = list(examine(uri, settings, session.ambient))
        if settings.bus is not None:
            findings += examine_bus(settings.bus, settings.committer.group, session.ambient, late_after_s)
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
