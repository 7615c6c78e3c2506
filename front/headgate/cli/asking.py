"""The help of `headgate health`. `headgate.__main__` runs the command itself, without this package."""

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("health")(health)


def health(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="Its address, such as http://127.0.0.1:8080/readyz. The path may be left out."
        ),
    ],
) -> None:
    """Print the health of a committer or worker.

    The process must run with --listen. The exit code is 0 if it is healthy. It is 1 if it is not, or if it does not answer within seconds.
    """
    from headgate.health.asking_health import ask_health

    raise typer.Exit(ask_health(url))
