"""`headgate worker`: the process that maintains tables."""

from dataclasses import replace
from typing import Annotated

import typer

from headgate.cli.terminal.given import Listen, Log, pairs
from headgate.cli.terminal.session import ON_A_BUS, Session, command

Roles = Annotated[
    str | None,
    typer.Option("--roles", metavar="NAMES", help="The roles of this worker. Default: compact,merge,clean,mirror."),
]
Watch = Annotated[
    list[str] | None,
    typer.Option(
        "--watch", metavar="URI", help="Also check this table regularly, without an event. Repeat it for more tables."
    ),
]


def register(app: typer.Typer) -> None:
    command(app, "worker", worker, also=ON_A_BUS, without=("format",), short_help="Compact, merge and clean tables.")


def worker(
    session: Session,
    roles: Roles = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            "--root",
            metavar="URI",
            help="Maintain only tables below this address. Repeat it for more addresses. Default: all tables.",
        ),
    ] = None,
    watch: Watch = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="NAME", help="The group. Its workers share the tables of a bus.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--id", metavar="NAME", help="The name of this worker in proposals and logs.")
    ] = None,
    log: Log = None,
    listen: Listen = None,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="KEY=VALUE", help="A limit of the worker, such as merge-cooldown-ms=60000."),
    ] = None,
) -> None:
    """Run a worker, which compacts, merges and cleans tables.

    It runs until SIGTERM or SIGINT, and writes its events to standard error, one a line. It follows the commits of a bus
    and proposes its results, so a committer must run too. The exit code is 0 after a signal, and 1 if it was denied
    something that it needs.
    """
    from headgate.health.monitored import monitored
    from headgate.process.gc_tuning import sparing_collector
    from headgate.process.logs import log_for_a_long_time
    from headgate.process.roots import probe_roots
    from headgate.process.stop_signals import until_told_to_stop
    from headgate.process.worker_process import serve_worker

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
        probe_roots(settings.worker.roots, settings, chosen.ambient, stopping)
        serve_worker(bus, settings, chosen.ambient, stopping, monitoring)


def worker_layer(
    said: dict[str, str | None], root: list[str] | None, watch: list[str] | None, limit: list[str] | None, option: str
) -> tuple[tuple[str, str], ...]:
    """The settings from these options. `option` is the option that gave the limits."""
    lists = {"roots": ",".join(root) if root else None, "watch": ",".join(watch) if watch else None}
    given = {key: value for key, value in (said | lists).items() if value is not None}
    return tuple((given | pairs(limit or (), option, "merge-cooldown-ms=60000")).items())
