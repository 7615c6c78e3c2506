"""`headgate load`: loads rows of files, or of standard input, into a table."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.propose.receipts import accepted, receipt_row
from headgate.cli.terminal.given import DryRun, Uri, app_and_seq, names, size_bytes
from headgate.cli.terminal.session import CHANGES_A_TABLE, Session, command
from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    from headgate.commits import Commits
    from headgate_schemas.actions.actions import AddFile
    from headgate_schemas.messages.operations import Receipt
    from headgate_table.rows.writing import RowsTarget

_MIB = 1 << 20


def register(app: typer.Typer) -> None:
    command(app, "load", load, also=CHANGES_A_TABLE)


def load(
    session: Session,
    uri: Uri,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Parquet, CSV or NDJSON; a pattern in quotes; - is standard input."),
    ],
    input_format: Annotated[
        str | None,
        typer.Option("--input-format", metavar="FORMAT", help="parquet, csv or ndjson, whatever the names say."),
    ] = None,
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="a,b", help="Columns that a new table is partitioned by.")
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode", help="append, overwrite, overwrite_partitions, error (if there is a table) or ignore (then)."
        ),
    ] = "append",
    where: Annotated[
        str | None, typer.Option("--where", metavar="EXPR", help="With --mode overwrite: the partitions to replace.")
    ] = None,
    schema_evolution: Annotated[
        bool, typer.Option("--schema-evolution", help="Add the columns that the table lacks.")
    ] = False,
    target_size: Annotated[
        str | None, typer.Option("--target-size", metavar="SIZE", help="Of the files that are written, such as 128M.")
    ] = None,
    writer: Annotated[
        str | None,
        typer.Option(
            "--writer",
            metavar="APP:SEQ",
            help="Who loads, and that one's own counter: a repetition is known. Needs a bus.",
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Load files into a table, in one version. A missing table is made.

    Columns are found by name. CSV has a line of names; its empty cells are null. NDJSON has an object on each line. Names may end in
    .gz, .bz2, .zst or .lz4. The types are those of the table, or for a new one of the first megabytes.
    """
    from headgate_table.rows.input_files import InputFormat, input_files, input_rows
    from headgate_table.rows.writing import RowsOrder, checked_rows, written_rows

    if input_format is not None and input_format not in list(InputFormat):
        raise typer.BadParameter(f"{input_format!r} is none of {', '.join(InputFormat)}", param_hint="'--input-format'")
    order = RowsOrder.of(
        mode,
        where,
        names(partition_by, "--partition-by"),
        schema_evolution,
        None if target_size is None else size_bytes(target_size, "--target-size"),
    )
    known = None if writer is None else app_and_seq(writer, "--writer")
    found = input_files(files, None if input_format is None else InputFormat(input_format))
    with session.committing() as commits:
        if known is not None and commits.are_direct:
            raise InvalidInput("a writer's counter is kept by committers: set a bus, or leave --writer out")
        target = _target(session, commits, uri)
        total = max(1, sum(file.size for file in found) // _MIB)
        with session.output.counting("MiB read", total) as watch:
            rows = input_rows(found, _types(target), sys.stdin.buffer, lambda done: watch(done // _MIB))
            if dry_run:
                session.output.one(
                    {"table_path": target.address, "files": len(found), **checked_rows(target, rows, order)}
                )
                return
            result = written_rows(target, rows, order)
        session.output.one(_committed(commits, target, uri, result, known))


def _target(session: Session, commits: "Commits", uri: str) -> "RowsTarget":
    from headgate.commits import RECEIPT_WITHIN_S
    from headgate_producer.proposed_rows import ProposedTable
    from headgate_schemas.messages.operations import Create
    from headgate_table.rows.written_table import WrittenTable
    from headgate_table.table import Table

    if not commits.are_direct:
        return ProposedTable(commits.producer(uri), RECEIPT_WITHIN_S)

    def made(operation: Create) -> Table:
        return Table.create(
            uri,
            operation.schema_string,
            operation.partition_columns,
            storage=session.loaded.store,
            settings=session.loaded.table,
            ambient=session.ambient,
        )

    return WrittenTable(session.open_store(uri), session.ambient, lambda: session.open(uri), made)


def _types(target: "RowsTarget") -> dict[str, Any]:
    """The types of the table's columns; none if there is no table yet."""
    from headgate_schemas.columns.table_schema import arrow_schema

    seen = target.look()
    return {} if seen is None else {field.name: field.type for field in arrow_schema(seen.schema_string)}


def _committed(commits: "Commits", target: "RowsTarget", uri: str, result: Any, writer: Any) -> dict[str, Any]:
    from headgate_schemas.messages.operations import Duplicate, Rejected

    files: tuple[AddFile, ...] = ()
    receipt: Receipt
    if isinstance(result, Duplicate | Rejected):
        receipt = result
    else:
        files = result.files
        if commits.are_direct:
            receipt = target.change(result)
        else:
            receipt = commits.receipt(commits.producer(uri).propose(result, writer=writer), uri)
    accepted(receipt)
    return {**receipt_row(receipt), "files": len(files), "rows": sum(file.num_records or 0 for file in files)}
