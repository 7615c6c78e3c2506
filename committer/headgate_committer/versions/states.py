"""States of one table. They are written beside its commits, one at a time, each from a copy of the log."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace

from headgate_committer.context import CommitterContext
from headgate_committer.versions.table_log import TableLog
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import CompactState
from headgate_schemas.metrics import COMMIT_STEP_SECONDS, STATES_FAILED
from headgate_table.coordination.memory_text import KeptMemory, kept_memory
from headgate_table.errors import CorruptTable, ObjectMissing, StoreError
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.manifests.path_index import index_new
from headgate_table.indextables.write.base_writer import write_base
from headgate_table.indextables.write.state_writer import StateOvertaken

_log = get_logger("headgate.state")


@dataclass(frozen=True, slots=True)
class _Task:
    version: int
    work: Callable[[], LoadedLog]
    future: "Future[LoadedLog]"


class StateKeeper:
    """Starts a state when one is due, and bases the log on it when it is done."""

    def __init__(self, table: TableLog, context: CommitterContext) -> None:
        self._table = table
        self._ambient = context.ambient
        self._executor = context.background
        self._task: _Task | None = None
        self._needed = -1
        """The version that must have a state before the next version is written."""
        self._swap: CompactState | None = None
        """The swap of manifests in the state of that version."""
        self._stopped: _Task | None = None
        """The state that found another program's state in its place."""
        self._passed_over = False
        """Whether a state was due while another was under way."""
        self._is_overtaken = False

    @property
    def newest(self) -> StateManifest | None:
        return self._table.log.state

    def after_commit(self, *, at_once: bool, swap: CompactState | None) -> None:
        """A version was written. `at_once`: readers of other kinds need its state before the next version."""
        if at_once:
            self._needed, self._swap = self._table.log.version, swap
        if self._is_due() or at_once:
            self._passed_over = self._task is not None
            self._start()

    def before_commit(self) -> None:
        """Base the log on a state that is done. Wait for one that must precede the next version.

        Raises `CorruptTable` when a state shows that another program writes to this log by other rules, for as long as it
        is there.
        """
        if self._stopped is not None:
            base = self._executor.submit(self._stopped.work).result()
            self._stopped = None
            self._table.rebase(base)
        if self._task is not None and self._task.future.done():
            self._adopt()
        while self._table.log.plan.base.version < self._needed:
            self._start()
            is_its_own = self._task is not None and self._task.version >= self._needed
            if not self._adopt() and is_its_own:
                break  # tried again before the next commit, unless it was a swap
        else:
            self._needed, self._swap = -1, None

    @property
    def is_overtaken(self) -> bool:
        """Whether others have written a newer state than the log is based on."""
        return self._is_overtaken

    @property
    def is_behind(self) -> bool:
        """Whether a state is due that no commit has begun."""
        return self._passed_over

    @property
    def is_under_way(self) -> bool:
        return self._task is not None and not self._task.future.done()

    def catch_up(self) -> None:
        """Begin the state that was passed over, for the newest version."""
        if self._task is not None:
            try:
                self._adopt()
            except CorruptTable:
                self._passed_over = False
                return  # who commits next is told
        if self._is_due() or self._table.log.plan.base.version < self._needed:
            self._start()
        self._passed_over = False

    def finish(self) -> None:
        """Wait for a state that is under way, and base the log on it."""
        if self._task is not None:
            self._adopt()

    def let_go(self) -> None:
        """Forget the state under way, because the log is based on a newer state of another writer."""
        self._task, self._stopped, self._is_overtaken = None, None, False

    def _adopt(self) -> bool:
        """Wait for the state under way. Returns whether it was written."""
        task, self._task = self._task, None
        assert task is not None, "one was started"
        try:
            base = task.future.result()
        except CorruptTable:
            self._table.reader.resources.measures.count(STATES_FAILED)
            self._stopped = task
            raise
        except HeadgateError as error:
            if isinstance(error, StateOvertaken):
                self._is_overtaken = True
                _log.info("state_overtaken", table=self._table.uri, version=task.version, reason=str(error))
            else:
                self._table.reader.resources.measures.count(STATES_FAILED)
                _log.warning("state_not_written", table=self._table.uri, version=task.version, reason=str(error))
            if self._swap is not None and task.version == self._needed:
                # Without it the live files are the same. The swap's author plans again upon the present state.
                self._needed, self._swap = -1, None
            return False
        try:
            self._table.rebase(base)
        except StoreError as error:
            if not isinstance(error, ObjectMissing):
                self._task = task  # the state is written: the next look bases the log on it
            raise
        return True

    def _is_due(self) -> bool:
        table = self._table
        since = table.log.version - max(table.log.plan.base.version, 0)
        return table.options.checkpoint_enabled and since >= table.options.checkpoint_interval

    def _start(self) -> None:
        if self._task is not None:
            return
        self._is_overtaken = False
        log = replace(self._table.log, delta=self._table.log.delta.copy())
        swap = self._swap if log.version == self._needed else None
        work = self._work(log, kept_memory(self._table.memory), swap)
        self._task = _Task(log.version, work, self._executor.submit(work))

    def _work(self, log: LoadedLog, memory: KeptMemory, swap: CompactState | None) -> Callable[[], LoadedLog]:
        reader, ambient = self._table.reader, self._ambient
        metadata, options = self._table.metadata, self._table.options

        def work() -> LoadedLog:
            with reader.resources.measures.timing(COMMIT_STEP_SECONDS, "state"):
                base = write_base(reader, ambient, options, log, metadata, memory=memory, swap=swap)
                if base.state is not None:
                    _index(reader, base.state, log.state)
                return base

        return work


def _index(reader: LogReader, state: StateManifest, before: StateManifest | None) -> None:
    try:
        index_new(reader.store, reader.resources, state, before)
    except HeadgateError as error:
        # The state stands all the same; the first search of its manifests reads them then.
        _log.info("state_not_indexed", table=reader.store.uri, version=state.version, reason=str(error))
