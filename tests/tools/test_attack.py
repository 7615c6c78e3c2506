"""What `make attack` runs, says and exits with."""

import re
from collections.abc import Sequence

import pytest

from support.attack import program
from support.attack.campaign import ROOT, Ended, Slice, attack, run_slice
from support.attack.generators import GENERATORS, Generator

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def _generator(name: str, code: str = "", cases: int = 1) -> Generator:
    return Generator(name, "cases for the test", ("-c", code), cases, target=f"simulate KIND={name}")


class _Clock:
    """Each slice takes as long as its generator says."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.now_s, self._seconds = 0.0, seconds

    def run(self, slice_: Slice) -> Ended:
        seconds = self._seconds[slice_.generator.name]
        self.now_s += seconds
        return Ended(slice_, seconds, failed=False)


def test_generators_share_the_time_and_each_has_a_turn() -> None:
    clock = _Clock({"fast": 1.0, "slow": 10.0})
    told: list[Ended] = []
    generators = (_generator("fast"), _generator("slow"))
    tallies = attack(generators, lambda: 7, 100.0, 1, told.append, runs=clock.run, now_s=lambda: clock.now_s)
    assert abs(tallies["fast"].seconds - tallies["slow"].seconds) <= 10.0
    assert len(told) == tallies["fast"].slices + tallies["slow"].slices
    late = attack(generators, lambda: 7, 0.0, 1, told.append, runs=clock.run, now_s=lambda: clock.now_s)
    assert [tally.slices for tally in late.values()] == [1, 1], "each is tried once, however little time there is"


def test_a_slice_that_finds_nothing_is_quiet() -> None:
    ended = run_slice(Slice(_generator("a", "print('a lot')"), 3))
    assert (ended.failed, ended.output, ended.replays) == (False, "", ())


def test_a_slice_that_finds_something_shows_it_and_its_replays() -> None:
    code = "print('what broke'); print('replay: make simulate SEEDS=1 FIRST=9'); raise SystemExit(1)"
    ended = run_slice(Slice(_generator("a", code), 3))
    assert (ended.failed, ended.replays) == (True, ("make simulate SEEDS=1 FIRST=9",))
    assert "what broke" in ended.output


def test_a_program_that_ends_without_a_replay_is_replayed_whole() -> None:
    ended = run_slice(Slice(_generator("a", "import os; os.abort()", cases=5), 3))
    assert (ended.failed, ended.replays) == (True, ("make simulate KIND=a FIRST=3 SEEDS=5",))


@pytest.mark.parametrize("generator", GENERATORS, ids=[generator.name for generator in GENERATORS])
def test_each_generator_is_a_program_and_a_target_that_takes_these_variables(generator: Generator) -> None:
    assert (ROOT / generator.program[0]).is_file()
    recipe = re.search(rf"^{generator.target.split()[0]}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert recipe is not None
    given = [generator.make_first, generator.make_count, *re.findall(r"(\w+)=", generator.target)]
    assert all(f"$({name})" in recipe[1] for name in given)


def test_the_same_seed_draws_the_same_seeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for _ in range(2):
        _run(monkeypatch, [_generator("a"), _generator("b")], "--seed=5")
        told.append(re.findall(r"from seed (\d+)", capsys.readouterr().out))
    assert told[0] == told[1]
    assert len(set(told[0])) == 2


def _run(monkeypatch: pytest.MonkeyPatch, generators: Sequence[Generator], *arguments: str) -> int:
    monkeypatch.setattr(program, "GENERATORS", tuple(generators))
    return program.main(["--minutes=0", "--jobs=1", *arguments])


def test_it_says_what_was_tried_and_how_to_replay_what_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fine, failing = _generator("fine", "pass", 4), _generator("failing", "print('oh'); raise SystemExit(1)", 3)
    assert _run(monkeypatch, (fine, failing), "--seed=5") == 1
    told = capsys.readouterr().out
    assert "seeds are drawn from 5" in told
    [seed] = re.findall(r"failing: 3 from seed (\d+), \d+ s: FAILED", told)
    assert f"replay: make simulate KIND=failing FIRST={seed} SEEDS=3" in told
    assert "7 cases, 1 failures" in told
    assert _run(monkeypatch, (fine, failing), "--only=fine") == 0
    assert _run(monkeypatch, (fine, failing), "--only=nobody") == 2


@pytest.mark.parametrize("name", ["messages", "manifests"])
def test_a_generator_runs_as_its_arguments_say(name: str) -> None:
    [generator] = [found for found in GENERATORS if found.name == name]
    small = Generator(name, generator.tries, generator.program, 20, generator.first, generator.count, generator.target)
    ended = run_slice(Slice(small, 11))
    assert not ended.failed, ended.output
