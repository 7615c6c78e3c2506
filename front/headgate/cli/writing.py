"""`headgate table create`: the only command here that writes a table's first version."""

from typing import Annotated

import typer

from headgate.cli.given import Uri, names, pairs, schema
from headgate.cli.session import Session, command


def register(tables: typer.Typer) -> None:
    command(tables, "create", create)


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
        str | None, typer.Option("--partition-by", metavar="a,b", help="Columns that files are partitioned by.")
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            "--config",
            metavar="KEY=VALUE",
            help="A line of the table's configuration, such as indextables.checkpoint.interval=20. Repeat for more.",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="What people call the table.")] = None,
    description: Annotated[str | None, typer.Option("--description", help="What it is about.")] = None,
) -> None:
    """Make a new table."""
    from headgate_table.table import Table

    table = Table.create(
        uri,
        schema(schema_source),
        names(partition_by, "--partition-by") or (),
        pairs(config or (), "--config", "indextables.checkpoint.interval=20"),
        name=name,
        description=description,
        storage=session.loaded.store,
        settings=session.loaded.table,
        ambient=session.ambient,
    )
    metadata = table.metadata
    session.output.one(
        {
            "table_path": table.uri,
            "version": table.version,
            "table_id": metadata.id,
            "partition_columns": list(metadata.partition_columns),
        }
    )
