"""Writes a JSON checkpoint in place of a state, for readers without Avro (docs/format.md, section 1.4).

The setting `indextables.state.format` selects it. `format.json_checkpoint` makes its bytes; `state_writer` moves the
pointer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headgate_schemas.actions.actions import Action, AddFile, Metadata, Protocol
from headgate_schemas.ambient import Ambient
from headgate_table.coordination.memory_text import KeptMemory
from headgate_table.errors import CorruptTable, OutcomeUnknown
from headgate_table.indextables.format.added_files import added_files
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.format.json_checkpoint import (
    CheckpointFile,
    checkpoint_id_of,
    read_checkpoint_files,
    write_checkpoint,
)
from headgate_table.indextables.format.names import checkpoint_key
from headgate_table.indextables.format.pointer import checkpoint_pointer
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import Base, BaseKind, ReadPlan
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.write.state_writer import StateWriter, with_registry
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import AlreadyExists, Created, Unknown
from headgate_table.totals import as_total

LAST_JSON_PROTOCOL = 3
"""Version 4 means Avro states, which readers of before refuse; a checkpoint needs nothing of it."""
_AVRO_FEATURE = "avroState"


@dataclass(frozen=True, slots=True)
class WrittenCheckpoint:
    actions: Sequence[Action]
    checkpoint_id: str | None
    parts: int | None


class CheckpointWriter:
    """Writes JSON checkpoints of one table."""

    def __init__(self, reader: LogReader, ambient: Ambient, options: TableOptions) -> None:
        self._reader = reader
        self._store = reader.store
        self._ambient = ambient
        self._options = options

    def write(self, log: LoadedLog, metadata: Metadata, memory: KeptMemory) -> LoadedLog:
        """Write the checkpoint of the loaded version and return the log with it as its base.

        It holds protocol, metadata and live files; commit infos and skips stay in version files. An existing checkpoint
        is used if it lists the same files, whoever wrote it.
        """
        created_time = self._ambient.now_ms()
        live = self._live(log)
        limit = self._options.checkpoint_actions_per_part
        protocol = json_protocol(log.protocol, in_parts=len(live) + 2 > limit, has_mappings=bool(log.registry))
        kept = replace(with_registry(metadata, log.registry), coordinator=memory.floor)
        planned: list[Action] = [protocol, kept, *live]
        checkpoint_id = self._ambient.new_id()[:12]
        files, parts = write_checkpoint(
            log.version,
            planned,
            checkpoint_id=checkpoint_id,
            created_time=created_time,
            actions_per_part=limit,
        )
        for part in files[:-1]:
            self._store.put(part.key, part.data)
        written = WrittenCheckpoint(planned, None if parts is None else checkpoint_id, parts)
        if not self._create(files[-1]):
            written = self._existing(log, planned)
        adds = [action for action in written.actions if isinstance(action, AddFile)]
        StateWriter(self._reader, self._ambient, self._options).advance_pointer(
            checkpoint_pointer(
                log.version,
                num_actions=len(written.actions),
                num_files=len(adds),
                total_bytes=as_total(sum(add.size for add in adds)),
                created_time=created_time,
                checkpoint_id=written.checkpoint_id,
                parts=written.parts,
            )
        )
        return based_on_checkpoint(log, written.actions)

    def _live(self, log: LoadedLog) -> list[AddFile]:
        """The live files; those from version files with the fields that entries lack."""
        entries, _ = read_entries(self._store, self._reader.resources, log, ALL_COLUMNS)
        added = log.delta.added
        return [added[file.add.path].add if file.add.path in added else file.add for file in added_files(entries)]

    def _create(self, last: CheckpointFile) -> bool:
        """Whether this process wrote the file that makes the checkpoint valid."""
        reason = ""
        for _ in range(self._options.state_max_attempts):
            match self._store.create(last.key, last.data):
                case Created():
                    return True
                case AlreadyExists():
                    return False
                case Unknown(reason):
                    if self._store.head(last.key) is not None:
                        return False
        raise OutcomeUnknown(
            f"{last.key} of {self._store.uri} could not be written: {reason}. The version itself is committed"
        )

    def _existing(self, log: LoadedLog, planned: Sequence[Action]) -> WrittenCheckpoint:
        """The existing checkpoint of this version, if it lists the same files."""
        found = read_checkpoint_files(log.version, lambda key: self._store.get(key, max_bytes=MAX_VERSION_FILE_BYTES))
        there = [action for _, actions in found for action in actions]
        if _paths(there) != _paths(planned):
            raise CorruptTable(
                f"{checkpoint_key(log.version)} of {self._store.uri} was written by another program over version "
                f"{log.version} and lists other files. Stop that writer; `headgate table verify` shows what differs"
            )
        checkpoint_id = checkpoint_id_of(found[0][0])
        return WrittenCheckpoint(there, checkpoint_id, None if checkpoint_id is None else len(found))


def json_protocol(protocol: Protocol, *, in_parts: bool, has_mappings: bool) -> Protocol:
    """The protocol that a reader of the checkpoint needs: at most the last one before Avro states.

    Version 3 introduced both parts and mappings that are kept apart from their files.
    """
    lowest = LAST_JSON_PROTOCOL if in_parts or has_mappings else 1
    return Protocol(
        max(lowest, min(protocol.min_reader_version, LAST_JSON_PROTOCOL)),
        max(lowest, min(protocol.min_writer_version, LAST_JSON_PROTOCOL)),
        _without_avro(protocol.reader_features),
        _without_avro(protocol.writer_features),
    )


def based_on_checkpoint(log: LoadedLog, actions: Sequence[Action]) -> LoadedLog:
    """The loaded log with a checkpoint of the same version, which holds these actions, as its base."""
    delta = Delta()
    delta.apply(log.version, actions)
    return replace(
        log,
        plan=ReadPlan(log.version, Base(BaseKind.CHECKPOINT, log.version), ()),
        state=None,
        delta=delta,
        protocol=delta.protocol or log.protocol,
        known_metadata=delta.metadata or log.known_metadata,
        registry=log.registry | delta.registry,
        version_files_read=0,
    )


def _without_avro(features: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if features is None else tuple(name for name in features if name != _AVRO_FEATURE)


def _paths(actions: Sequence[Action]) -> set[str]:
    return {action.path for action in actions if isinstance(action, AddFile)}
