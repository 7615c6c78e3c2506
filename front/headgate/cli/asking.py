"""`headgate health`: for people who ask for its help. The command itself doesn't come here: `headgate.__main__` says why."""

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    app.command("health")(health)


def health(
    url: Annotated[str, typer.Argument(metavar="URL", help="Such as http://127.0.0.1:8080/readyz, or without a path.")],
) -> None:
    """Ask a committer or worker that was given --listen how it is.

    Prints what it says. Ends with 0 where it is well, and with 1 where it isn't, or says nothing within seconds.
    """
    from headgate.health.asking_health import ask_health

    raise typer.Exit(ask_health(url))
