"""Merges and cleans right after a direct commit, if the table's settings ask for it.

For commits through a bus, workers do this. The commit stands, whatever happens here.
"""

from collections.abc import Callable

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import describe_error, get_logger
from headgate_schemas.messages.operations import Append, Committed, Delete, Operation, Overwrite, Receipt, Restore
from headgate_table.settings.option_conflicts import contradiction
from headgate_table.settings.options import TableOptions
from headgate_table.table import Table

_log = get_logger("headgate.on_write")


def is_asked_for(options: TableOptions) -> bool:
    """Whether a direct commit must do anything afterwards."""
    return (options.merge_on_write and not options.merge_on_write_async) or (
        options.purge_on_write and not options.purge_on_write_async
    )


def after_commit(
    table: Table,
    operation: Operation,
    receipt: Receipt,
    seen_options: Callable[[], TableOptions],
    ambient: Ambient,
    scratch_folder: str = "",
) -> None:
    """Do the work that the table's settings ask for after this direct commit. Raises nothing.

    An interrupt stops only this work: the commit stands.
    """
    if not (isinstance(receipt, Committed) and isinstance(operation, Append | Overwrite | Delete | Restore)):
        return
    try:
        options = seen_options()
        if not is_asked_for(options):
            return
        problem = contradiction(options)
        if problem is not None:
            _log.warning("settings_contradict", table=table.uri, reason=problem)
            return
        merged = False
        if options.merge_on_write and not options.merge_on_write_async:
            merged = _merge(table, options, ambient, scratch_folder)
        if options.purge_on_write and not options.purge_on_write_async and _is_due(table, options, receipt, merged):
            table.purge(options.purge_on_write_file_hours, options.purge_on_write_log_hours)
    except Exception as error:  # noqa: BLE001 - a defect here must not make a commit look as if it had failed
        _log.warning("on_write_failed", table=table.uri, kind=type(error).__name__, reason=describe_error(error))


def _merge(table: Table, options: TableOptions, ambient: Ambient, scratch_folder: str) -> bool:
    """Whether anything was merged."""
    # These import the worker, which few tables need.
    from headgate.upkeep.merges import TableMerge
    from headgate_worker.merge.table_settings import on_write_limits

    limits = on_write_limits(options, table.metadata)
    merge = TableMerge(table, ambient, scratch_folder)
    if len(merge.plan(limits).groups) < options.merge_on_write_min_groups:
        return False
    report = merge.run(limits)
    if report.problems:
        _log.warning("on_write_left_some", table=table.uri, problems=list(report.problems))
    return report.merge_groups > 0


def _is_due(table: Table, options: TableOptions, receipt: Committed, merged: bool) -> bool:
    """Counted by version numbers, which all processes that write to the table share."""
    if merged and options.purge_on_write_after_merge:
        return True
    every = options.purge_on_write_after_writes
    return every > 0 and table.version // every > (receipt.version - 1) // every
