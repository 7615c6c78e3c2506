"""Commands of `headgate` that go on, as processes that are listened to."""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from support.processes.waiting import Overdue

COMMAND = [sys.executable, "-m", "headgate"]
END_LIMIT_S = 60.0
HEAR_LIMIT_S = 300.0
"""Only a failing test waits that long."""

Found = TypeVar("Found")


@contextmanager
def a_process(
    *arguments: str, program: list[str] | None = None, folder: Path | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """`headgate` with these arguments, killed at the end of the block if it is still there."""
    process = subprocess.Popen(
        [*(program or COMMAND), *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Nothing is read ahead: what follows the line that was waited for is there for whoever listens next.
        bufsize=0,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=END_LIMIT_S)


def heard(process: "subprocess.Popen[bytes]", event: str, **fields: object) -> dict[str, Any]:
    """Wait until the process tells of it, with these fields."""

    def told(line: str) -> dict[str, Any] | None:
        found: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
        return found if found.get("event") == event and fields.items() <= found.items() else None

    return _first(process, process.stderr, told, event)


def printed(process: "subprocess.Popen[bytes]", pattern: str) -> "re.Match[str]":
    """Wait until it prints a line in which the pattern is found."""
    return _first(process, process.stdout, re.compile(pattern).search, f"a line with {pattern!r}")


def rest_of(process: "subprocess.Popen[bytes]") -> tuple[str, str]:
    """Wait for its end; what it printed, and what it told, that was not heard yet."""
    out, errors = process.communicate(timeout=END_LIMIT_S)
    return out.decode(), errors.decode()


def ended(process: "subprocess.Popen[bytes]") -> list[dict[str, Any]]:
    """Wait for its end; the events that it told of until then and that were not heard yet."""
    _, errors = rest_of(process)
    return [json.loads(line) for line in errors.splitlines() if line.startswith("{")]


def _first(
    process: "subprocess.Popen[bytes]", stream: IO[bytes] | None, found: Callable[[str], Found | None], awaited: str
) -> Found:
    """What is found in a line to come. A process that takes too long is killed: nothing else ends the wait for a line."""
    assert stream is not None
    late = threading.Event()

    def give_up() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(HEAR_LIMIT_S, give_up)
    timer.start()
    said = ""
    try:
        for line in stream:
            said += line.decode()
            if (result := found(line.decode())) is not None:
                return result
    finally:
        timer.cancel()
    end = f"did not come within {HEAR_LIMIT_S:g} s" if late.is_set() else "had not come when the process ended"
    raise Overdue(f"{awaited} {end}; it said:\n{said[-2000:]}")
