"""`headgate propose`: ask a committer for one change of a table, and print what became of it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from headgate.cli.given import Uri, Where, names, pairs, schema, seconds, wrong
from headgate.cli.receipts import show_outcome
from headgate.cli.session import ON_A_BUS, Session, command
from headgate.commits import Commits
from headgate_schemas.operations import (
    Alter,
    Append,
    Create,
    Delete,
    Operation,
    Overwrite,
    Purge,
    Restore,
    Rewrite,
    Skip,
    Writer,
)

if TYPE_CHECKING:
    from headgate_schemas.actions import AddFile

_ID = re.compile(r"[!-~]{1,200}")
_WRITER = re.compile(r"(.+):([0-9]{1,18})")


class Kind(StrEnum):
    """What can be proposed by hand; manifests are swapped by `table compact`."""

    CREATE = "create"
    APPEND = "append"
    OVERWRITE = "overwrite"
    DELETE = "delete"
    REWRITE = "rewrite"
    RESTORE = "restore"
    SKIP = "skip"
    ALTER = "alter"
    PURGE = "purge"


class IsolationName(StrEnum):
    SNAPSHOT = "snapshot"
    SERIALIZABLE = "serializable"


_TAKES: dict[Kind, tuple[str, ...]] = {
    Kind.CREATE: ("--schema", "--partition-by", "--config", "--name", "--description"),
    Kind.APPEND: ("--file",),
    Kind.OVERWRITE: ("--file", "--where"),
    Kind.DELETE: ("--path", "--where"),
    Kind.REWRITE: ("--path", "--file"),
    Kind.RESTORE: ("--version",),
    Kind.SKIP: ("--path", "--reason"),
    Kind.ALTER: ("--schema", "--config", "--unset", "--name", "--description"),
    Kind.PURGE: ("--path",),
}
"""The options that say what is to be done; others of them would be ignored, so they are errors."""


def register(app: typer.Typer) -> None:
    command(app, "propose", propose, also=ON_A_BUS)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the options say."""

    files: tuple[str, ...]
    paths: tuple[str, ...]
    where: str | None
    version: int | None
    schema: str | None
    partition_by: str | None
    config: tuple[str, ...]
    unset: tuple[str, ...]
    name: str | None
    description: str | None
    reason: str | None

    def given(self) -> list[str]:
        """The options that were used."""
        values = {
            "--file": self.files,
            "--path": self.paths,
            "--where": self.where,
            "--version": self.version,
            "--schema": self.schema,
            "--partition-by": self.partition_by,
            "--config": self.config,
            "--unset": self.unset,
            "--name": self.name,
            "--description": self.description,
            "--reason": self.reason,
        }
        return [option for option, value in values.items() if value not in (None, ())]


def propose(
    session: Session,
    uri: Uri,
    kind: Annotated[Kind, typer.Argument(metavar="OPERATION", help="One of " + ", ".join(Kind) + ".")],
    file: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="PATH", help="A Parquet file that lies in the table's folder. Repeat for more."),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="PATH", help="A file to delete, replace, skip or purge. Repeat for more."),
    ] = None,
    where: Where = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="The version to restore.", min=0)
    ] = None,
    schema_source: Annotated[
        str | None, typer.Option("--schema", metavar="FILE_OR_DDL", help="The columns: 'id bigint', or a file.")
    ] = None,
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="a,b", help="Columns that files are partitioned by.")
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option("--config", metavar="KEY=VALUE", help="A line of the table's configuration.")
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="A line of the configuration to take away.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What people call the table.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="What it is about.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why files are to be skipped.")] = None,
    writer: Annotated[
        str | None,
        typer.Option("--writer", metavar="APP:SEQ", help="Who proposes, and that one's counter: no seq commits twice."),
    ] = None,
    based_on: Annotated[
        int | None, typer.Option("--based-on", metavar="N", help="The version that was read.", min=0)
    ] = None,
    reads: Annotated[
        str | None, typer.Option("--reads", metavar="EXPR", help="What was read of it; all without it.")
    ] = None,
    isolation: Annotated[
        IsolationName,
        typer.Option("--isolation", help="serializable: refused when what was read has changed since."),
    ] = IsolationName.SNAPSHOT,
    proposal_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Propose again what was proposed under this id.")
    ] = None,
    wait: Annotated[str, typer.Option("--wait", metavar="TIME", help="How long to wait for the receipt.")] = "30s",
) -> None:
    """Ask a committer for one change, and print its receipt.

    Ends with 0 when it is committed (or was before), with 1 when it is rejected, with 3 when no receipt came in time.
    """
    wait_s = seconds(wait, "--wait")
    by = None if writer is None else _writer(writer)
    if proposal_id is not None and not _ID.fullmatch(proposal_id):
        raise wrong(f"{proposal_id!r} is no id: it has 1 to 200 visible ASCII characters and no spaces", "--id")
    asked = _Asked(
        tuple(file or ()),
        tuple(path or ()),
        where,
        version,
        schema_source,
        partition_by,
        tuple(config or ()),
        tuple(unset or ()),
        name,
        description,
        reason,
    )
    _check(kind, asked)
    with Commits(session.bus_address, session.loaded.store, session.ambient) as commits:
        operation = _operation(session, uri, kind, asked, based_on)
        ticket = commits.producer(uri).propose(
            operation,
            writer=by,
            based_on=operation.based_on if isinstance(operation, Alter) else based_on,
            reads=reads,
            isolation=isolation.value,
            proposal_id=proposal_id,
        )
        again = f"Give the same command with --id {ticket.proposal_id} to ask again: it can't be committed twice"
        show_outcome(session, ticket, wait_s, again)


