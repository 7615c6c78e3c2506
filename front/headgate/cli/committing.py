"""`headgate committer` and `headgate up`: the processes that decide proposals."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from headgate.cli.paging import page_layer, tell_where
from headgate.cli.terminal.given import Listen, Log, pairs
from headgate.cli.terminal.session import ON_A_BUS, Session, command
from headgate.cli.working import Watch, worker_layer

if TYPE_CHECKING:
    from headgate.health.monitoring import Monitoring
    from headgate_bus.interface import Bus

Group = Annotated[
    str | None, typer.Option("--group", metavar="NAME", help="The group. Its committers share the partitions of a bus.")
]
Roots = Annotated[
    list[str] | None,
    typer.Option(
        "--root",
        metavar="URI",
        help="Serve only tables below this address. Repeat it for more addresses. Default: all tables.",
    ),
]
Name = Annotated[
    str | None, typer.Option("--id", metavar="NAME", help="The name of this committer in versions and events.")
]
Limits = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="KEY=VALUE", help="A limit of the committer, such as group-proposals=500."),
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
    """Run a committer, which decides the proposals of a bus.

    It runs until SIGTERM or SIGINT, and writes its events to standard error, one a line. The exit code is 0 after a
    signal. It is 1 if another committer took its place, or if it was denied something that it needs.
    """
    chosen = _told(session, group, root, name, log, listen, limit)
    with chosen.bus_in_force(make=True) as bus:
        _serve(chosen, bus, with_worker=False)


def up(
    session: Session,
    roles: Annotated[
        str | None,
        typer.Option(
            "--roles", metavar="NAMES", help="The roles of the worker, or none. Default: compact,merge,clean,mirror."
        ),
    ] = None,
    group: Group = None,
    root: Roots = None,
    watch: Watch = None,
    name: Name = None,
    log: Log = None,
    listen: Listen = None,
    limit: Limits = None,
    page: Annotated[
        str | None,
        typer.Option(
            "--page", metavar="HOST:PORT", help="Serve the live page at this address, such as 127.0.0.1:8080."
        ),
    ] = None,
    worker_limit: Annotated[
        list[str] | None,
        typer.Option(
            "--worker-limit", metavar="KEY=VALUE", help="A limit of the worker, such as merge-cooldown-ms=60000."
        ),
    ] = None,
) -> None:
    """Run a committer and a worker with their own bus, in one process.

    Without `--bus`, the bus is a file in the user's data folder. Its address is printed, for other commands and
    programs. `--roles none` runs no worker. `--page` adds the live page of `headgate page`, which also shows the work of
    this process.
    """
    chosen = _told(session, group, root, name, log, listen, limit)
    chosen = replace(chosen, worker=worker_layer({"roles": roles}, root, watch, worker_limit, "--worker-limit"))
    chosen = replace(chosen, page=page_layer(page, None, None, None))
    if chosen.loaded.bus is None:
        own = chosen.loaded.own_bus
        own.parent.mkdir(parents=True, exist_ok=True)
        chosen = replace(chosen, bus=f"sqlite://{quote(str(own.absolute()))}")
    with chosen.bus_in_force(make=True) as bus:
        session.output.text(f"The bus is {bus.address}. In other shells:")
        session.output.text(f"  export HEADGATE_BUS={bus.address}")
        session.output.text("  headgate propose URI append --file PATH")
        _serve(chosen, bus, with_worker=bool(chosen.loaded.worker.roles), with_page=page is not None)


def _told(
    session: Session,
    group: str | None,
    root: list[str] | None,
    name: str | None,
    log: str | None,
    listen: str | None,
    limit: list[str] | None,
) -> Session:
    """The session with the settings of these options."""
    said = {"group": group, "roots": ",".join(root) if root else None, "id": name, "log": log, "listen": listen}
    given = {key: value for key, value in said.items() if value is not None}
    given |= pairs(limit or (), "--limit", "group-proposals=500")
    return replace(session, committer=tuple(given.items()))


def _serve(session: Session, bus: "Bus", *, with_worker: bool, with_page: bool = False) -> None:
    from headgate.process.gc_tuning import sparing_collector
    from headgate.process.logs import log_for_a_long_time
    from headgate.process.stop_signals import until_told_to_stop

    with (
        until_told_to_stop() as stopping,
        log_for_a_long_time(session.log, session.loaded.committer.log),
        sparing_collector(),
        _told_of(session, with_worker=with_worker, with_page=with_page) as monitoring,
    ):
        _work(session, bus, stopping, monitoring, with_worker=with_worker)


@contextmanager
def _told_of(session: Session, *, with_worker: bool, with_page: bool) -> "Iterator[Monitoring]":
    """Where the process reports its health and metrics, where it listens, and its page."""
    from headgate.health.monitored import monitored

    settings = session.loaded
    parts = {"committer": settings.committer.health} | ({"worker": settings.worker.health} if with_worker else {})
    if not with_page:
        with monitored(settings.committer.listen, session.ambient, parts) as monitoring:
            yield monitoring
        return
    from headgate.health.operator_endpoint import Telling
    from headgate.page.serving import serving_page

    telling = Telling(session.ambient, parts)
    with (
        telling.listening(settings.committer.listen),
        serving_page(settings, session.ambient, session.bus_address, telling) as served,
    ):
        tell_where(session, served)
        yield telling.monitor


def _work(
    session: Session, bus: "Bus", stopping: Callable[[], bool], monitoring: "Monitoring", *, with_worker: bool
) -> None:
    if with_worker:
        from headgate.process.combined_process import run_together

        run_together(bus, session.bus_address, session.loaded, session.ambient, stopping, monitoring)
    else:
        from headgate.process.committer_process import serve_committer
        from headgate.process.roots import probe_roots

        probe_roots(session.loaded.committer.roots, session.loaded, session.ambient, stopping)
        serve_committer(bus, session.loaded, session.ambient, stopping, monitoring)
