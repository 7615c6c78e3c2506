"""Direct commits: one operation, decided and written as the next version with optimistic retries.

For tools and single writers. The rules are `decide`'s, the numbering and the outcomes those of docs/format.md, section 6.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from headgate_schemas.actions import (
    MAX_PROTOCOL_VERSION,
    NULL_PARTITION,
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
)
from headgate_schemas.ambient import Ambient
from headgate_schemas.doc_mapping import registry_key
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.operations import Committed, CompactState, Operation, Receipt, Rejected
from headgate_schemas.table_schema import column_kinds
from headgate_schemas.version import __version__
from headgate_table.errors import (
    CommitConflict,
    CorruptTable,
    ObjectMissing,
    OutcomeUnknown,
    StoreError,
    UnsupportedTable,
)
from headgate_table.indextables.checkpoint_writer import CheckpointWriter
from headgate_table.indextables.decide import Effect, Refusal, decide, questions
from headgate_table.indextables.doc_mappings import deduplicate
from headgate_table.indextables.evidence import EvidenceReader
from headgate_table.indextables.log_reader import FEATURES_SINCE, READER_FEATURES, LoadedLog, LogReader
from headgate_table.indextables.names import LEGACY_STATE_MANIFEST, MAX_VERSION, checkpoint_key, state_key, version_key
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.pointer import Pointer
from headgate_table.indextables.resolve import Base, BaseKind
from headgate_table.indextables.state_writer import StateWriter
from headgate_table.indextables.statistics import limit_columns, truncate_statistics
from headgate_table.indextables.version_file import decode_actions, encode_actions
from headgate_table.store.backoff import trying_again
from headgate_table.store.interface import AlreadyExists, Created, Unknown

_log = get_logger("headgate.commit")

_WRITE_ATTEMPTS = 5
"""How often one body is written when the store doesn't say what became of it."""


WRITER_FEATURES = READER_FEATURES | {"checkpoint", "optimizeWrite"}


def check_writable(protocol: Protocol, uri: str) -> None:
    """Refuse to write where only a newer Headgate may."""
    if protocol.min_writer_version > MAX_PROTOCOL_VERSION:
        raise UnsupportedTable(
            f"{uri} needs a writer of protocol {protocol.min_writer_version}; this Headgate writes up to "
            f"{MAX_PROTOCOL_VERSION}. Upgrade Headgate"
        )
    if protocol.min_writer_version >= FEATURES_SINCE:
        unknown = sorted(set(protocol.writer_features or ()) - WRITER_FEATURES)
        if unknown:
            raise UnsupportedTable(
                f"{uri} needs the writer features {', '.join(unknown)}, which this Headgate doesn't have. Upgrade Headgate"
            )


