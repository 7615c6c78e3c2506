"""The tests that draw their cases, as a generator of their own: none is left out, seeds say what is tried, failures are told."""

import re
from pathlib import Path

import pytest

from support.models import files, program
from support.models.files import ROOT, chosen_files, model_files

SMALL = "tests/bus/test_marks.py"

FAILING = """
from hypothesis import given, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, rule

@given(strategies.integers())
@settings(max_examples=300)
def test_small(number):
    assert number < 1_000

@given(strategies.booleans())
def test_never_fails(answer):
    pass

class Machine(RuleBasedStateMachine):
    @rule()
    def step(self):
        pass

TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=100, stateful_step_count=2)

def test_that_draws_nothing():
    raise AssertionError
"""


def test_every_test_that_draws_its_cases_is_in_a_file_of_the_generator(request: pytest.FixtureRequest) -> None:
    """Of those that were collected, so a run of the whole suite looks at all of them."""
    drawing = {item.path for item in request.session.items if item.get_closest_marker("hypothesis")}
    assert {path.relative_to(ROOT).as_posix() for path in drawing} <= set(model_files())


def test_every_file_of_the_generator_is_there_once() -> None:
    known = model_files()
    assert SMALL in known
    assert len(set(known)) == len(known) > 40


def test_a_seed_draws_some_files_and_a_text_names_all_that_hold_it() -> None:
    drawn = [tuple(chosen_files(seed)) for seed in range(100)]
    assert {len(chosen) for chosen in drawn} == {files.FEW}
    assert {file for chosen in drawn for file in chosen} == set(model_files()), "each has its turn"
    assert chosen_files(3) == chosen_files(3)
    assert chosen_files(3, "tests/table/pruning") == [
        file for file in model_files() if file.startswith("tests/table/pruning")
    ]


def test_a_file_draws_as_many_cases_as_one_asks_for() -> None:
    few, more = program.run(SMALL, 7, 40), program.run(SMALL, 7, 160)
    assert (few.code, more.code) == (0, 0), few.output + more.output
    assert few.tests == more.tests > 1
    assert 40 <= few.cases < 80 < 160 <= more.cases < 320, "a case that a test refuses to look at is counted as well"


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file that fails, in a tree of its own."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_failing.py").write_text(FAILING, encoding="utf-8")
    monkeypatch.setattr(files, "ROOT", tmp_path)
    monkeypatch.setattr(program, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    return "tests/test_failing.py"


def test_a_failure_is_told_with_its_case_and_its_replay(failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for _ in range(2):
        assert program.main(["--first=3", "--cases=500", f"--only={failing}", "--until-failure"]) == 1
        told.append(capsys.readouterr().out)
    replay = re.search(r"^ *replay: (.+)$", told[0], re.MULTILINE)
    assert replay is not None
    assert replay[1] == f"make models ONLY={failing} FIRST=3 CASES=500"
    after = [re.findall(r"test_small fails after (\d+) cases", text) for text in told]
    assert after[0] == after[1] != [], "the same seed tries the same"
    assert 1 <= int(after[0][0]) <= 300
    assert "test_that_draws_nothing" not in told[0]


def test_after_a_failure_the_others_have_their_turn_and_it_is_shrunk(
    failing: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["--first=3", "--cases=500", f"--only={failing}"]) == 1
    told = capsys.readouterr().out
    assert "number=1000" in told
    assert re.search(r"test_failing.py: \d+ cases of 3 tests", told), (
        "a state machine is a test that draws its cases, too"
    )


def test_tests_that_can_not_run_are_no_finding(failing: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = files.ROOT / failing
    place.write_text("import hypothesis\nimport no_such_module\n", encoding="utf-8")
    assert program.main([f"--only={failing}"]) == 2
    assert "replay:" not in capsys.readouterr().out


def test_a_text_that_no_path_holds_is_answered_with_all_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--only=nobody"]) == 2
    assert SMALL in capsys.readouterr().out
