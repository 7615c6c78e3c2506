"""What `make simulate` says and exits with."""

import pytest

from support.simulation import program
from support.simulation.outcome import Failure, Outcome
from support.simulation.program import FAULTS, kind_of, main


def _fine(seed: int, *, without: str = "") -> Outcome:
    injected = {kind: 1 for kind in FAULTS if kind != without}
    return Outcome(seed, f"{seed:032x}", 10, 5.0, 3, 4, 5, {"accepted": 2, "refused: gone": 1}, injected, {})


def _failing(seed: int) -> Outcome:
    raise Failure(seed, AssertionError("for the sake of the test"), "its last steps", "log")


def _plays(monkeypatch: pytest.MonkeyPatch, **kinds: object) -> None:
    for kind, play in kinds.items():
        monkeypatch.setitem(program.KINDS, kind, play)


def test_a_run_of_both_kinds_is_told_in_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds=2", "--first=2", "--jobs=1"]) == 0
    told = capsys.readouterr().out
    assert [kind_of(seed) for seed in (2, 3)] == ["log", "milvus"]
    for word in ("log", "milvus", "accepted", "batches of streams", *FAULTS, "2 runs in"):
        assert word in told


def test_a_failure_is_told_with_its_replay_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _plays(monkeypatch, log=_failing, milvus=_fine)
    assert main(["--seeds=4", "--jobs=1"]) == 1
    told = capsys.readouterr().out
    assert "4 runs in" in told
    assert "3 failed" in told
    assert "replay: make simulate KIND=log SEEDS=1 FIRST=2" in told
    assert "its last steps" in told


def test_a_run_may_end_with_the_first_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _plays(monkeypatch, log=_failing)
    assert main(["--seeds=9", "--jobs=1", "--until-failure"]) == 1
    assert "1 runs in" in capsys.readouterr().out


def test_many_runs_fail_where_a_fault_never_came_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = FAULTS[0]
    _plays(monkeypatch, log=lambda seed: _fine(seed, without=missing), milvus=lambda seed: _fine(seed, without=missing))
    assert main(["--seeds=199", "--jobs=1"]) == 0
    assert main(["--seeds=200", "--jobs=1"]) == 1
    assert f"never came up: {missing}" in capsys.readouterr().out