def _writer(text: str) -> Writer:
    found = _WRITER.fullmatch(text)
    if found is None:
        raise wrong(f"{text!r} is no APP:SEQ, such as nightly:17", "--writer")
    return Writer(found[1], int(found[2]))


def _check(kind: Kind, asked: _Asked) -> None:
    """Wrong usage is said before anything is opened."""
    for option in asked.given():
        if option not in _TAKES[kind]:
            raise wrong(f"{kind.value} takes no {option}, only {', '.join(_TAKES[kind])}", option)
    needed: dict[Kind, Sequence[tuple[object, str]]] = {
        Kind.CREATE: [(asked.schema, "--schema")],
        Kind.APPEND: [(asked.files, "--file")],
        Kind.DELETE: [(asked.paths or asked.where, "--path or --where")],
        Kind.REWRITE: [(asked.paths, "--path")],
        Kind.RESTORE: [(asked.version is not None, "--version")],
        Kind.SKIP: [(asked.paths, "--path"), (asked.reason, "--reason")],
        Kind.ALTER: [(asked.given(), "one of " + ", ".join(_TAKES[Kind.ALTER]))],
        Kind.PURGE: [(asked.paths, "--path")],
    }
    for value, option in needed.get(kind, ()):
        if not value:
            raise wrong(f"{kind.value} needs {option}", option.split(" ")[0])
    if kind is Kind.DELETE and asked.paths and asked.where is not None:
        raise wrong("delete takes either --path or --where", "--where")


def _operation(session: Session, uri: str, kind: Kind, asked: _Asked, based_on: int | None) -> Operation:
    match kind:
        case Kind.CREATE:
            return Create(
                _schema_string(asked.schema) or "",
                tuple(names(asked.partition_by, "--partition-by") or ()),
                _configuration(asked),
                asked.name,
                asked.description,
            )
        case Kind.APPEND:
            return Append(_files(session, uri, asked.files))
        case Kind.OVERWRITE:
            return Overwrite(_files(session, uri, asked.files), asked.where)
        case Kind.DELETE:
            return Delete(asked.paths, asked.where)
        case Kind.REWRITE:
            return Rewrite(asked.paths, _files(session, uri, asked.files))
        case Kind.RESTORE:
            return Restore(asked.version or 0)
        case Kind.SKIP:
            return _skip(session, asked)
        case Kind.ALTER:
            seen = session.open(uri).version if based_on is None else based_on
            unset: dict[str, str | None] = dict.fromkeys(asked.unset)
            return Alter(
                seen, unset | _configuration(asked), asked.description, asked.name, _schema_string(asked.schema)
            )
        case Kind.PURGE:
            return Purge(asked.paths)
        case _:
            assert_never(kind)


def _files(session: Session, uri: str, paths: Sequence[str]) -> "tuple[AddFile, ...]":
    """Files of the table's own folder, with what their footers say."""
    from headgate_table.data_file import DataFile

    store = session.open_store(uri)
    options = session.open(uri).options
    return tuple(
        DataFile.of_parquet(
            _relative(path, (uri.rstrip("/"), store.uri)),
            store=store,
            indexed_columns=options.data_skipping_columns,
            max_text_length=options.stats_max_length,
        )
        for path in paths
    )


def _relative(path: str, roots: Sequence[str]) -> str:
    """A path below the table is taken with the table's own address in front, too."""
    for root in roots:
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path


def _skip(session: Session, asked: _Asked) -> Skip:
    from headgate_schemas.actions import SkipFile

    now_ms = session.ambient.now_ms()
    return Skip(
        tuple(SkipFile(path, now_ms, asked.reason or "", operation="merge", skip_count=1) for path in asked.paths)
    )


def _configuration(asked: _Asked) -> dict[str, str]:
    return pairs(asked.config, "--config", "indextables.checkpoint.interval=20")


def _schema_string(source: str | None) -> str | None:
    if source is None:
        return None
    from headgate_schemas.table_schema import schema_string_of

    return schema_string_of(schema(source))