class _Lost(Exception):
    """Another writer took the number; read again and try the next."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    version: int
    proposal_id: str
    nonce: str
    actions: list[Action]
    effect: Effect
    state_at_once: bool


class DirectCommitter:
    """Commits to one table from this process. Keeps the log in memory, so that each commit reads only what is new."""

    def __init__(
        self,
        reader: LogReader,
        ambient: Ambient,
        options_for: Callable[[Mapping[str, str]], TableOptions],
    ) -> None:
        self._reader = reader
        self._store = reader.store
        self._ambient = ambient
        self._options_for = options_for
        self._evidence = EvidenceReader(reader)
        self._loaded: LoadedLog | None = None
        self._lock = threading.Lock()

    def current(self) -> LoadedLog:
        """The newest version of the log."""
        with self._lock:
            return self._refresh()

    def commit(self, operation: Operation, proposal_id: str | None = None) -> Receipt:
        """Commit or refuse. Raises `CommitConflict` when others win every attempt, `OutcomeUnknown` when nobody can tell."""
        identity = proposal_id or self._ambient.new_id()
        with self._lock:
            options = self._options()
            attempts = trying_again(
                self._ambient,
                _Lost,
                attempts=options.transaction_max_attempts,
                first_pause_s=options.transaction_base_delay_ms / 1000,
                longest_pause_s=options.transaction_max_delay_ms / 1000,
            )
            try:
                for attempt in attempts:
                    with attempt:
                        return self._attempt(operation, identity)
            except _Lost as lost:
                raise CommitConflict(
                    f"other writers took the next version of {self._store.uri} {options.transaction_max_attempts} times in a row "
                    f"(last: {lost}). Nothing was committed. Try again, raise indextables.transaction.retry.maxAttempts, "
                    f"or send proposals through a committer"
                ) from None
            raise AssertionError("the retry loop ends by returning or raising")

    def checkpoint(self) -> LoadedLog:
        """A state (or JSON checkpoint) of the newest version, now; the existing one if there is one."""
        with self._lock:
            log = self._refresh()
            options = self._options_for(self._reader.metadata(log).configuration)
            if log.plan.base == Base(self._base_kind(options), log.version) and self._is_pointed_at(log.plan.base):
                return log
            return self._write_state(log, None)

    def reload(self) -> None:
        """Forget what was read so far, because the log was cleaned."""
        with self._lock:
            self._loaded = None

    def _options(self) -> TableOptions:
        return self._options_for(self._reader.metadata(self._refresh()).configuration)

    def _refresh(self) -> LoadedLog:
        self._loaded = self._reader.latest() if self._loaded is None else self._reader.advance(self._loaded)
        return self._loaded

    def _attempt(self, operation: Operation, identity: str) -> Receipt:
        log = self._refresh()
        check_writable(log.protocol, self._store.uri)
        metadata = self._reader.metadata(log)
        options = self._options_for(metadata.configuration)
        evidence = self._evidence.gather(log, operation, questions(operation, metadata), metadata)
        now_ms = self._ambient.now_ms()
        match decide(operation, metadata, evidence, now_ms):
            case Refusal(code, reason):
                return Rejected(code, reason, identity)
            case Effect() as effect:
                pass
            case other:
                assert_never(other)
        prepared = self._prepare(log, operation, effect, metadata, options, identity, now_ms)
        self._write_version(prepared, options)
        log = self._applied(log, prepared)
        self._announce(operation, prepared)
        self._state_if_due(log, prepared, options)
        return Committed(prepared.version, identity)

    def _prepare(
        self,
        log: LoadedLog,
        operation: Operation,
        effect: Effect,
        metadata: Metadata,
        options: TableOptions,
        identity: str,
        now_ms: int,
    ) -> _Prepared:
        version = log.version + 1
        if version > MAX_VERSION:
            raise CorruptTable(
                f"{self._store.uri} has no number left: its log holds version {log.version}, which nobody can have reached. "
                f"Look for a stray file or folder with that number in _transaction_log, and move it away"
            )
        adds, mappings = self._adds(effect, metadata, options, log)
        if effect.swap is not None:
            mappings |= {registry_key(hash_): text for hash_, text in effect.swap.mappings.items()}
        changed = effect.metadata
        if mappings:
            changed = replace(changed or metadata, configuration={**(changed or metadata).configuration, **mappings})
        nonce = self._ambient.new_id()
        body: dict[str, Any] = {
            "timestamp": now_ms,
            "operation": type(operation).__name__,
            "engine": f"headgate/{__version__}",
            "nonce": nonce,
            "summary": {
                "added": len(adds),
                "removed": len(effect.removes),
                "addedBytes": sum(add.size for add in adds),
                "removedBytes": sum(remove.size or 0 for remove in effect.removes),
            },
            "decisions": [{"id": identity, "accepted": True}],
        }
        if effect.purged:
            body["purged"] = list(effect.purged)
        if effect.swap is not None:
            body["swap"] = _swap_body(effect.swap)
        actions: list[Action] = [*effect.removes, *adds, *effect.skips]
        if changed is not None:
            actions.insert(0, changed)
        actions.append(CommitInfo(body))
        ahead = self._states_run_ahead(log)
        return _Prepared(version, identity, nonce, actions, effect, effect.re_adds or effect.swap is not None or ahead)

    def _adds(
        self, effect: Effect, metadata: Metadata, options: TableOptions, log: LoadedLog
    ) -> tuple[list[AddFile], dict[str, str]]:
        """The adds as the format wants them: mappings by reference, statistics limited and shortened."""
        deduplicated = deduplicate(map(_with_stored_nulls, effect.adds), log.registry)
        columns = list(column_kinds(metadata.schema_string))
        limited = [
            truncate_statistics(
                limit_columns(add, columns, options.data_skipping_columns),
                metadata.partition_columns,
                max_length=options.stats_max_length,
                enabled=options.stats_truncation,
            )
            for add in deduplicated.adds
        ]
        return limited, {registry_key(hash_): text for hash_, text in deduplicated.new_entries.items()}

    def _states_run_ahead(self, log: LoadedLog) -> bool:
        """Whether only states tell of the newest version, as on tables of writers that keep no version files.

        Readers of such tables look at states alone, so the commit must make one (docs/format.md, section 6.3).
        """
        return log.newest_version_file < log.version

    def _write_version(self, prepared: _Prepared, options: TableOptions) -> None:
        key = version_key(prepared.version)
        data = encode_actions(prepared.actions, compressed=options.transaction_compression)
        may_be_there = False
        reason = ""
        try:
            for _ in range(_WRITE_ATTEMPTS):
                match self._store.create(key, data):
                    case Created():
                        break
                    case AlreadyExists():
                        if self._nonce_at(key) == prepared.nonce:
                            break  # ours after all: its answer had been lost
                        raise _Lost(f"version {prepared.version}")
                    case Unknown(reason):
                        may_be_there = True
                        found = self._nonce_at(key)
                        if found == prepared.nonce:
                            break
                        if found is not None:
                            raise _Lost(f"version {prepared.version}")
            else:
                raise self._unknown(prepared, reason)
            may_be_there = True
            self._check_predecessor(prepared)
        except StoreError as error:
            if may_be_there:
                raise self._unknown(prepared, str(error)) from error
            raise
        self._reader.remember_actions(prepared.version, prepared.actions, len(data))

    def _check_predecessor(self, prepared: _Prepared) -> None:
        """A version counts only if the one before it still stands: a late writer must not fill a cleaned number."""
        before = prepared.version - 1
        if before < 0:
            return
        places = (
            version_key(before),
            state_key(before),
            checkpoint_key(before),
            state_key(before, LEGACY_STATE_MANIFEST),
        )
        if all(self._store.head(key) is None for key in places):
            self._loaded = None
            raise _Lost(f"version {prepared.version}, whose predecessor was cleaned up meanwhile")

    def _unknown(self, prepared: _Prepared, reason: str) -> OutcomeUnknown:
        self._loaded = None
        return OutcomeUnknown(
            f"the store never said whether version {prepared.version} of {self._store.uri} was written ({reason}). "
            f"Look for proposal {prepared.proposal_id} with `headgate table history {self._store.uri}` before you commit again"
        )

    def _nonce_at(self, key: str) -> str | None:
        """The nonce of the version at `key`; "" for a foreign one, None if there is no such version."""
        try:
            data = self._store.get(key)
        except ObjectMissing:
            return None
        for action in decode_actions(data, key):
            if isinstance(action, CommitInfo):
                return str(action.body.get("nonce", ""))
        return ""

    def _applied(self, log: LoadedLog, prepared: _Prepared) -> LoadedLog:
        delta = log.delta.copy()
        delta.apply(prepared.version, prepared.actions)
        self._loaded = self._reader.extended(log, prepared.version, delta)
        return self._loaded

    def _state_if_due(self, log: LoadedLog, prepared: _Prepared, options: TableOptions) -> None:
        """States are off the path of a commit: the version stands whatever becomes of its state."""
        last = max(log.plan.base.version, 0)
        due = options.checkpoint_enabled and log.version - last >= options.checkpoint_interval
        if not (due or prepared.state_at_once):
            return
        try:
            self._write_state(log, prepared.effect.swap)
        except HeadgateError as error:
            _log.warning("state_not_written", table=self._store.uri, version=log.version, reason=str(error))
            if prepared.effect.swap is not None or prepared.effect.re_adds or isinstance(error, CorruptTable):
                raise

    def _write_state(self, log: LoadedLog, swap: CompactState | None) -> LoadedLog:
        metadata = self._reader.metadata(log)
        options = self._options_for(metadata.configuration)
        if self._base_kind(options) is BaseKind.CHECKPOINT:
            return self._write_checkpoint(log, metadata, options)
        written = StateWriter(self._reader, self._ambient, options).write(log, metadata, swap)
        self._loaded = written.log
        _log.info(
            "state_written",
            table=self._store.uri,
            version=written.state.version,
            files=written.state.num_files,
            manifests=len(written.state.manifests),
            tombstones=len(written.state.tombstones),
        )
        return written.log

    def _write_checkpoint(self, log: LoadedLog, metadata: Metadata, options: TableOptions) -> LoadedLog:
        self._loaded = CheckpointWriter(self._reader, self._ambient, options).write(log, metadata)
        files = len(self._loaded.delta.added)
        _log.info("checkpoint_written", table=self._store.uri, version=log.version, files=files)
        return self._loaded

    def _is_pointed_at(self, base: Base) -> bool:
        """Whether the pointer leads there: the writer may have died before it moved it, and older readers need it."""
        pointer = self._reader.pointer()
        if not isinstance(pointer, Pointer):
            return False
        return pointer.version >= base.version and pointer.is_avro == (base.kind is BaseKind.STATE)

    @staticmethod
    def _base_kind(options: TableOptions) -> BaseKind:
        """What takes the place of many versions: a state, or a JSON checkpoint for readers that know no Avro."""
        return BaseKind.CHECKPOINT if options.state_format == "json" else BaseKind.STATE

    def _announce(self, operation: Operation, prepared: _Prepared) -> None:
        _log.info(
            "version_committed",
            table=self._store.uri,
            version=prepared.version,
            operation=type(operation).__name__,
            added=len(prepared.effect.adds),
            removed=len(prepared.effect.removes),
        )


def _with_stored_nulls(add: AddFile) -> AddFile:
    """A null partition value as it is stored, so that this process sees what all others will read."""
    given: Mapping[str, str | None] = add.partition_values
    if None not in given.values():
        return add
    values = {column: NULL_PARTITION if value is None else value for column, value in given.items()}
    return replace(add, partition_values=values)


def _swap_body(swap: CompactState) -> dict[str, Any]:
    return {
        "base": swap.base,
        "removes": list(swap.removes),
        "adds": [
            {
                "path": manifest.path,
                "numEntries": manifest.num_entries,
                "minAddedAtVersion": manifest.min_added_at_version,
                "maxAddedAtVersion": manifest.max_added_at_version,
                "totalBytes": manifest.total_bytes,
                "partitionBounds": None
                if manifest.partition_bounds is None
                else {column: list(pair) for column, pair in manifest.partition_bounds.items()},
            }
            for manifest in swap.adds
        ],
        "tombstones": len(swap.tombstones),
    }
