"""`headgate worker`: the process that looks after tables."""

from dataclasses import replace
from typing import Annotated

import typer

from headgate.cli.terminal.given import pairs
from headgate.cli.terminal.session import ON_A_BUS, Session, command

Roles = Annotated[
    str | None,
    typer.Option("--roles", metavar="NAMES", help="What is done for tables: compact,merge,clean unless given."),
]
Watch = Annotated[
    list[str] | None,
    typer.Option("--watch", metavar="URI", help="Look at this table now and then without an event. Repeat for more."),
]


def register(app: typer.Typer) -> None:
    command(app, "worker", worker, also=ON_A_BUS, without=("format",), short_help="Compact, merge and clean tables.")


def worker(
    session: Session,
    roles: Roles = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            "--root", metavar="URI", help="Look after tables below this address only. Repeat for more; else all."
        ),
    ] = None,
    watch: Watch = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="NAME", help="Workers of one group share the tables of a bus.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="What it is called in proposals and in its log.")
    ] = None,
    log: Annotated[
        str | None, typer.Option("--log", metavar="FORM", help="How events are written: auto, console or json.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="HOST:PORT",
            help="Tell here over HTTP how it is: /healthz, /readyz, /metrics; HEADGATE_LISTEN says the same.",
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="KEY=VALUE", help="A bound of the worker, such as merge-cooldown-ms=60000."),
    ] = None,
) -> None:
    """Look after the tables of a bus, until SIGTERM or SIGINT: compact their states, merge small files, clean up.

    It follows the commits, and proposes what it did; a committer has to run. Its events go to standard error, one a line.
    Ends with 0 when it was told to, with 1 when it was refused what it needs.
    """
    from headgate.health.monitored import monitored
    from headgate.process.gc_tuning import sparing_collector
    from headgate.process.logs import log_for_a_long_time
    from headgate.process.stop_signals import until_told_to_stop
    from headgate.process.worker_process import run_worker

    said = {"roles": roles, "group": group, "id": name, "log": log, "listen": listen}
    chosen = replace(session, worker=worker_layer(said, root, watch, limit, "--limit"))
    settings = chosen.loaded
    with (
        chosen.bus_in_force(make=True) as bus,
        until_told_to_stop() as stopping,
        log_for_a_long_time(chosen.log, settings.worker.log),
        sparing_collector(),
        monitored(settings.worker.listen, chosen.ambient, {"worker": settings.worker.health}) as monitoring,
    ):
        run_worker(bus, settings, chosen.ambient, stopping, monitoring)


def worker_layer(
    said: dict[str, str | None], root: list[str] | None, watch: list[str] | None, limit: list[str] | None, option: str
) -> tuple[tuple[str, str], ...]:
    """The settings that these options give. `option` is what the limits were given by."""
    lists = {"roots": ",".join(root) if root else None, "watch": ",".join(watch) if watch else None}
    given = {key: value for key, value in (said | lists).items() if value is not None}
    return tuple((given | pairs(limit or (), option, "merge-cooldown-ms=60000")).items())
