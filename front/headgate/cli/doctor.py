"""`headgate doctor`: finds problems of this set-up, and prints how to repair them."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.terminal.given import seconds
from headgate.cli.terminal.session import FAILED, ON_A_BUS, Session, command
from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from headgate.doctor.findings import DoctorFinding


def register(app: typer.Typer) -> None:
    command(app, "doctor", doctor, also=ON_A_BUS)


def doctor(
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="[URI]", help="Also check this address, and the table there.")
    ] = None,
    late_after: Annotated[
        str,
        typer.Option("--late-after", metavar="TIME", help="The highest age of an undecided proposal on the bus."),
    ] = "60s",
) -> None:
    """Find problems of this set-up, and how to repair them.

    It checks Python, libraries and Java, contradictory settings, a store (permissions, clock, disk, conditional writes,
    the table there), and the bus (topics, clock, late committers).

    With a bus, it is also a health check of the committers: it reports proposals that wait too long.
    """
    from headgate.doctor.checkup import examine_machine
    from headgate.doctor.findings import Health

    late_after_s = seconds(late_after, "--late-after")
    with session.output.working("Looking ..."):
        found = [*examine_machine(), *_by_settings(session, uri, late_after_s)]
        findings = [replace(finding, found=session.hidden(finding.found)) for finding in found]
    if session.output.is_for_people:
        session.output.rows(_lines(findings), ("health", "check", "found"))
    else:
        session.output.rows(findings, ("check", "health", "found", "mend"))
    problems = sum(finding.health is Health.PROBLEM for finding in findings)
    if problems:
        session.output.note(f"{problems} things to mend." if problems > 1 else "One thing to mend.")
        raise typer.Exit(FAILED)
    session.output.note("Nothing is wrong.")


def _by_settings(session: Session, uri: str | None, late_after_s: float) -> "Iterator[DoctorFinding]":
    """The checks that the settings allow; settings that can't be read allow none."""
    from headgate.doctor.bus_checkup import examine_bus
    from headgate.doctor.findings import DoctorFinding, Health
    from headgate.doctor.place_checkup import examine_place
    from headgate.doctor.settings_checkup import examine_settings

    try:
        settings = session.loaded
    except InvalidInput as error:
        yield DoctorFinding("settings", Health.PROBLEM, str(error), "correct the option, variable or file that says so")
        return
    yield from examine_settings(uri, settings)
    if uri is not None:
        yield from examine_place(uri, settings, session.ambient)
    if settings.bus is not None:
        yield from examine_bus(settings.bus, settings.committer.group, session.ambient, late_after_s)


def _lines(findings: "Iterable[DoctorFinding]") -> Iterator[dict[str, str]]:
    """One line for each finding, and one below it with the remedy."""
    for finding in findings:
        yield {"health": finding.health.value, "check": finding.check, "found": finding.found}
        if finding.mend is not None:
            yield {"health": "", "check": "", "found": f"  to mend: {finding.mend}"}
