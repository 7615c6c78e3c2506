"""How threads share a transaction: who commits, who waits, and who is told what."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import cast

import pytest

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.sqlite import writer as sqlite_writer
from headgate_bus.sqlite.file import SqliteFile
from headgate_bus.sqlite.log import LogTransaction
from headgate_bus.sqlite.writer import GroupWriter, Work, _Job
from headgate_schemas.ambient import SystemAmbient
from support.bus.rigs import PATIENCE_S

AMBIENT = SystemAmbient()


class Nothing:
    """A transaction without a database."""

    def flush(self) -> None:
        return


class Gate:
    """Stands for the file: each write waits to be let through, and counts; some writes fail."""

    path = "/srv/bus.db"

    def __init__(self) -> None:
        self.writes = 0
        self.failures: list[BaseException | None] = []
        self.entered = threading.Semaphore(0)
        self.passes = threading.Semaphore(0)

    def write(self, deadline_s: float, work: Callable[[object], None]) -> None:
        self.entered.release()
        assert self.passes.acquire(timeout=PATIENCE_S)
        self.writes += 1
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        work(self)

    def sync(self) -> None:
        return


class Bench:
    """A writer, its gate, and threads that use it."""

    def __init__(self) -> None:
        self.gate = Gate()
        begin = cast(Callable[[object], LogTransaction], lambda connection: Nothing())
        self.writer = GroupWriter(cast(SqliteFile, self.gate), AMBIENT, begin)
        self.threads = ThreadPoolExecutor(20)
        self.queued = 0
        self.done: list[object] = []
        """What was written, in its order."""

    def do(self, result: object, *, timeout_s: float = PATIENCE_S) -> "Future[object]":
        """One more thread that writes; it is in the queue, or at the gate, when this returns."""

        def work(transaction: LogTransaction) -> object:
            if isinstance(result, BaseException):
                raise result
            self.done.append(result)
            return result

        before = len(self.writer._queue) + self.queued
        future = self.threads.submit(self.writer.do, work, AMBIENT.monotonic_s() + timeout_s)
        if before == 0:
            assert self.gate.entered.acquire(timeout=PATIENCE_S)
            self.queued = 1
        else:
            deadline = AMBIENT.monotonic_s() + PATIENCE_S
            while len(self.writer._queue) + self.queued == before and not future.done():
                assert AMBIENT.monotonic_s() < deadline
        return future


class Signal(threading.Event):
    """Is waited for until it is set, or the test says that the time is over."""

    def __init__(self) -> None:
        super().__init__()
        self._is_over = threading.Event()

    def set(self) -> None:
        super().set()
        self._is_over.set()

    def wait(self, timeout: float | None = None) -> bool:
        assert self._is_over.wait(PATIENCE_S)
        return self.is_set()

    def time_is_over(self) -> None:
        self._is_over.set()


class TimedJob(_Job):
    """One whose time is over when the test says so."""

    def __init__(self, work: Work[object], deadline_s: float) -> None:
        super().__init__(work, deadline_s)
        self.signal = Signal()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def given_up_while_it_is_taken(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> "Future[object]":
    """The future of a leader at the gate, which has taken another's job, 3, along; that one's thread has left."""
    monkeypatch.setattr(sqlite_writer, "_Job", TimedJob)
    first = bench.do(1)
    leader, late = bench.do(2), bench.do(3)
    signal = bench.writer._queue[1].signal
    assert isinstance(signal, Signal)
    bench.gate.passes.release()
    assert first.result(PATIENCE_S) == 1
    assert bench.gate.entered.acquire(timeout=PATIENCE_S)
    signal.time_is_over()
    with pytest.raises(BusUnavailable, match="it is not known whether"):
        late.result(PATIENCE_S)
    return leader


def test_jobs_that_come_while_one_is_written_share_the_next_transaction(bench: Bench) -> None:
    jobs = [bench.do(number) for number in range(10)]
    bench.gate.passes.release(10)
    assert [job.result(PATIENCE_S) for job in jobs] == list(range(10))
    assert bench.gate.writes == 2


def test_a_job_that_is_refused_does_not_hinder_the_others(bench: Bench) -> None:
    first, good, bad, later = bench.do(1), bench.do(2), bench.do(BusError("refused")), bench.do(3)
    bench.gate.passes.release(4)
    assert [job.result(PATIENCE_S) for job in (first, good, later)] == [1, 2, 3]
    with pytest.raises(BusError, match="refused"):
        bad.result(PATIENCE_S)


def test_a_job_whose_time_is_over_before_its_turn_was_not_done(bench: Bench) -> None:
    first = bench.do(1)
    late = bench.do(2, timeout_s=0.05)
    with pytest.raises(BusUnavailable, match="nothing was appended"):
        late.result(PATIENCE_S)
    bench.gate.passes.release(2)
    assert first.result(PATIENCE_S) == 1
    assert bench.gate.writes == 1


def test_when_the_leaders_time_is_over_the_others_try_for_themselves(bench: Bench) -> None:
    first = bench.do(1)
    others = [bench.do(2), bench.do(3)]
    bench.gate.failures = [None, BusUnavailable("locked")]
    bench.gate.passes.release(5)
    assert first.result(PATIENCE_S) == 1
    with pytest.raises(BusUnavailable, match="locked"):
        others[0].result(PATIENCE_S)
    assert others[1].result(PATIENCE_S) == 3


def test_the_turn_is_not_handed_to_who_gave_up_while_it_was_taken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: put back into the queue whoever shared the write that found no time."""
    bench.gate.failures = [None, BusUnavailable("locked")]
    leader = given_up_while_it_is_taken(bench, monkeypatch)
    bench.gate.passes.release(2)
    with pytest.raises(BusUnavailable, match="locked"):
        leader.result(PATIENCE_S)
    assert bench.do(4).result(PATIENCE_S) == 4


def test_what_was_given_up_before_it_was_begun_is_not_done(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = given_up_while_it_is_taken(bench, monkeypatch)
    bench.gate.passes.release()
    assert leader.result(PATIENCE_S) == 2
    assert bench.done == [1, 2]


def test_when_a_write_fails_all_who_shared_it_are_told(bench: Bench) -> None:
    first = bench.do(1)
    others = [bench.do(2), bench.do(3)]
    bench.gate.failures = [None, BusError("damaged")]
    bench.gate.passes.release(5)
    assert first.result(PATIENCE_S) == 1
    for other in others:
        with pytest.raises(BusError, match="damaged"):
            other.result(PATIENCE_S)


def test_a_thread_that_dies_while_it_writes_leaves_nobody_waiting(bench: Bench) -> None:
    first = bench.do(1)
    others = [bench.do(2), bench.do(3)]
    bench.gate.failures = [KeyboardInterrupt()]
    bench.gate.passes.release(5)
    with pytest.raises(KeyboardInterrupt):
        first.result(PATIENCE_S)
    assert [other.result(PATIENCE_S) for other in others] == [2, 3]
