"""`verify`: checks all objects of a table's log and folder, and reports all faults.

Each part has its own module; damage becomes a finding everywhere. It reads with a cache of its own, so that no cached
object hides the present one on the store.
"""

from dataclasses import replace
from functools import partial

import pyarrow as pa

from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.logs import get_logger
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.path_orders import PathOrders
from headgate_table.errors import TableNotFound
from headgate_table.indextables.log.inventory import LogInventory, take_inventory
from headgate_table.indextables.log.lost_versions import lost_versions
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.rules.named_files import swapped_manifests
from headgate_table.indextables.verify.files import verify_data_files
from headgate_table.indextables.verify.log import (
    verify_names,
    verify_numbers,
    verify_obstacles,
    verify_pointer,
    verify_predecessors,
)
from headgate_table.indextables.verify.states import ContentVerifier
from headgate_table.interface.findings import Findings, VerifyReport

_log = get_logger("headgate.verify")
_LIVE_COLUMNS = ("path", "size", "partition_values", "num_records", "min_values", "max_values")
_REPAIR = "`headgate table repair` saves what is readable into a new log"


def verify_table(reader: LogReader, ambient: Ambient, *, data_files: bool = True) -> VerifyReport:
    """Check the whole table; without `data_files` only its log.

    Raises `StoreError` only if the store doesn't answer, and `TableNotFound` if nothing of a log is left.
    """
    uri = reader.store.uri
    fresh = LogReader(
        reader.store, replace(reader.resources, cache=ObjectCache(ambient.monotonic_s), disk=None, orders=PathOrders())
    )
    findings = Findings()
    inventory = take_inventory(fresh.store)
    verify_names(inventory, findings)
    verify_obstacles(fresh.store, inventory, findings)
    verify_pointer(fresh, inventory, findings)
    contents = ContentVerifier(fresh, inventory, findings)
    contents.verify()
    lost = lost_versions(fresh, inventory.versions, contents.anchors)
    verify_predecessors(contents.replacements.found(contents.anchors(), fresh), findings)
    verify_numbers(inventory, contents.anchors(), lost, findings)
    _verify_orphan_manifests(fresh, inventory, contents.referenced, findings)
    log = _newest(fresh, inventory, findings)
    live = None if log is None else _verify_newest(fresh, log, findings)
    if log is not None and live is not None and data_files:
        verify_data_files(fresh, inventory, fresh.metadata(log), live, findings)
    report = findings.report(uri, -1 if log is None else log.version)
    _log.info("table_verified", table=uri, version=report.version, errors=report.errors, findings=len(report.findings))
    return report


def _newest(reader: LogReader, inventory: LogInventory, findings: Findings) -> LoadedLog | None:
    try:
        return findings.attempt(reader.store.uri, reader.latest, _REPAIR)
    except TableNotFound as error:
        if not inventory.strays and not inventory.shared_manifests and inventory.pointer is None:
            raise
        findings.error(reader.store.uri, str(error), _REPAIR)
        return None


def _verify_newest(reader: LogReader, log: LoadedLog, findings: Findings) -> pa.Table | None:
    """The newest version is completely readable, and its metadata is valid."""
    name = f"version {log.version}"
    metadata = findings.attempt(name, lambda: reader.metadata(log), _REPAIR)
    if metadata is not None:
        columns = findings.attempt(
            name,
            lambda: column_kinds(metadata.schema_string),
            "filters and rows can't be had; make a new table of the live files, with the right columns",
        )
        unknown = [column for column in metadata.partition_columns if columns is not None and column not in columns]
        if unknown:
            findings.warning(
                name,
                f"the schema has no column {unknown[0]}, by which the table is partitioned",
                "filters on this column are refused; add it to the schema",
            )
    return findings.attempt(
        name,
        lambda: read_entries(reader.store, reader.resources, log, _LIVE_COLUMNS)[0],
        _REPAIR,
    )


def _verify_orphan_manifests(
    reader: LogReader, inventory: LogInventory, referenced: set[str], findings: Findings
) -> None:
    newest = max(inventory.readable_states(), default=-1)
    awaited: set[str] = set()
    for version in inventory.versions:
        if version > newest:
            # The reads of the versions reported the damage.
            awaited.update(swapped_manifests(Findings().attempt("", partial(reader.actions, version), "") or ()))
    for key in sorted(set(inventory.manifest_objects()) - referenced - awaited):
        findings.note(
            key, "no state refers to this manifest", "a writer may be about to; purge deletes it once it is old"
        )
