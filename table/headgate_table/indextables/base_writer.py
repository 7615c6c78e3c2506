"""Writing what takes the place of many versions: a state, or a JSON checkpoint for readers that know no Avro."""

from headgate_schemas.actions import Metadata
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.operations import CompactState
from headgate_table.indextables.checkpoint_writer import CheckpointWriter
from headgate_table.indextables.log_reader import LoadedLog, LogReader
from headgate_table.indextables.memory_text import KeptMemory
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.resolve import BaseKind
from headgate_table.indextables.state_writer import StateWriter

_log = get_logger("headgate.state")


def base_kind(options: TableOptions) -> BaseKind:
    """What the settings ask for."""
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
    """A state or checkpoint of the loaded version, with what the table remembers; returns the log with it as its base."""
    if base_kind(options) is BaseKind.CHECKPOINT:
        based = CheckpointWriter(reader, ambient, options).write(log, metadata, memory)
        _log.info("checkpoint_written", table=reader.store.uri, version=log.version, files=len(based.delta.added))
        return based
    written = StateWriter(reader, ambient, options).write(log, metadata, memory, swap)
    _log.info(
        "state_written",
        table=reader.store.uri,
        version=written.state.version,
        files=written.state.num_files,
        manifests=len(written.state.manifests),
        tombstones=len(written.state.tombstones),
    )
    return written.log
