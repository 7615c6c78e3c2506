"""The benchmark of starting: what it runs of ours is what it says, and a newcomer's example is there; times mean nothing here."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
FILES = 20


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are found where the program would find them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def part(name: str) -> Any:
    return importlib.import_module(name)


@pytest.mark.parametrize("work", ["import", "look", "command"])
def test_what_is_timed_of_ours_runs_and_takes_time(work: str, tmp_path: Path) -> None:
    commands = part("start").WORKS[work].commands(tmp_path, FILES)
    ours = {name: command for name, command in commands.items() if "headgate" in name}
    timings = part("parts.processes").in_turns(ours, 1, tmp_path)
    assert timings.keys() == ours.keys()
    assert [timing for timing in timings.values() if isinstance(timing, str)] == []
    assert all(timing.median_s > 0 < timing.processor_median_s for timing in timings.values())


def test_a_process_that_fails_is_answered_by_its_last_line(tmp_path: Path) -> None:
    commands = {"fails": (sys.executable, "-c", "raise SystemExit('no such luck')"), "runs": (sys.executable, "-c", "")}
    timings = part("parts.processes").in_turns(commands, 2, tmp_path)
    assert timings["fails"] == "no such luck"
    assert len(timings["runs"].seconds) == 2


def test_targets_are_judged_by_what_was_measured() -> None:
    start = part("start")
    rows = list(start.targets({start.IMPORT: 499.0, start.HELP: 401.0}))
    assert rows == [
        (start.IMPORT, "500", "499", "yes"),
        (start.ALL_NAMES, "500", "not run", "-"),
        (start.HELP, "400", "401", "no"),
        (start.NEWCOMER, "120,000", "not run", "-"),
    ]


def test_a_newcomers_example_is_the_first_one_of_the_readme_that_commits_through_a_committer() -> None:
    example = part("parts.newcomer").first_example()
    assert example.heading == "Propose a change and wait for the result"
    assert "headgate.committing(bus)" in example.body
