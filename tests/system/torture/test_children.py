"""What is heard of a process under torture, whose last line may be torn."""

import sys
from pathlib import Path

import pytest

from support.processes.waiting import wait_until
from support.torture.stage.children import Child, logged_events

WAITING = """
import faulthandler, json, signal, threading
def stands_here():
    faulthandler.register(signal.SIGUSR1)
    print(json.dumps({"event": "ready"}), flush=True)
    threading.Event().wait()
stands_here()
"""


@pytest.mark.parametrize(
    ("line", "events"),
    [
        ('{"event": "a"}', ["a"]),
        ('{"event": "a"}{"event": "b"}', ["a", "b"]),
        ('{"event": "a"}{"eve', ["a"]),
        ('{"eve{"event": "b"}', []),
        ("Error: the bus isn't reachable", []),
        ("", []),
    ],
)
def test_a_line_tells_whole_events_only(line: str, events: list[str]) -> None:
    assert [event["event"] for event in logged_events(line)] == events


def test_a_process_that_stands_still_tells_where(tmp_path: Path) -> None:
    child = Child("waiting", [sys.executable, "-c", WAITING], tmp_path)
    child.start()
    try:
        wait_until(lambda: child.has_said("ready"), "it is ready")
        assert "in stands_here" in child.threads()
        assert child.is_running
    finally:
        child.end()
