"""`headgate table files|describe|log|history|changes`: print the present and past contents of a table."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.terminal.cells import human_time
from headgate.cli.terminal.given import Uri, Where, moment, names
from headgate.cli.terminal.output import Format
from headgate.cli.terminal.session import Session, command, fail

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate_table.interface.answers import SkippedFile
    from headgate_table.milvus.snapshot import MilvusSnapshot

_FILES_FIRST = ("path", "partition_values", "size", "num_records", "added_at_version", "modification_time")
_CHANGES = ("change", "path", "partition_values", "size", "num_records", "data_change", "version", "timestamp")
_CHANGES_SPARE = ("partition_values", "timestamp", "data_change", "num_records")
_HISTORY_SHOWN = ("version", "time", "operation", "adds", "removes", "net_files", "proposals")
_HISTORY = (*_HISTORY_SHOWN, "added_bytes", "removed_bytes", "source")
LOG_SHOWN = ("version", "action_type", "path", "partition_values", "size", "num_records", "is_checkpoint")
LOG_SPARE = ("partition_values", "num_records", "is_checkpoint")

Version = Annotated[int | None, typer.Option("--version", metavar="N", help="Read the table at this version.", min=0)]
Timestamp = Annotated[
    str | None,
    typer.Option(
        "--timestamp", metavar="T", help="Read the table at this time: ISO 8601 (UTC without a zone) or epoch ms."
    ),
]


def register(tables: typer.Typer) -> None:
    command(tables, "files", files)
    command(tables, "describe", describe)
    command(tables, "log", log)
    command(tables, "history", history)
    command(tables, "changes", changes)


def files(
    session: Session,
    uri: Uri,
    version: Version = None,
    timestamp: Timestamp = None,
    where: Where = None,
    columns: Annotated[
        str | None, typer.Option("--columns", metavar="a,b", help="Only these columns, or 'all'.")
    ] = None,
) -> None:
    """List the live files, sorted by path."""
    from headgate_table.indextables.format.entries import ALL_COLUMNS
    from headgate_table.indextables.read.snapshot import DEFAULT_COLUMNS
    from headgate_table.milvus.snapshot import MilvusSnapshot

    snapshot = session.open(uri).snapshot(version, None if timestamp is None else moment(timestamp), where)
    wanted = names(columns, "--columns")
    if isinstance(snapshot, MilvusSnapshot):
        _milvus_files(session, snapshot, None if wanted == ["all"] else wanted)
        return
    chosen = [*_FILES_FIRST, *(name for name in DEFAULT_COLUMNS if name not in _FILES_FIRST)]
    if wanted == ["all"]:
        chosen = [*chosen, *(name for name in ALL_COLUMNS if name not in chosen)]
    elif wanted is not None:
        chosen = wanted
    found = snapshot.files(tuple({"path": None} | dict.fromkeys(chosen)))
    found = found.sort_by("path")
    session.output.rows(
        found.select(chosen),
        chosen,
        shown=_FILES_FIRST if wanted is None else None,
        spare=("partition_values", "modification_time", "added_at_version") if wanted is None else (),
        nothing=f"No live file{'s' if where is None else ' matches'} at version {snapshot.version}.",
    )
    if found.num_rows:
        session.output.note(f"{_count(found.num_rows, 'file')} at version {snapshot.version}.")


def _milvus_files(session: Session, snapshot: "MilvusSnapshot", wanted: list[str] | None) -> None:
    from headgate_table.milvus.snapshot import FILE_COLUMNS

    chosen = list(FILE_COLUMNS.names if wanted is None else wanted)
    found = snapshot.files(tuple({"path": None} | dict.fromkeys(chosen))).sort_by("path")
    session.output.rows(found.select(chosen), chosen, nothing=f"No data file at version {snapshot.version}.")
    if found.num_rows:
        session.output.note(f"{_count(found.num_rows, 'file')} at version {snapshot.version}.")


def describe(session: Session, uri: Uri) -> None:
    """Describe the newest version and state in numbers."""
    description = session.open(uri).describe()
    if description.format == "error":
        raise fail(description.status.removeprefix("ERROR: "))
    if session.format is Format.TABLE:
        skipped: list[Any] = [_left_alone(file) for file in description.skipped]
    else:
        skipped = [asdict(file) for file in description.skipped]
    session.output.one({**description, "skipped": skipped})


def log(
    session: Session,
    uri: Uri,
    include_all: Annotated[bool, typer.Option("--all", help="Start at version 0, not at the newest state.")] = False,
) -> None:
    """List the actions of the log.

    It shows the newest state and the versions after it. The formats json and csv have all 47 columns.
    """
    from headgate.statements.columns import OUTPUT_COLUMNS
    from headgate.statements.execute import describe_log
    from headgate.statements.statements import DescribeLog

    columns = [column.name for column in OUTPUT_COLUMNS[DescribeLog]]
    session.output.rows(
        describe_log(session.open(uri), include_all=include_all), columns, shown=LOG_SHOWN, spare=LOG_SPARE
    )


def history(
    session: Session,
    uri: Uri,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="Only the newest N.", min=1)] = None,
) -> None:
    """List the versions, newest first."""
    session.output.rows(session.open(uri).history(limit), _HISTORY, shown=_HISTORY_SHOWN, spare=("proposals",))


def changes(
    session: Session,
    uri: Uri,
    since: Annotated[
        int, typer.Option("--since", metavar="N", help="Start after this version. -1 is before the first.", min=-1)
    ],
    until: Annotated[
        int | None, typer.Option("--until", metavar="M", help="Stop at this version. Default: the newest.", min=0)
    ] = None,
) -> None:
    """List the files added and removed between versions."""
    found = session.open(uri).changes(since, until)
    if session.format is Format.JSON:
        session.output.one(
            {
                "since": since,
                "version": found.version,
                "added": found.added.to_pylist(maps_as_pydicts="lossy"),
                "removed": found.removed.to_pylist(maps_as_pydicts="lossy"),
            }
        )
        return
    rows = [
        *_change_rows("removed", found.removed),
        *_change_rows("added", found.added),
    ]
    columns = _CHANGES if "partition_values" in found.added.schema.names else ("change", *found.added.schema.names)
    session.output.rows(
        rows, columns, spare=_CHANGES_SPARE, nothing=f"Nothing changed from version {since} to {found.version}."
    )
    if rows:
        session.output.note(
            f"{_count(found.added.num_rows, 'file')} added, {_count(found.removed.num_rows, 'file')} removed, "
            f"from version {since} to {found.version}."
        )


def _change_rows(change: str, table: "pa.Table") -> list[dict[str, Any]]:
    return [
        {
            "change": change,
            **row,
            "version": row.get(f"{change}_at_version"),
            "timestamp": row.get(f"{change}_at_timestamp"),
        }
        for row in table.sort_by("path").to_pylist(maps_as_pydicts="lossy")
    ]


def _left_alone(file: "SkippedFile") -> str:
    until = "for now" if file.retry_after is None else f"until {human_time(file.retry_after)}"
    return f"{file.path} {until} ({file.reason})"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
