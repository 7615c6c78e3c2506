"""States of one table, written beside its commits: at most one at a time, from a copy of the log that nobody changes."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace

from headgate_committer.table_log import Held, TableLog
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.operations import CompactState
from headgate_table.errors import CorruptTable
from headgate_table.indextables.base_writer import write_base
from headgate_table.indextables.log_reader import LoadedLog
from headgate_table.indextables.memory_text import KeptMemory, kept_memory

_log = get_logger("headgate.state")


@dataclass(frozen=True, slots=True)
class _Task:
    version: int
    future: "Future[LoadedLog]"


class StateKeeper:
    """Starts a state when one is due, and puts it under the log when it is done."""

    def __init__(self, table: TableLog, ambient: Ambient, executor: Executor) -> None:
        self._table = table
        self._ambient = ambient
        self._executor = executor
        self._task: _Task | None = None
        self._must: bool = False
        self._swap: CompactState | None = None

    def after_commit(self, held: Held, *, at_once: bool, swap: CompactState | None) -> None:
        """A version was written. `at_once`: readers of other kinds need a state before the next version."""
        self._must = self._must or at_once
        self._swap = swap
        options = held.options
        due = held.log.version - max(held.log.plan.base.version, 0) >= options.checkpoint_interval
        if (options.checkpoint_enabled and due) or self._must:
            self._start(held)

    def before_commit(self, held: Held) -> None:
        """Put a state that is done under the log; wait for one that the next version must not overtake.

        Raises `CorruptTable` when the state shows that another program writes to this log by other rules.
        """
        if self._must and self._task is None:
            self._start(held)
        task = self._task
        if task is None or not (self._must or task.future.done()):
            return
        self._task = None
        try:
            base = task.future.result()
        except CorruptTable:
            raise
        except HeadgateError as error:
            _log.warning("state_not_written", table=self._table.uri, version=task.version, reason=str(error))
            if self._swap is not None:
                # The live files are the same without it; whoever proposed the swap plans again from what is there.
                self._must, self._swap = False, None
            return
        self._must, self._swap = False, None
        self._table.rebase(base)

    def drop(self) -> None:
        """The log was read anew: a state under way is no longer waited for."""
        self._task = None
        self._must, self._swap = False, None

    def settle(self) -> None:
        """Wait for a state that is under way."""
        held = self._table.held
        if self._task is not None and held is not None:
            self._must = True
            self.before_commit(held)

    def _start(self, held: Held) -> None:
        if self._task is not None:
            return
        log = replace(held.log, delta=held.log.delta.copy())
        work = self._work(log, held, kept_memory(held.memory), self._swap)
        self._task = _Task(log.version, self._executor.submit(work))

    def _work(
        self, log: LoadedLog, held: Held, memory: KeptMemory, swap: CompactState | None
    ) -> Callable[[], LoadedLog]:
        reader, ambient, metadata, options = self._table.reader, self._ambient, held.metadata, held.options

        def work() -> LoadedLog:
            return write_base(reader, ambient, options, log, metadata, memory=memory, swap=swap)

        return work
