"""What every command has in common: its options, the settings they give, the table it opens, and how it fails.

A command is a function of a `Session` and of what is its own; `command` gives it the common options.
"""

import errno
import inspect
import io
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.given import pairs
from headgate.cli.output import Format, Output
from headgate_schemas.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.settings import Settings
    from headgate_schemas.ambient import Ambient
    from headgate_table.store.interface import Store
    from headgate_table.table import Table

FAILED, WRONG_USAGE, UNKNOWN, INTERRUPTED = 1, 2, 3, 130
_SHARED = "Common options"


@dataclass(frozen=True)
class Session:
    """One run of one command."""

    format: Format
    store: tuple[str, ...]
    settings: tuple[str, ...]
    config: Path | None
    debug: bool

    @cached_property
    def output(self) -> Output:
        return Output(sys.stdout or _Nobody(), sys.stderr or _Nobody(), self.format)

    @cached_property
    def ambient(self) -> "Ambient":
        from headgate_schemas.ambient import SystemAmbient

        return SystemAmbient()

    @cached_property
    def loaded(self) -> "Settings":
        """The settings in force."""
        from headgate.settings import load_settings

        return load_settings(
            pairs(self.store, "--store", "s3.endpoint=http://localhost:9000"),
            pairs(self.settings, "--set", "checkpoint.interval=20"),
            self.config,
        )

    def open(self, uri: str) -> "Table":
        from headgate_table.table import Table

        return Table.open(uri, self.loaded.store, settings=self.loaded.table, ambient=self.ambient)

    def open_store(self, uri: str) -> "Store":
        from headgate_table.store.open import open_store

        return open_store(uri, self.loaded.store, self.ambient)


def _settings_file(*spellings: str) -> Any:
    return Annotated[
        Path | None,
        typer.Option(
            *spellings,
            metavar="FILE",
            help="A TOML file with tables for store and table; HEADGATE_CONFIG says the same.",
            rich_help_panel=_SHARED,
        ),
    ]


_OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "format": (
        Annotated[Format, typer.Option("--format", help="How to print data.", rich_help_panel=_SHARED)],
        Format.TABLE,
    ),
    "store": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--store",
                metavar="KEY=VALUE",
                help="A setting of the store, such as s3.endpoint=http://localhost:9000. Repeat for more; "
                "HEADGATE_STORE_S3_ENDPOINT says the same.",
                rich_help_panel=_SHARED,
            ),
        ],
        None,
    ),
    "settings": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--set",
                metavar="KEY=VALUE",
                help="A setting of the table for this command, such as checkpoint.interval=20. Repeat for more.",
                rich_help_panel=_SHARED,
            ),
        ],
        None,
    ),
    "settings_file": (_settings_file("--config", "--settings-file"), None),
    "debug": (
        Annotated[
            bool,
            typer.Option("--debug", help="Log what is done, and show where errors arose.", rich_help_panel=_SHARED),
        ],
        False,
    ),
}


def command(
    group: typer.Typer, name: str, work: Callable[..., None], *, without: Sequence[str] = (), **options: Any
) -> None:
    """Make `work` a command of `group`. Its first parameter is the session; its docstring is the help.

    It gets the common options that it has not of its own, but those in `without`. One that calls a parameter `config`
    keeps `--config` for itself.
    """
    signature = inspect.signature(work)
    own = list(signature.parameters.values())[1:]
    common = dict(_OPTIONS)
    if "config" in signature.parameters:
        common["settings_file"] = (_settings_file("--settings-file"), None)
    shared = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for key, (annotation, default) in common.items()
        if key not in without
    ]

    @wraps(work)
    def run(**given: Any) -> None:
        session = Session(
            given.pop("format", Format.TABLE),
            tuple(given.pop("store", None) or ()),
            tuple(given.pop("settings", None) or ()),
            given.pop("settings_file", None),
            given.pop("debug", False),
        )
        _run(lambda: work(session, **given), session)

    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    run.__signature__ = signature.replace(parameters=[*keyword_only, *shared])  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    group.command(name, **options)(run)


def fail(message: str, code: int = FAILED) -> typer.Exit:
    """What to raise to end with one message."""
    from rich.console import Console

    typer.secho("Error: ", err=True, nl=False, fg=None if Console(stderr=True).no_color else "red", bold=True)
    typer.echo(message, err=True)
    return typer.Exit(code)


def _run(work: Callable[[], None], session: Session) -> None:
    try:
        _log_to_stderr(session.debug)
        work()
    except (typer.Exit, typer.BadParameter):
        raise
    except BrokenPipeError:
        # Whoever reads through `head` has had enough, which is no failure.
        session.output.abandon()
        raise typer.Exit from None
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001 - the outermost loop of a command
        if _output_is_full(error):
            session.output.abandon()
        if session.debug:
            traceback.print_exc()
        raise _explained(error) from None


class _Nobody(io.StringIO):
    """Who reads what a process prints that was started with its streams closed."""

    def write(self, text: str) -> int:
        return len(text)


def _output_is_full(error: Exception) -> bool:
    """Stores have errors of their own, so an error of the system that names no file is one of the output."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) and not error.filename


def _explained(error: Exception) -> typer.Exit:
    from headgate_table.errors import OutcomeUnknown

    match error:
        case OutcomeUnknown():
            return fail(str(error), UNKNOWN)
        case HeadgateError():
            return fail(str(error))
        case OSError(strerror=reason) if _output_is_full(error):
            return fail(f"the output can't be written: {reason}. Send it to a place that has room")
        case MemoryError():
            return fail("this machine has too little memory for that; ask for less with --where or --columns")
        case _:
            said = str(error) or "no message"
            return fail(f"{type(error).__name__}: {said}. This should not happen; --debug shows where it did")


def _log_to_stderr(debug: bool) -> None:
    import logging

    import structlog

    stream = sys.stderr or _Nobody()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.dev.ConsoleRenderer(colors=stream.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO if debug else logging.WARNING),
        logger_factory=lambda *_: structlog.PrintLogger(stream),
    )
