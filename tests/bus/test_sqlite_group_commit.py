"""How threads share a transaction: who commits, who waits, and who is told what."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import cast

import pytest

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.sqlite_file import SqliteFile
from headgate_bus.sqlite_log import Transaction
from headgate_bus.sqlite_writer import GroupWriter
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
        begin = cast(Callable[[object], Transaction], lambda connection: Nothing())
        self.writer = GroupWriter(cast(SqliteFile, self.gate), AMBIENT, begin)
        self.threads = ThreadPoolExecutor(20)
        self.queued = 0

    def do(self, result: object, *, timeout_s: float = PATIENCE_S) -> "Future[object]":
        """One more thread that writes; it is in the queue, or at the gate, when this returns."""

        def work(transaction: Transaction) -> object:
            if isinstance(result, BaseException):
                raise result
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


@pytest.fixture
def bench() -> Bench:
    return Bench()


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
