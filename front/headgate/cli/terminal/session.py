"""The parts that every command shares: options, settings, opening the table, and failing.

A command is a function of a `Session` and its own parameters; `command` gives it the common options.
"""

import errno
import inspect
import io
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer

from headgate.cli.terminal.given import pairs
from headgate.cli.terminal.output import Format, Output
from headgate_schemas.errors import HeadgateError, InvalidInput

if TYPE_CHECKING:
    from headgate.commits import Commits
    from headgate.settings.loading import Settings
    from headgate_bus.interface import Bus
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
    bus: str | None = None
    """None where neither the command's option nor the command says anything of a bus."""
    direct: bool = False
    committer: tuple[tuple[str, str], ...] = ()
    worker: tuple[tuple[str, str], ...] = ()
    page: tuple[tuple[str, str], ...] = ()

    @cached_property
    def output(self) -> Output:
        return Output(sys.stdout or _Nobody(), self.notes, self.format)

    @cached_property
    def notes(self) -> TextIO:
        return sys.stderr or _Nobody()

    @cached_property
    def log(self) -> TextIO:
        """The destination of events and tracebacks, without the secrets of the settings."""
        from headgate.process.secrecy import Hiding

        return cast(TextIO, Hiding(self.notes, self._secrets))

    def hidden(self, text: str) -> str:
        """The text without the secrets of the settings."""
        from headgate.process.secrecy import hidden

        return hidden(text, self._secrets())

    def _secrets(self) -> frozenset[str]:
        """The secrets that are known by now: before the settings are read, none can have been used."""
        return self._secrets_of_settings if "loaded" in self.__dict__ else frozenset()

    @cached_property
    def _secrets_of_settings(self) -> frozenset[str]:
        from headgate.process.secrecy import secrets_of

        return secrets_of(self.loaded)

    @cached_property
    def ambient(self) -> "Ambient":
        from headgate_schemas.ambient import SystemAmbient

        return SystemAmbient()

    @cached_property
    def loaded(self) -> "Settings":
        """The effective settings."""
        from headgate.settings.loading import load_settings

        return load_settings(
            pairs(self.store, "--store", "s3.endpoint=http://localhost:9000"),
            pairs(self.settings, "--set", "checkpoint.interval=20"),
            self.config,
            bus=self.bus,
            committer=dict(self.committer),
            worker=dict(self.worker),
            page=dict(self.page),
        )

    @property
    def bus_address(self) -> str:
        """The configured bus's address. Raises `InvalidInput` if there is none."""
        if self.loaded.bus is None:
            raise InvalidInput(
                "this needs a bus: give --bus kafka://broker:9092 or --bus sqlite:///path/to/bus.db, or set HEADGATE_BUS"
            )
        return self.loaded.bus

    @contextmanager
    def bus_in_force(self, *, make: bool = False) -> "Iterator[Bus]":
        """The configured bus, closed at the end of the block. Raises `InvalidInput` without one.

        With `make`, the bus is created if it is missing, and a bus that doesn't answer is tried again for a while.
        """
        from headgate.process.made_bus import made_bus
        from headgate_bus.open import open_bus

        address = self.bus_address
        opened = made_bus(address, self.ambient, self.output.note) if make else open_bus(address, self.ambient)
        with closing(opened) as bus:
            yield bus

    def committing(self) -> "Commits":
        """The way to commit this command's changes: through the bus if one is set, else directly. Close it at the end."""
        from headgate.commits import Commits

        return Commits(
            None if self.direct else self.loaded.bus,
            self.loaded.store,
            self.ambient,
            committer_group=self.loaded.committer.group,
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
            help="A TOML file of settings, with the sections store, table, bus, committer, worker and page. Or set HEADGATE_CONFIG.",
            rich_help_panel=_SHARED,
        ),
    ]


_OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "format": (
        Annotated[Format, typer.Option("--format", help="The output format.", rich_help_panel=_SHARED)],
        Format.TABLE,
    ),
    "store": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--store",
                metavar="KEY=VALUE",
                help="A setting of the store, such as s3.endpoint=http://localhost:9000. Repeat it for more settings. Or set "
                "HEADGATE_STORE_S3_ENDPOINT.",
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
                help="A table setting for this command only, such as checkpoint.interval=20. Repeat it for more settings.",
                rich_help_panel=_SHARED,
            ),
        ],
        None,
    ),
    "settings_file": (_settings_file("--config", "--settings-file"), None),
    "debug": (
        Annotated[
            bool,
            typer.Option("--debug", help="Print debug logs, and the stack trace of an error.", rich_help_panel=_SHARED),
        ],
        False,
    ),
}


_BUS_OPTIONS: Mapping[str, tuple[Any, Any]] = {
    "bus": (
        Annotated[
            str | None,
            typer.Option(
                "--bus",
                metavar="ADDRESS",
                help="The bus: kafka://host:port or sqlite:///path/to/bus.db. Or set HEADGATE_BUS.",
                rich_help_panel=_SHARED,
            ),
        ],
        None,
    ),
    "direct": (
        Annotated[
            bool,
            typer.Option(
                "--direct", help="Commit directly to the table, even if a bus is set.", rich_help_panel=_SHARED
            ),
        ],
        False,
    ),
}

ON_A_BUS = ("bus",)
CHANGES_A_TABLE = ("bus", "direct")


def command(
    group: typer.Typer,
    name: str,
    work: Callable[..., None],
    *,
    without: Sequence[str] = (),
    also: Sequence[str] = (),
    **options: Any,
) -> None:
    """Make `work` a command of `group`. Its first parameter is the session; its docstring is the help.

    It gets the common options except for its own and those in `without`, and the bus options in `also`. A command with
    a parameter `config` keeps `--config` for itself.
    """
    signature = inspect.signature(work)
    own = list(signature.parameters.values())[1:]
    common = {key: _BUS_OPTIONS[key] for key in also} | dict(_OPTIONS)
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
            given.pop("bus", None) if "bus" in also else None,
            given.pop("direct", False) if "direct" in also else False,
        )
        _run(lambda: work(session, **given), session)

    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    run.__signature__ = signature.replace(parameters=[*keyword_only, *shared])  # type: ignore[attr-defined]  # what typer reads
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *shared)}
    group.command(name, **options)(run)


def fail(message: str, code: int = FAILED) -> typer.Exit:
    """The exception that ends the command with one message."""
    from rich.console import Console

    typer.secho("Error: ", err=True, nl=False, fg=None if Console(stderr=True).no_color else "red", bold=True)
    typer.echo(message, err=True)
    return typer.Exit(code)


def _run(work: Callable[[], None], session: Session) -> None:
    try:
        from headgate.process.logs import log_for_one_command

        log_for_one_command(session.log, verbose=session.debug)
        work()
    except (typer.Exit, typer.BadParameter):
        raise
    except BrokenPipeError:
        # A reader such as `head` has had enough, which isn't a failure.
        session.output.abandon()
        raise typer.Exit from None
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001 - the outermost loop of a command
        if _output_is_full(error):
            session.output.abandon()
        if session.debug:
            traceback.print_exc(file=session.log)
        raise _explained(error, session) from None


class _Nobody(io.StringIO):
    """The stream of a process that was started with its streams closed."""

    def write(self, text: str) -> int:
        return len(text)


def _output_is_full(error: Exception) -> bool:
    """Stores have errors of their own, so a system error without a file name comes from the output."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO) and not error.filename


def _explained(error: Exception, session: Session) -> typer.Exit:
    from headgate_table.errors import OutcomeUnknown

    match error:
        case OutcomeUnknown():
            return fail(session.hidden(str(error)), UNKNOWN)
        case HeadgateError():
            return fail(session.hidden(str(error)))
        case OSError(strerror=reason) if _output_is_full(error):
            return fail(f"the output can't be written: {reason}. Send it to a place that has room")
        case MemoryError():
            return fail("this machine has too little memory for that; ask for less with --where or --columns")
        case _:
            said = session.hidden(str(error)) or "no message"
            return fail(f"{type(error).__name__}: {said}. This should not happen; --debug shows where it did")
