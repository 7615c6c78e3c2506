"""Numbered messages for browsers: resuming where one left off, and who was away for too long."""

import asyncio

from headgate.page import stream as stream_module
from headgate.page.stream import Stream


def bodies(stream: Stream, number: int) -> list[str] | None:
    found = stream.after(number)
    return None if found is None else [message.body for message in found]


def test_a_browser_that_was_away_gets_what_it_missed() -> None:
    stream = Stream("run")
    for body in ("a", "b", "c"):
        stream.push(body)
    number = stream.number_of("run-1")
    assert number == 1
    assert bodies(stream, number) == ["b", "c"]
    assert bodies(stream, 3) == []


def test_what_another_run_said_or_nobody_is_no_place_to_go_on_from() -> None:
    stream = Stream("run")
    stream.push("a")
    for identity in ("", "run", "run-", "run-x", "run--1", "other-1", "1", "run-1²", "run-" + "9" * 40):
        assert stream.number_of(identity) is None, identity
    assert bodies(stream, 2) is None


def test_who_was_away_for_too_long_is_told_so() -> None:
    stream = Stream("run")
    for number in range(stream_module.MAX_MESSAGES + 2):
        stream.push(str(number))
    assert bodies(stream, 1) is None
    assert len(bodies(stream, 2) or []) == stream_module.MAX_MESSAGES


def test_kept_messages_are_bounded_by_their_bytes() -> None:
    stream = Stream("run")
    large = "x" * (stream_module.MAX_BYTES // 2)
    for _ in range(3):
        stream.push(large)
    assert bodies(stream, 0) is None
    assert len(bodies(stream, 1) or []) == 2


def test_a_message_from_another_thread_wakes_who_waits() -> None:
    stream = Stream("run")

    async def waits() -> tuple[bool, bool]:
        waiter = stream.waiter()
        pushing = asyncio.get_running_loop().run_in_executor(None, stream.push, "a")
        woken = await waiter.wait(20)
        await pushing
        silence = await waiter.wait(0.01)
        stream.leave(waiter)
        return woken, silence

    assert asyncio.run(waits()) == (True, False)
    stream.push("b")  # nobody waits any more
    assert stream.newest == 2
