"""`headgate table create`: the only command here that writes a table's first version."""

from typing import Annotated

import typer

from headgate.cli.propose.receipts import accepted
from headgate.cli.terminal.given import Uri, names, pairs, schema
from headgate.cli.terminal.session import CHANGES_A_TABLE, Session, command


def register(tables: typer.Typer) -> None:
    command(tables, "create", create, also=CHANGES_A_TABLE)


def create(
    session: Session,
    uri: Uri,
    schema_source: Annotated[
        str,
        typer.Option(
            "--schema",
            metavar="FILE_OR_DDL",
            help="The columns: 'id bigint, date string', or a file (.json of Spark, .ddl or .sql, .arrow, .parquet).",
        ),
    ],
    partition_by: Annotated[
        str | None, typer.Option("--partition-by", metavar="a,b", help="The partition columns.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            metavar="KEY=VALUE",
            help="A key and value of the table's configuration, such as indextables.checkpoint.interval=20. Repeat it for more.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="A name for people.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="A description.")] = None,
) -> None:
    """Create a table."""
    columns = schema(schema_source)
    partitions = names(partition_by, "--partition-by") or ()
    configuration = pairs(config or (), "--config", "indextables.checkpoint.interval=20")
    with session.committing() as commits:
        if commits.are_direct:
            from headgate_table.table import Table

            table = Table.create(
                uri,
                columns,
                partitions,
                configuration,
                name=name,
                description=description,
                storage=session.loaded.store,
                settings=session.loaded.table,
                ambient=session.ambient,
            )
        else:
            ticket = commits.producer(uri).create(
                columns, partitions, configuration, name=name, description=description
            )
            accepted(commits.receipt(ticket, uri))
            table = session.open(uri)
    metadata = table.metadata
    session.output.one(
        {
            "table_path": table.uri,
            "version": table.version,
            "table_id": metadata.id,
            "partition_columns": list(metadata.partition_columns),
        }
    )
