"""`headgate propose`: proposes one change of a table to a committer, and prints the outcome."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from headgate.cli.propose.options import (
    AskedChange,
    ChangeKind,
    IsolationName,
    ResolverName,
    check_options,
    options_by_operation,
)
from headgate.cli.propose.receipts import show_outcome
from headgate.cli.terminal.given import Uri, Where, app_and_seq, names, pairs, schema, seconds, wrong
from headgate.cli.terminal.session import ON_A_BUS, Session, command
from headgate.commits import Commits
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    Create,
    Delete,
    Milvus,
    Operation,
    Overwrite,
    Purge,
    Restore,
    Rewrite,
    Skip,
)
from headgate_schemas.milvus import Resolver, Updates

if TYPE_CHECKING:
    from headgate_schemas.actions.actions import AddFile

_ID = re.compile(r"[!-~]{1,200}")


def register(app: typer.Typer) -> None:
    command(app, "propose", propose, also=ON_A_BUS, epilog=options_by_operation())


def propose(
    session: Session,
    uri: Uri,
    kind: Annotated[
        ChangeKind, typer.Argument(metavar="OPERATION", help="The operation: " + ", ".join(ChangeKind) + ".")
    ],
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="A Parquet file in the table's folder, or in _data of a Milvus table. Repeat it for more files.",
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path", metavar="PATH", help="A file to delete, replace, skip or purge. Repeat it for more files."
        ),
    ] = None,
    where: Where = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="restore: the version to go back to.", min=0)
    ] = None,
    schema_source: Annotated[
        str | None,
        typer.Option(
            "--schema", metavar="FILE_OR_DDL", help="create, alter: the columns, such as 'id bigint', or a file."
        ),
    ] = None,
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="a,b", help="create: the partition columns.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config", metavar="KEY=VALUE", help="create, alter: a key and value of the table's configuration."
        ),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="KEY", help="alter: a key of the configuration to remove.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="create, alter: a name for people.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="create, alter: a description.")] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="skip: the reason.")] = None,
    delta_log: Annotated[
        list[str] | None,
        typer.Option(
            "--delta-log", metavar="PATH:ENTRIES[:TYPE]", help="milvus: a log of deleted rows. Repeat it for more logs."
        ),
    ] = None,
    stat: Annotated[
        list[str] | None,
        typer.Option("--stat", metavar="KEY=PATH,PATH", help="milvus: the files of a stat. Repeat it for more stats."),
    ] = None,
    updates: Annotated[
        str | None,
        typer.Option(
            "--updates",
            metavar="FILE",
            help="milvus: a file with the fields of the operation as JSON. - is standard input.",
        ),
    ] = None,
    resolver: Annotated[
        ResolverName | None,
        typer.Option("--resolver", help="milvus: how to treat versions after the one that was read. Default: merge."),
    ] = None,
    read_version: Annotated[
        int | None,
        typer.Option(
            "--read-version", metavar="N", help="milvus: the version that was read, for fail and overwrite.", min=0
        ),
    ] = None,
    writer: Annotated[
        str | None,
        typer.Option("--writer", metavar="APP:SEQ", help="The application and its counter. No seq commits twice."),
    ] = None,
    based_on: Annotated[
        int | None, typer.Option("--based-on", metavar="N", help="The version that this change is based on.", min=0)
    ] = None,
    reads: Annotated[
        str | None,
        typer.Option(
            "--reads",
            metavar="EXPR",
            help="serializable: a predicate of the files that were read from that version. Default: all files.",
        ),
    ] = None,
    isolation: Annotated[
        IsolationName,
        typer.Option(
            "--isolation", help="snapshot, or serializable: refuse the change if files that were read changed since."
        ),
    ] = IsolationName.SNAPSHOT,
    proposal_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Repeat the proposal with this id.")
    ] = None,
    created: Annotated[
        int | None,
        typer.Option(
            "--created", metavar="MS", help="With an id of your own: the time of the first attempt, in epoch ms.", min=0
        ),
    ] = None,
    wait: Annotated[str, typer.Option("--wait", metavar="TIME", help="The longest wait for the receipt.")] = "30s",
) -> None:
    """Propose one change to a committer, and print the receipt.

    The exit code is 0 if the change is committed now or was committed before, 1 if it is rejected, and 3 if no receipt
    came in time.
    """
    wait_s = seconds(wait, "--wait")
    by = None if writer is None else app_and_seq(writer, "--writer")
    if proposal_id is not None and not _ID.fullmatch(proposal_id):
        raise wrong(f"{proposal_id!r} is no id: it has 1 to 200 visible ASCII characters and no spaces", "--id")
    if created is not None and proposal_id is None:
        raise wrong("--created is the time of the first attempt with an id: give --id as well", "--created")
    asked = AskedChange(
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
        tuple(delta_log or ()),
        tuple(stat or ()),
        updates,
        resolver,
        read_version,
    )
    check_options(kind, asked)
    with Commits(session.bus_address, session.loaded.store, session.ambient) as commits:
        operation = _operation(session, uri, kind, asked, based_on)
        ticket = commits.producer(uri).propose(
            operation,
            writer=by,
            based_on=operation.based_on if isinstance(operation, Alter) else based_on,
            reads=reads,
            isolation=isolation.value,
            proposal_id=proposal_id,
            created=created,
        )
        same = ticket.proposal_id if created is None else f"{ticket.proposal_id} --created {created}"
        again = f"Give the same command with --id {same} to ask again: it can't be committed twice"
        show_outcome(session, ticket, wait_s, again)


def _operation(session: Session, uri: str, kind: ChangeKind, asked: AskedChange, based_on: int | None) -> Operation:
    from headgate_table.parquet.file_schema import told_columns

    match kind:
        case ChangeKind.CREATE:
            return Create(
                _schema_string(asked.schema) or "",
                tuple(names(asked.partition_by, "--partition-by") or ()),
                _configuration(asked),
                asked.name,
                asked.description,
            )
        case ChangeKind.APPEND:
            files = _files(session, uri, asked.files)
            return Append(files, told_columns(files))
        case ChangeKind.OVERWRITE:
            files = _files(session, uri, asked.files)
            return Overwrite(files, asked.where, told_columns(files))
        case ChangeKind.DELETE:
            return Delete(asked.paths, asked.where)
        case ChangeKind.REWRITE:
            files = _files(session, uri, asked.files)
            return Rewrite(asked.paths, files, told_columns(files))
        case ChangeKind.RESTORE:
            return Restore(asked.version or 0)
        case ChangeKind.SKIP:
            return _skip(session, asked)
        case ChangeKind.ALTER:
            seen = session.open(uri).version if based_on is None else based_on
            unset: dict[str, str | None] = dict.fromkeys(asked.unset)
            return Alter(
                seen, unset | _configuration(asked), asked.description, asked.name, _schema_string(asked.schema)
            )
        case ChangeKind.PURGE:
            return Purge(asked.paths)
        case ChangeKind.MILVUS:
            return _transaction(session, uri, asked)
        case _:
            assert_never(kind)


def _transaction(session: Session, uri: str, asked: AskedChange) -> Milvus:
    from headgate.cli.propose.milvus_updates import appended, delta_log, document, stats

    resolver = None if asked.resolver is None else Resolver(asked.resolver.value)
    if asked.updates is not None:
        return document(asked.updates, resolver, asked.read_version)
    updates = Updates(
        appended_files=(appended(session.open_store(uri), asked.files),) if asked.files else (),
        added_delta_logs=tuple(map(delta_log, asked.delta_logs)),
        added_stats=stats(asked.stats),
    )
    return Milvus(updates, resolver or Resolver.MERGE, asked.read_version)


def _files(session: Session, uri: str, paths: Sequence[str]) -> "tuple[AddFile, ...]":
    """Files in the table's own folder, described by their footers."""
    from headgate_table.data_file import DataFile

    store = session.open_store(uri)
    table = session.open(uri)
    options, metadata = table.options, table.metadata
    is_told = metadata.format_provider == "parquet" and bool(metadata.schema_string)
    return tuple(
        DataFile.of_parquet(
            _relative(path, (uri.rstrip("/"), store.uri)),
            store=store,
            indexed_columns=options.data_skipping_columns,
            max_text_length=options.stats_max_length,
            schema=metadata.schema_string if is_told else None,
            partition_columns=metadata.partition_columns,
        )
        for path in paths
    )


def _relative(path: str, roots: Sequence[str]) -> str:
    """The path relative to the table; a path may begin with the table's own address."""
    for root in roots:
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path


def _skip(session: Session, asked: AskedChange) -> Skip:
    from headgate_schemas.actions.actions import SkipFile

    now_ms = session.ambient.now_ms()
    return Skip(
        tuple(SkipFile(path, now_ms, asked.reason or "", operation="merge", skip_count=1) for path in asked.paths)
    )


def _configuration(asked: AskedChange) -> dict[str, str]:
    return pairs(asked.config, "--config", "indextables.checkpoint.interval=20")


def _schema_string(source: str | None) -> str | None:
    if source is None:
        return None
    from headgate_schemas.columns.table_schema import schema_string_of

    return schema_string_of(schema(source))
