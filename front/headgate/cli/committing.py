"""`headgate committer` and `headgate up`: the processes that decide proposals."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from headgate.cli.given import pairs
from headgate.cli.session import ON_A_BUS, Session, command
from headgate.cli.working import Watch, worker_layer

if TYPE_CHECKING:
    from headgate.health_limits import HealthLimits
    from headgate.monitoring import Monitoring
    from headgate.settings import Settings
    from headgate_bus.interface import Bus

Group = Annotated[
    str | None, typer.Option("--group", metavar="NAME", help="Committers of one group share the partitions of a bus.")
]
Roots = Annotated[
    list[str] | None,
    typer.Option("--root", metavar="URI", help="Serve tables below this address only. Repeat for more; else all."),
]
Name = Annotated[str | None, typer.Option("--id", metavar="NAME", help="What it is called in versions and events.")]
Log = Annotated[
    str | None, typer.Option("--log", metavar="FORM", help="How events are written: auto, console or json.")
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Tell here over HTTP how it is: /healthz, /readyz, /metrics; HEADGATE_LISTEN says the same.",
    ),
]
Limits = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="KEY=VALUE", help="A bound of the committer, such as group-proposals=500."),
]


def register(app: typer.Typer) -> None:
    command(app, "committer", committer, also=ON_A_BUS, without=("format",))
    command(
        app,
        "up",
        up,
        also=ON_A_BUS,
        without=("format",),
        short_help="Committer, worker and bus in one process.",
    )


def committer(
    session: Session,
    group: Group = None,
    root: Roots = None,
    name: Name = None,
    log: Log = None,
    listen: Listen = None,
    limit: Limits = None,
) -> None:
    """Decide the proposals of a bus, until SIGTERM or SIGINT.

    Its events go to standard error, one a line. Ends with 0 when it was told to, with 1 when another committer took its
    place, or when it was refused what it needs.
    """
    chosen = _told(session, group, root, name, log, listen, limit)
    with chosen.bus_in_force(make=True) as bus:
        _serve(chosen, bus, with_worker=False)


def up(
    session: Session,
    roles: Annotated[
        str | None,
        typer.Option("--roles", metavar="NAMES", help="What a worker does: compact,merge,clean unless given, or none."),
    ] = None,
    group: Group = None,
    root: Roots = None,
    watch: Watch = None,
    name: Name = None,
    log: Log = None,
    listen: Listen = None,
    limit: Limits = None,
    worker_limit: Annotated[
        list[str] | None,
        typer.Option(
            "--worker-limit", metavar="KEY=VALUE", help="A bound of the worker, such as merge-cooldown-ms=60000."
        ),
    ] = None,
) -> None:
    """A committer and a worker with a bus of their own, in one process.

    Unless a bus is set, it is a file in the data folder of this user. Other commands and programs find it by the address
    that is printed. With `--roles none` there is no worker.
    """
    chosen = _told(session, group, root, name, log, listen, limit)
    chosen = replace(chosen, worker=worker_layer({"roles": roles}, root, watch, worker_limit, "--worker-limit"))
    if chosen.loaded.bus is None:
        own = chosen.loaded.own_bus
        own.parent.mkdir(parents=True, exist_ok=True)
        chosen = replace(chosen, bus=f"sqlite://{quote(str(own.absolute()))}")
    with chosen.bus_in_force(make=True) as bus:
        session.output.text(f"The bus is {bus.address}. In other shells:")
        session.output.text(f"  export HEADGATE_BUS={bus.address}")
        session.output.text("  headgate propose URI append --file PATH")
        _serve(chosen, bus, with_worker=bool(chosen.loaded.worker.roles))


def _told(
    session: Session,
    group: str | None,
    root: list[str] | None,
    name: str | None,
    log: str | None,
    listen: str | None,
    limit: list[str] | None,
) -> Session:
    """The session with what these options say."""
    said = {"group": group, "roots": ",".join(root) if root else None, "id": name, "log": log, "listen": listen}
    given = {key: value for key, value in said.items() if value is not None}
    given |= pairs(limit or (), "--limit", "group-proposals=500")
    return replace(session, committer=tuple(given.items()))


def _serve(session: Session, bus: "Bus", *, with_worker: bool) -> None:
    from headgate.collector import sparing_collector
    from headgate.monitored import monitored
    from headgate.process_logs import log_for_a_long_time
    from headgate.told_to_stop import until_told_to_stop

    settings = session.loaded
    with (
        until_told_to_stop() as stopping,
        log_for_a_long_time(session.log, settings.committer.log),
        sparing_collector(),
        monitored(settings.committer.listen, session.ambient, _parts(settings, with_worker=with_worker)) as monitoring,
    ):
        _work(session, bus, stopping, monitoring, with_worker=with_worker)


def _parts(settings: "Settings", *, with_worker: bool) -> "Mapping[str, HealthLimits]":
    parts = {"committer": settings.committer.health}
    return parts | {"worker": settings.worker.health} if with_worker else parts


def _work(
    session: Session, bus: "Bus", stopping: Callable[[], bool], monitoring: "Monitoring", *, with_worker: bool
) -> None:
    if with_worker:
        from headgate.together import run_together

        run_together(bus, session.bus_address, session.loaded, session.ambient, stopping, monitoring)
    else:
        from headgate.coordinator import run_committer

        run_committer(bus, session.loaded, session.ambient, stopping, monitoring)
