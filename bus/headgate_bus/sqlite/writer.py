"""Group commit: threads that write at the same time share one transaction, and so one wait for the disk."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.sqlite.file import SqliteFile
from headgate_bus.sqlite.log import LogTransaction
from headgate_schemas.ambient import Ambient

T = TypeVar("T")

GROUP_JOBS = 500
"""Jobs in one transaction; their number is bounded by the threads, this keeps a transaction short."""

Work = Callable[[LogTransaction], T]
"""Does its part of a transaction. It raises `BusError` only before it has changed anything."""


class _Job:
    __slots__ = ("abandoned", "deadline_s", "error", "result", "settled", "signal", "work")

    def __init__(self, work: Work[Any], deadline_s: float) -> None:
        self.work = work
        self.deadline_s = deadline_s
        self.signal = threading.Event()
        """It was settled, or it is its thread's turn to commit."""
        self.settled = False
        self.abandoned = False
        """Its thread has left: a turn that it is handed nobody takes."""
        self.result: Any = None
        self.error: BaseException | None = None

    def settle(self, error: BaseException | None = None) -> None:
        self.error = error
        self.settled = True
        self.signal.set()


class GroupWriter:
    """One thread commits for all waiting threads, then passes its turn to the first of those that came meanwhile."""

    def __init__(self, file: SqliteFile, ambient: Ambient, begin: Callable[[Any], LogTransaction]) -> None:
        self._file = file
        self._ambient = ambient
        self._begin = begin
        self._lock = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._turn: _Job | None = None
        """Whose thread commits, or is about to."""

    def do(self, work: Work[T], deadline_s: float) -> T:
        """The result of `work`, once it is durable."""
        job = _Job(work, deadline_s)
        with self._lock:
            self._queue.append(job)
            if self._turn is None:
                self._turn = job
                job.signal.set()
        try:
            if not job.signal.wait(max(0.0, deadline_s - self._ambient.monotonic_s())):
                self._give_up(job)
            if self._turn is job:
                while not job.settled:
                    self._commit(self._taken(), job)
        finally:
            self._hand_on(job)
        if job.error is not None:
            raise job.error
        return job.result  # type: ignore[no-any-return]  # a job keeps what its work returned

    def cut_log(self) -> None:
        """Give the disk back what the file's log takes."""
        self._file.cut_log()

    def _hand_on(self, job: _Job) -> None:
        """Pass the turn on. The job's thread leaves, even by an exception, so nobody may wait for it."""
        with self._lock:
            job.abandoned = True
            if not job.settled and job in self._queue:
                self._queue.remove(job)
            if self._turn is job:
                self._turn = self._queue[0] if self._queue else None
                if self._turn is not None:
                    self._turn.signal.set()

    def _give_up(self, job: _Job) -> None:
        """The time is over: withdraw the job, unless it is settled or its turn has come just now."""
        with self._lock:
            if job.settled or self._turn is job:
                return
            waiting = job in self._queue
            if waiting:
                self._queue.remove(job)
        if waiting:
            told = "was busy until the deadline; nothing was appended. Try again"
        else:
            told = "was still writing at the deadline; it is not known whether it was appended"
        job.error = BusUnavailable(f"the bus {self._file.path} {told}")

    def _taken(self) -> list[_Job]:
        with self._lock:
            return [self._queue.popleft() for _ in range(min(GROUP_JOBS, len(self._queue)))]

    def _commit(self, jobs: Sequence[_Job], leader: _Job) -> None:
        done: list[_Job] = []
        refused: list[tuple[_Job, BusError]] = []

        def all_work(connection: Any) -> None:
            transaction = self._begin(connection)
            for job in jobs:
                if job.abandoned:
                    continue  # nobody waits for it any more
                try:
                    job.result = job.work(transaction)
                except BusError as error:
                    refused.append((job, error))
                else:
                    done.append(job)
            transaction.flush()

        try:
            self._file.write(leader.deadline_s, all_work)
            self._file.sync()
        except BusUnavailable as error:
            # The leader's time is over, but perhaps not that of others; if nothing had begun, they try for
            # themselves.
            others = [] if done or refused else [job for job in jobs if job is not leader]
            self._refuse([job for job in jobs if job not in others], error)
            with self._lock:
                self._queue.extendleft(job for job in reversed(others) if not job.abandoned)
        except BaseException as error:
            self._refuse(jobs, error)
            if not isinstance(error, BusError):
                raise
        else:
            for job in done:
                job.settle()
            for job, refusal in refused:
                job.settle(refusal)

    def _refuse(self, jobs: Sequence[_Job], error: BaseException) -> None:
        told = error if isinstance(error, BusError) else BusUnavailable(f"the write was broken off: {error!r}")
        for job in jobs:
            # Each thread gets an error object of its own, because a traceback belongs to one thread.
            job.settle(type(told)(*told.args))
