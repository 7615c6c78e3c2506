"""Direct commits: one operation, decided and written as the next version with optimistic retries.

For tools and single writers. `rules.decide` has the rules; docs/format.md, section 6, the numbering and the outcomes.
"""

import threading
from collections.abc import Callable, Mapping
from typing import assert_never

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import (
    Committed,
    CompactState,
    Duplicate,
    Operation,
    ReadSet,
    Receipt,
    RejectCode,
    Rejected,
)
from headgate_schemas.messages.proposal_ids import MADE_AHEAD_MS, first_made, timed_id
from headgate_table.coordination.commit_info import Decision
from headgate_table.coordination.memory import Arrival, TableMemory
from headgate_table.coordination.memory_text import kept_memory
from headgate_table.coordination.refusals import NumberTaken, PredecessorGone, Refusal
from headgate_table.errors import (
    CommitConflict,
    CorruptTable,
    OutcomeUnknown,
    StoreError,
)
from headgate_table.indextables.format.names import MAX_VERSION
from headgate_table.indextables.format.pointer import Pointer
from headgate_table.indextables.format.protocol_support import check_writable
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.log.newest import NewestVersion
from headgate_table.indextables.log.predecessor import Predecessor
from headgate_table.indextables.log.reader import LoadedLog
from headgate_table.indextables.log.resolve import Base, BaseKind
from headgate_table.indextables.recovery.memory_reader import advance, recover
from headgate_table.indextables.rules.decide import Effect, decide, questions
from headgate_table.indextables.rules.evidence import EvidenceReader
from headgate_table.indextables.write.base_writer import base_kind, write_base
from headgate_table.indextables.write.commit_times import bounded_time_ms, commit_time_ms
from headgate_table.indextables.write.state_writer import StateOvertaken
from headgate_table.indextables.write.version_body import Decided, VersionBody, version_body
from headgate_table.indextables.write.version_writer import write_version
from headgate_table.settings.options import TableOptions
from headgate_table.store.backoff import trying_again

_STATE_ATTEMPTS = 5
"""How often other writers may write a state between a look at the log and our state."""

_log = get_logger("headgate.commit")


