"""Writes a base that replaces many versions: a state, or a JSON checkpoint for readers without Avro."""

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.measures import Measures
from headgate_schemas.messages.operations import CompactState
from headgate_schemas.metrics import (
    STATE_TOMBSTONE_RATIO,
    STATE_TOMBSTONES,
    STATE_WRITE_FILES,
    STATE_WRITE_MANIFESTS,
    STATE_WRITE_SECONDS,
)
from headgate_table.coordination.memory_text import KeptMemory
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import BaseKind
from headgate_table.indextables.write.checkpoint_writer import CheckpointWriter
from headgate_table.indextables.write.state_writer import StateWriter
from headgate_table.settings.options import TableOptions

_log = get_logger("headgate.state")


def base_kind(options: TableOptions) -> BaseKind:
    """The kind of base in the settings."""
    return BaseKind.CHECKPOINT if options.state_format == "json" else BaseKind.STATE


def write_base(
    reader: LogReader,
    ambient: Ambient,
    options: TableOptions,
    log: LoadedLog,
    metadata: Metadata,
    *,
    memory: KeptMemory,
    swap: CompactState | None = None,
) -> LoadedLog:
    """Write a state or checkpoint of the loaded version, with the table's memory; returns the log with it as its base."""
    measures = reader.resources.measures
    if base_kind(options) is BaseKind.CHECKPOINT:
        based = CheckpointWriter(reader, ambient, options).write(log, metadata, memory)
        _log.info("checkpoint_written", table=reader.store.uri, version=log.version, files=len(based.delta.added))
        return based
    with measures.timing(STATE_WRITE_SECONDS, "no" if swap is None else "yes"):
        written = StateWriter(reader, ambient, options).write(log, metadata, memory, swap)
    _measure(measures, written.state)
    _log.info(
        "state_written",
        table=reader.store.uri,
        version=written.state.version,
        files=written.state.num_files,
        manifests=len(written.state.manifests),
        tombstones=len(written.state.tombstones),
    )
    return written.log


def _measure(measures: Measures, state: StateManifest) -> None:
    measures.observe(STATE_WRITE_MANIFESTS, len(state.manifests))
    measures.observe(STATE_WRITE_FILES, state.num_files)
    measures.observe(STATE_TOMBSTONES, len(state.tombstones))
    measures.observe(STATE_TOMBSTONE_RATIO, len(state.tombstones) / max(1, state.num_files))
