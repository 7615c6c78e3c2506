"""Listening to a process: nothing that it says is passed over, and nobody listens for ever."""

import sys

import pytest

from support.processes import cli_processes
from support.processes.cli_processes import a_process, ended, heard, printed, rest_of
from support.processes.waiting import Overdue

TALKS = """\
import json, sys
sys.stderr.write("".join(json.dumps({"event": name}) + "\\n" for name in ("first", "second", "third", "fourth")))
print("one\\ntwo\\nthree")
"""
WAITS = "import threading; threading.Event().wait()"


def test_what_comes_at_once_with_the_awaited_line_is_there_for_the_next_listener() -> None:
    """Break: the lines are read ahead of whoever waits for one, as through a buffer."""
    with a_process(program=[sys.executable, "-c", TALKS]) as process:
        heard(process, "second")
        printed(process, "^two$")
        assert [event["event"] for event in ended(process)] == ["third", "fourth"]
    with a_process(program=[sys.executable, "-c", TALKS]) as process:
        printed(process, "one")
        assert rest_of(process)[0] == "two\nthree\n"


def test_waiting_for_what_is_never_said_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_processes, "HEAR_LIMIT_S", 0.5)
    with (
        a_process(program=[sys.executable, "-c", WAITS]) as process,
        pytest.raises(Overdue, match="did not come within"),
    ):
        heard(process, "something")


def test_a_process_that_ends_without_the_awaited_line_is_told_with_its_words() -> None:
    with a_process(program=[sys.executable, "-c", TALKS]) as process:
        with pytest.raises(Overdue, match=r"(?s)something had not come when the process ended.*fourth"):
            heard(process, "something")
        with pytest.raises(Overdue, match=r"(?s)'four' had not come when the process ended.*three"):
            printed(process, "four")