class DirectCommitter:
    """Commits to one table from this process, on top of the newest version, which it shares with readers."""

    def __init__(
        self,
        newest: NewestVersion,
        ambient: Ambient,
        options_for: Callable[[Mapping[str, str]], TableOptions],
    ) -> None:
        self._newest = newest
        self._reader = reader = newest.reader
        self._store = reader.store
        self._ambient = ambient
        self._options_for = options_for
        self._evidence = EvidenceReader(reader)
        self._memory: TableMemory | None = None
        self._history = 0
        self._lock = threading.Lock()

    def commit(
        self,
        operation: Operation,
        proposal_id: str | None = None,
        *,
        reads: ReadSet | None = None,
        created_ms: int | None = None,
    ) -> Receipt:
        """Commit or refuse; with `reads`, also refuse if the read set isn't valid any more.

        An id that was decided before gets the same answer again; one that may have been forgotten is `EXPIRED`.
        `created_ms` is the time of a given id's first attempt, if the id doesn't contain it. Raises `CommitConflict` if
        other writers win every attempt, and `OutcomeUnknown` if nobody knows the outcome.
        """
        now_ms = self._ambient.now_ms()
        identity = proposal_id or timed_id(self._ambient.new_id(), now_ms)
        if created_ms is None:
            created_ms = first_made(identity, now_ms)
        elif created_ms > now_ms + MADE_AHEAD_MS:
            created_ms = 0  # by a clock that is ahead: it doesn't prove that the id is new
        first_ms = None if proposal_id is None else created_ms
        with self._lock:
            log = self._newest.current()
            options = self._options_for(self._reader.metadata(log).configuration)
            attempts = trying_again(
                self._ambient,
                NumberTaken,
                attempts=options.transaction_max_attempts,
                first_pause_s=options.transaction_base_delay_ms / 1000,
                longest_pause_s=options.transaction_max_delay_ms / 1000,
            )
            try:
                for attempt in attempts:
                    with attempt:
                        if attempt.retry_state.attempt_number > 1:
                            log = self._newest.current()
                        return self._attempt(log, operation, identity, reads, first_ms)
            except NumberTaken as lost:
                raise CommitConflict(
                    f"other writers took the next version of {self._store.uri} {options.transaction_max_attempts} times in a row "
                    f"(last: {lost}). Nothing was committed. Try again, raise indextables.transaction.retry.maxAttempts, "
                    f"or send proposals through a committer"
                ) from None
            raise AssertionError("the retry loop ends by returning or raising")

    def checkpoint(self) -> LoadedLog:
        """Write a state (or JSON checkpoint) of the newest version now, or return the existing one."""
        with self._lock:
            log = self._newest.current()
            options = self._options_for(self._reader.metadata(log).configuration)
            if log.plan.base == Base(base_kind(options), log.version) and self._is_pointed_at(log.plan.base):
                return log
            return self._write_state(log, None)

    def _attempt(
        self, log: LoadedLog, operation: Operation, identity: str, reads: ReadSet | None, first_ms: int | None
    ) -> Receipt:
        """`first_ms` is the time of a given id's first attempt; None for an id that nobody can have used before."""
        check_writable(log.protocol, self._store.uri)
        metadata = self._reader.metadata(log)
        options = self._options_for(metadata.configuration)
        memory = self._remembered(log, options)
        earlier = memory.receipt_of(identity)
        if earlier is not None:
            return Duplicate(earlier.version, identity) if isinstance(earlier, Committed) else earlier
        own_ms = bounded_time_ms(self._ambient.now_ms(), self._store.clock_ms(), 0)
        arrival = None if first_ms is None else Arrival(first_ms, own_ms, own_ms, MADE_AHEAD_MS)
        horizon_ms = None if arrival is None else memory.may_have_committed(arrival)
        if horizon_ms is not None:
            return Rejected(
                RejectCode.EXPIRED,
                f"decisions about ids made up to {horizon_ms} may be forgotten, and this one was first tried at {first_ms or 'an unknown time'}, "
                f"so it could be a repetition. Look for its files in the table; if they aren't there, commit them with a new id",
                identity,
            )
        taken_ms = self._ambient.now_ms()
        now_ms = commit_time_ms(self._store, self._ambient, log.time_ms or memory.newest_ms)
        asked = questions(operation, metadata)
        if isinstance(asked, Refusal):
            return Rejected(asked.code, asked.reason, identity)
        evidence = self._evidence.gather(log, memory, operation, asked, metadata, reads, taken_ms)
        match decide(operation, metadata, evidence, now_ms):
            case Refusal(code, reason):
                return Rejected(code, reason, identity)
            case Effect() as effect:
                pass
            case other:
                assert_never(other)
        if log.version >= MAX_VERSION:
            raise CorruptTable(
                f"{self._store.uri} has no number left: its log holds version {log.version}, which nobody can have reached. "
                f"Look for a stray file or folder with that number in _transaction_log, and move it away"
            )
        before = log.tip
        body = version_body(
            log.version + 1,
            [Decided(operation, effect, Decision(identity, accepted=True))],
            metadata,
            log.registry,
            options,
            nonce=self._ambient.new_id(),
            time_ms=now_ms,
            before=before,
        )
        state_at_once = effect.re_adds or effect.swap is not None or self._states_run_ahead(log)
        tip = self._write(body, options, before, after_file=not self._states_run_ahead(log))
        log = self._applied(log, body, tip)
        memory.apply(body.version, body.actions)
        _log.info(
            "version_committed",
            table=self._store.uri,
            version=body.version,
            operation=type(operation).__name__,
            added=len(effect.adds),
            removed=len(effect.removes),
        )
        self._state_if_due(log, effect, options, at_once=state_at_once)
        return Committed(body.version, identity)

    def _write(
        self, body: VersionBody, options: TableOptions, before: Predecessor | None, *, after_file: bool
    ) -> Predecessor:
        data = encode_version(body.version, body.actions, compressed=options.transaction_compression)
        try:
            seen_etag = write_version(self._reader, body, data, after_file=after_file, before=before)
        except (PredecessorGone, OutcomeUnknown):
            self._newest.forget()  # the present version isn't the one that was read
            self._memory = None
            raise
        return self._reader.remember_actions(body.version, body.actions, len(data), seen_etag)

    def _remembered(self, log: LoadedLog, options: TableOptions) -> TableMemory:
        """The table's memory at this version; read once, then kept up to date."""
        if self._memory is None or log.history != self._history:  # another table, or a copy, may have replaced this one
            self._memory, self._history = recover(self._reader, log, options), log.history
        else:
            advance(self._memory, self._reader, log, options)
        return self._memory

    def _states_run_ahead(self, log: LoadedLog) -> bool:
        """Whether only states show the newest version, as in tables of writers without version files.

        Readers of such tables read states alone, so the commit must write one (docs/format.md, section 6.3).
        """
        return log.newest_version_file < log.version

    def _applied(self, log: LoadedLog, body: VersionBody, tip: Predecessor) -> LoadedLog:
        delta = log.delta.copy()
        delta.apply(body.version, body.actions)
        log = self._reader.extended(log, body.version, delta, tip)
        self._newest.keep(log)
        return log

    def _state_if_due(self, log: LoadedLog, effect: Effect, options: TableOptions, *, at_once: bool) -> None:
        """Write a state if it is due. The version stands, whatever happens to its state.

        A failure is only logged, and the next commit tries again; except if the commit needs the state, or if another
        program turns out to write to this log by other rules.
        """
        last = max(log.plan.base.version, 0)
        due = options.checkpoint_enabled and log.version - last >= options.checkpoint_interval
        if not (due or at_once):
            return
        try:
            self._write_state(log, effect.swap)
        except HeadgateError as error:
            _log.warning("state_not_written", table=self._store.uri, version=log.version, reason=str(error))
            said = f"version {log.version} of {self._store.uri} is committed, but its state is not written: {error}"
            if isinstance(error, CorruptTable | StateOvertaken):
                raise type(error)(said) from error
            if effect.swap is not None:
                raise StoreError(said) from error

    def _write_state(self, log: LoadedLog, swap: CompactState | None) -> LoadedLog:
        """Write the state of the loaded version. If another writer has written one meanwhile, write that of the newest
        version; a swap is given up instead.
        """
        attempts = trying_again(
            self._ambient,
            StateOvertaken,
            attempts=1 if swap is not None else _STATE_ATTEMPTS,
            first_pause_s=0,
            longest_pause_s=0,
        )
        for attempt in attempts:
            with attempt:
                if attempt.retry_state.attempt_number > 1:
                    log = self._newest.current()
                return self._written(log, swap)
        raise AssertionError("the retry loop ends by returning or raising")

    def _written(self, log: LoadedLog, swap: CompactState | None) -> LoadedLog:
        metadata = self._reader.metadata(log)
        options = self._options_for(metadata.configuration)
        memory = kept_memory(self._remembered(log, options))
        log = write_base(self._reader, self._ambient, options, log, metadata, memory=memory, swap=swap)
        self._newest.keep(log)
        return log

    def _is_pointed_at(self, base: Base) -> bool:
        """Whether the pointer leads there: the writer may have died before it moved the pointer, and older readers need
        it.
        """
        pointer = self._reader.pointer()
        if not isinstance(pointer, Pointer):
            return False
        return pointer.version >= base.version and pointer.is_avro == (base.kind is BaseKind.STATE)
