"""Calls with a deadline: what hangs is left behind, and not too often."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from headgate_bus.errors import BusError
from headgate_bus.kafka.deadline_calls import DeadlinePassed, KafkaCalls
from support.processes.waiting import wait_until

PATIENCE_S = 60.0


@pytest.fixture
def hanging() -> Iterator[threading.Event]:
    """What a call waits for that hangs; set at the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


def test_a_call_gives_its_result() -> None:
    assert KafkaCalls().within(PATIENCE_S, "adding", lambda: 1 + 1) == 2


def test_a_call_raises_its_own_error() -> None:
    with pytest.raises(ZeroDivisionError):
        KafkaCalls().within(PATIENCE_S, "dividing", lambda: 1 // 0)


def test_a_time_out_inside_of_a_call_is_no_passed_deadline() -> None:
    def call() -> None:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        KafkaCalls().within(PATIENCE_S, "waiting", call)


def test_a_call_that_hangs_ends_at_its_deadline(hanging: threading.Event) -> None:
    with pytest.raises(DeadlinePassed, match=r"committing did not end within 0\.1 s"):
        KafkaCalls().within(0.1, "committing", hanging.wait)


def test_calls_that_hang_are_bounded(hanging: threading.Event) -> None:
    calls = KafkaCalls(limit=2)
    for _ in range(2):
        calls.start("committing", hanging.wait)
    with pytest.raises(BusError, match="2 earlier calls of the Kafka client still hang; restart this process"):
        calls.start("committing", hanging.wait)


def test_a_call_that_ended_makes_room() -> None:
    calls = KafkaCalls(limit=1)
    assert [calls.within(PATIENCE_S, "counting", lambda n=n: n) for n in range(3)] == [0, 1, 2]  # type: ignore[misc]  # bound


def test_who_hears_of_the_end_of_a_call_finds_its_place_free(hanging: threading.Event) -> None:
    calls = KafkaCalls(limit=1)
    following: list[Future[int]] = []
    call = calls.start("waiting", hanging.wait)
    call.add_done_callback(lambda _: following.append(calls.start("following", int)))
    hanging.set()
    wait_until(lambda: bool(following), "the next call begins", PATIENCE_S)
    assert following[0].result(PATIENCE_S) == 0


def test_a_call_that_gets_no_thread_takes_up_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: keep the slot of a call whose thread was never started."""
    calls = KafkaCalls(limit=1)

    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        with pytest.raises(BusError, match="committing was not tried"):
            calls.start("committing", lambda: None)
    assert calls.within(PATIENCE_S, "adding", lambda: 1 + 1) == 2
