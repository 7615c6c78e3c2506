"""`headgate table rebind`: an operator decides that this bus feeds a table from now on."""

import typer

from headgate.cli.terminal.given import Uri
from headgate.cli.terminal.session import ON_A_BUS, Session, command


def register(tables: typer.Typer) -> None:
    command(tables, "rebind", rebind, also=ON_A_BUS)


def rebind(session: Session, uri: Uri) -> None:
    """Feed the table from this bus from now on.

    Use it if a committer refuses the table because its bus was rebuilt, restored or trimmed. First find the proposals of
    the old bus that are not in the table. They must be proposed again.
    """
    from headgate_committer.rebind.rebind import rebind as bind
    from headgate_table.caching.resources import process_resources
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.settings.options import table_options
    from headgate_table.store.addresses import table_address

    overrides = session.loaded.table
    with session.bus_in_force() as bus:
        reader = LogReader(session.open_store(table_address(uri)), process_resources())
        report = bind(
            bus,
            reader,
            session.ambient,
            lambda configuration: table_options(configuration, overrides),
            group=session.loaded.committer.group,
        )
    session.output.one(
        {
            "table_path": report.table,
            "version": report.version,
            "source": str(report.source),
            "position": report.position,
            "previous_source": None if report.previous is None else str(report.previous),
            "previous_position": report.previous_position,
            "reason": report.reason,
        }
    )
    session.output.note("Bound." if report.version is not None else "Nothing was changed.")
