"""Compacting the state of a table with very many files, for `maintenance.py`: directly, by a worker, and in part.

Before, every manifest holds files of every partition, and an eighth of the files is dead. delta-rs has no such states: what
comes closest is the checkpoint that makes one list of what a first checkpoint and later commits leave. It does less: it
sorts nothing, and nobody checks it.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from parts.measuring import Measured, repeat
from parts.tables import COLUMNS, PARTITION, headgate_entries, make_delta, path_of

PATHS = {
    "headgate": "Table.open(uri).compact()",
    "headgate worker": "CompactRole(tables.open, ambient).run(task), by way of SQLite and a committer in the same process",
    "headgate part": "Table.open(uri).compact(full=False), where all entries of four manifests are dead, and no others",
    "delta-rs": "DeltaTable(uri).create_checkpoint()",
}
MANIFESTS = 28
DEAD_EVERY = 8
DEAD = 4
"""Manifests of which nothing is left, where only some are rewritten."""


def make_fragmented(folder: str, files: int) -> None:
    """A table whose manifests all have files of every partition; of every eight, the first is dead."""
    _make_state(folder, files, range(0, files, DEAD_EVERY))


def make_dirty(folder: str, files: int) -> None:
    """The same files; all those of a few manifests are dead, others aren't."""
    _make_state(folder, files, [number for first in range(DEAD) for number in range(first, files, MANIFESTS)])


def _make_state(folder: str, files: int, dead: Any) -> None:
    from headgate_schemas.actions.actions import CommitInfo
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.caching.resources import process_resources
    from headgate_table.indextables.format.names import state_key, version_key
    from headgate_table.indextables.format.pointer import state_pointer
    from headgate_table.indextables.format.state_manifest import StateManifest, encode_state
    from headgate_table.indextables.format.version_file import encode_actions
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.indextables.rules.swap import manifest_info
    from headgate_table.indextables.write.manifest_writer import write_manifest
    from headgate_table.indextables.write.state_writer import StateWriter
    from headgate_table.settings.options import TableOptions
    from headgate_table.table import Table

    ambient, options = SystemAmbient(), TableOptions()
    table = Table.create(folder, COLUMNS, [PARTITION])
    manifests = []
    for first in range(MANIFESTS):
        entries = headgate_entries(first, len(range(first, files, MANIFESTS)), MANIFESTS)
        manifests.append(manifest_info(write_manifest(table.store, ambient, options, entries, table.metadata)))
    tombstones = tuple(path_of(number) for number in dead)
    live = files - len(tombstones)
    state = StateManifest(
        1, ambient.now_ms(), live, live * 1_000_000, tuple(manifests), tombstones, metadata=table.metadata
    )
    table.store.put(version_key(1), encode_actions([CommitInfo({"timestamp": ambient.now_ms()})]))
    table.store.put(state_key(1), encode_state(state, bytes(16)))
    StateWriter(LogReader(table.store, process_resources()), ambient, options).advance_pointer(
        state_pointer(1, live, live * 1_000_000, ambient.now_ms())
    )


def make_delta_with_removes(folder: str, files: int) -> None:
    """The same files in a checkpoint, then a commit that removes one of every eight."""
    make_delta(folder, files)
    with (Path(folder) / "_delta_log" / f"{1:020d}.json").open("w") as out:
        for number in range(0, files, DEAD_EVERY):
            body = {"path": path_of(number), "deletionTimestamp": 1, "dataChange": True, "size": 1_000_000 + number}
            out.write(json.dumps({"remove": body}) + "\n")


def compact_directly(folder: str, runs: int) -> Measured:
    return _compact_headgate(folder, runs, full=True)


def compact_in_part(folder: str, runs: int) -> Measured:
    return _compact_headgate(folder, runs, full=False)


def _compact_headgate(folder: str, runs: int, *, full: bool) -> Measured:
    from headgate_schemas.messages.operations import Committed
    from headgate_table.table import Table

    _import_what_is_used()
    with copies(folder) as (place, prepare):

        def work() -> str:
            table = Table.open(place(), resources=_fresh_resources())
            receipt = table.compact(full=full)
            assert isinstance(receipt, Committed), receipt
            return _result(table)

        return repeat(runs, prepare, work)


def compact_by_worker(folder: str, runs: int) -> Measured:
    from headgate.embedded import committing
    from headgate_bus.open import open_bus
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.caching.resources import lean_resources
    from headgate_table.indextables.format.names import state_key
    from headgate_table.store.addresses import table_address
    from headgate_table.store.settings import StoreSettings
    from headgate_worker.roles.compact import CompactRole
    from headgate_worker.roles.interface import CompactTask
    from headgate_worker.tables import ProposedTables, Proposing

    _import_what_is_used()
    ambient = SystemAmbient()
    with copies(folder) as (place, prepare), tempfile.TemporaryDirectory(prefix="headgate-bus-") as bus_folder:
        address = f"sqlite:///{bus_folder}/bus.db"
        bus = open_bus(address, ambient)
        bus.prepare()
        settings = StoreSettings()
        proposing = Proposing(bus, settings, ambient, "benchmark", open_producers=1, receipt_s=600.0)
        tables = ProposedTables(settings, lean_resources(ambient.monotonic_s), ambient, proposing)
        role = CompactRole(tables.open, ambient)

        def work() -> str:
            uri = table_address(place())
            report = role.run(CompactTask(uri, "benchmark", 0))
            assert report.version is not None, report
            table = tables.open(uri)
            while table.store.head(state_key(report.version)) is None:  # the committer writes it beside
                ambient.sleep(0.005)
            return _result(table)

        with committing(address):
            measured = repeat(runs, prepare, work)
        tables.close()
        bus.close()
        return measured


def checkpoint_delta(folder: str, runs: int) -> Measured:
    from deltalake import DeltaTable

    with copies(folder) as (place, prepare):

        def work() -> str:
            table = DeltaTable(place())
            table.create_checkpoint()
            return f"checkpoint at {table.version()}"

        return repeat(runs, prepare, work)


def _import_what_is_used() -> None:
    """Imports are not part of the work."""
    import numpy  # noqa: F401
    import pyarrow.compute  # noqa: F401

    from headgate_table.avro import decode, encode  # noqa: F401


def _fresh_resources() -> Any:
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.caching.cache import ObjectCache
    from headgate_table.caching.resources import new_resources

    return new_resources(ObjectCache(SystemAmbient().monotonic_s))


def _result(table: Any) -> str:
    state = table.reader.latest().state
    return f"{state.num_files:,} files in {len(state.manifests)} manifests, {len(state.tombstones):,} tombstones"


@contextmanager
def copies(folder: str) -> Iterator[tuple[Callable[[], str], Callable[[], None]]]:
    """Where the newest copy of the table is, and what makes one: of links, since nothing is ever written in place."""
    scratch = tempfile.mkdtemp(prefix="copies-", dir=Path(folder).parent)
    places: list[str] = []

    def prepare() -> None:
        # Those from before stay until the end: a committer may still have something to write there.
        places.append(f"{scratch}/{len(places)}")
        shutil.copytree(folder, places[-1], copy_function=os.link)

    try:
        yield lambda: places[-1], prepare
    finally:
        shutil.rmtree(scratch)


COMPACTIONS: dict[str, tuple[Callable[[str, int], None], Callable[[str, int], Measured]]] = {
    "headgate": (make_fragmented, compact_directly),
    "headgate worker": (make_fragmented, compact_by_worker),
    "headgate part": (make_dirty, compact_in_part),
    "delta-rs": (make_delta_with_removes, checkpoint_delta),
}
