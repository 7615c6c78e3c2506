"""The `headgate` command: its subcommands, and the start and end of its process."""

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from headgate.cli import (
    asking,
    committing,
    dead_letters,
    doctor,
    following,
    loading,
    milvus,
    paging,
    querying,
    statement,
    working,
)
from headgate.cli.demo import demo
from headgate.cli.propose import proposing
from headgate.cli.table import maintenance, reading, rebinding, repairing, writing
from headgate_schemas.version import __version__

app = typer.Typer(
    name="headgate",
    help="Create, write, read and repair data lake tables, and run the processes that commit to them and maintain them.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)
tables = typer.Typer(help="Create, read, maintain, check and repair tables.", no_args_is_help=True)
for module in (writing, reading, maintenance, repairing, rebinding):
    module.register(tables)
app.add_typer(tables, name="table")
for top in (committing, working, paging, asking, loading, querying, proposing, following):
    top.register(app)
for last in (dead_letters, statement, milvus, demo, doctor):
    last.register(app)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"headgate {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version of Headgate.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Options that go before the subcommand."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0 done, 1 refused or failed, 2 wrong usage, 3 outcome unknown, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal can't show are escaped; data is always UTF-8.
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    try:
        typer.main.get_command(app).main(
            args=list(sys.argv[1:] if arguments is None else arguments), prog_name="headgate"
        )
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
