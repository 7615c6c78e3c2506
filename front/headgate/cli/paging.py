"""`headgate page`: runs the live page of a bus or of some tables in a process of its own."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headgate.cli.terminal.given import Log
from headgate.cli.terminal.session import ON_A_BUS, Session, command

if TYPE_CHECKING:
    from headgate.page.serving import ServedPage


def register(app: typer.Typer) -> None:
    command(app, "page", page, also=ON_A_BUS, without=("format",))


def page(
    session: Session,
    uri: Annotated[
        list[str] | None, typer.Argument(metavar="[URI]...", help="Tables to show even without an event.")
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="HOST:PORT", help="The address to serve at. Default: 127.0.0.1:8080."),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            "--root",
            metavar="URI",
            help="Show only tables below this address. Repeat it for more addresses. Default: all tables.",
        ),
    ] = None,
    log: Log = None,
) -> None:
    """Serve a live page of a bus and its tables, for a browser.

    It shows proposals, dead letters, the work of workers, and the files of tables at any version, until SIGTERM or
    SIGINT. It only reads. Without a bus it shows the named tables. If other machines can reach its address, it asks for
    the token in HEADGATE_PAGE_TOKEN, or for a new one that it prints.
    """
    from headgate.page.serving import serving_page
    from headgate.process.logs import log_for_a_long_time
    from headgate.process.stop_signals import until_told_to_stop
    from headgate_schemas.errors import InvalidInput

    chosen = replace(session, page=page_layer(listen, root, uri, log))
    settings = chosen.loaded
    if settings.bus is None and not settings.page.watch:
        raise InvalidInput(
            "there is nothing to show: give --bus kafka://broker:9092 or --bus sqlite:///path/to/bus.db, set HEADGATE_BUS,"
            " or name tables"
        )
    with (
        until_told_to_stop() as stopping,
        log_for_a_long_time(chosen.log, settings.page.log),
        serving_page(settings, chosen.ambient, settings.bus) as served,
    ):
        tell_where(chosen, served)
        while not stopping():
            chosen.ambient.sleep(_LOOK_S)


_LOOK_S = 0.1


def page_layer(
    listen: str | None, root: list[str] | None, watch: list[str] | None, log: str | None
) -> tuple[tuple[str, str], ...]:
    """The settings from these options."""
    said = {
        "listen": listen,
        "roots": ",".join(root) if root else None,
        "watch": ",".join(watch) if watch else None,
        "log": log,
    }
    return tuple((key, value) for key, value in said.items() if value is not None)


def tell_where(session: Session, served: "ServedPage") -> None:
    """Print the address for people, once: a generated token is written nowhere else."""
    session.output.text(f"The page is {served.address.url}")
    if served.new_token is not None:
        session.output.text(f"  It asks for this token: {served.new_token.text}")
