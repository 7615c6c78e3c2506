"""The rule by which a soak is called flat, on samples that are made up; and a soak of seconds, by real processes."""

from collections.abc import Callable
from functools import partial
from io import StringIO
from math import sin
from pathlib import Path

import pytest
from rich.console import Console

from support.soak.flatness import ALLOWED, FEWEST, Trend, grew, trends
from support.soak.processes import held_by
from support.soak.report import soak_report
from support.soak.run import soak
from support.soak.samples import Measure, Sample, read_csv, write_csv
from support.soak.sampling import BUS, TABLE
from support.soak.soaking import STAY, WEIGHTS, SoakPlay
from support.torture.stage.scenes import one_machine

MINUTES = 30
EVERY_S = 5.0
SEED = 20_262
SECONDS = 8.0


def sampled(value: Callable[[float], float], measure: Measure = Measure.MEMORY, who: str = "worker-0") -> list[Sample]:
    """Half an hour, of a value that depends on the minute."""
    moments = [each * EVERY_S for each in range(int(MINUTES * 60 / EVERY_S))]
    return [Sample(at_s, who, measure, value(at_s / 60)) for at_s in moments]


def judged(samples: list[Sample]) -> Trend:
    (trend,) = trends(samples, lambda who: True)
    return trend


def noise(minute: float) -> float:
    return 3 * sin(minute * 37)


def saw_tooth(minute: float) -> float:
    """Fills for four minutes, and is emptied."""
    return 10 * (minute % 4)


def test_what_stays_the_same_but_for_noise_is_flat() -> None:
    trend = judged(sampled(lambda minute: 100 + noise(minute)))
    assert trend.is_flat
    assert abs(trend.per_hour) < 4


def test_what_fills_and_is_emptied_again_and_again_is_flat() -> None:
    assert judged(sampled(lambda minute: 100 + saw_tooth(minute))).is_flat


def test_a_leak_is_not_flat_and_its_slope_is_told() -> None:
    """Break: compare the first sample's third with itself."""
    trend = judged(sampled(lambda minute: 100 + minute / 60 * 40 + noise(minute)))
    assert not trend.is_flat
    assert trend.per_hour == pytest.approx(40, abs=4)
    assert grew([trend]) == [trend]


def test_a_leak_below_a_saw_tooth_is_not_flat() -> None:
    assert not judged(sampled(lambda minute: 100 + saw_tooth(minute) + minute)).is_flat


@pytest.mark.parametrize("measure", Measure)
def test_every_measure_can_break_the_claim(measure: Measure) -> None:
    step = 2 * max(ALLOWED[measure].absolute, 1.0)
    assert not judged(sampled(lambda minute: step if minute > MINUTES / 2 else 0.0, measure)).is_flat


def test_what_grows_while_it_begins_is_no_leak() -> None:
    """Break: leave no warm-up out."""
    assert judged(sampled(lambda minute: 100 if minute > 2 else 50)).is_flat


def test_a_warm_up_that_is_told_is_left_out_whole() -> None:
    filling = sampled(lambda minute: min(minute, 20.0))
    assert [trend.is_flat for trend in trends(filling, lambda who: True, 21 * 60)] == [True]
    assert [trend.is_flat for trend in trends(filling, lambda who: True, 3 * 60)] == [False]


def test_what_becomes_less_is_flat() -> None:
    assert judged(sampled(lambda minute: 100 - minute)).is_flat


def test_too_few_samples_are_not_flat() -> None:
    trend = judged(sampled(lambda minute: 100.0)[:FEWEST])
    assert trend.samples < FEWEST
    assert not trend.is_flat


def test_a_process_that_was_never_seen_again_is_not_flat() -> None:
    """Its last third has no samples."""
    gone = [sample for sample in sampled(lambda minute: 100.0) if sample.at_s < 600]
    found = trends([*gone, *sampled(lambda minute: 1.0, who="worker-1")], lambda who: True)
    assert [trend.who for trend in grew(found)] == ["worker-0"]


def test_what_is_started_again_is_shown_and_not_judged() -> None:
    found = trends(sampled(lambda minute: 100 + minute * 10), lambda who: False)
    assert grew(found) == []
    assert "started again" in printed(found)


def test_the_report_names_what_grew() -> None:
    found = trends(sampled(lambda minute: 100 + minute * 10), lambda who: True)
    assert "not flat: private memory, MiB of worker-0" in printed(found)


def test_samples_come_back_from_csv(tmp_path: Path) -> None:
    samples = [Sample(0.5, "bus", Measure.LAG, 3.0), Sample(5.5, "worker-0", Measure.MEMORY, 101.25)]
    write_csv(samples, tmp_path / "soak.csv")
    assert read_csv(tmp_path / "soak.csv") == samples


def test_nothing_is_held_by_a_process_that_is_gone() -> None:
    assert held_by(2**22 + 1) is None


def test_a_soak_of_seconds_measures_everything_and_keeps_every_promise() -> None:
    new_play = partial(SoakPlay, every_s=0.5, pause_s=(0.0, 1.0), hour_lasts_s=2.0)
    with one_machine() as scene:
        soaked = soak(scene, SEED, SECONDS, print_line, new_play)
    assert soaked.outcome.violations == []
    assert soaked.outcome.accepted > 0
    assert set(soaked.outcome.blows) <= set(WEIGHTS)
    assert soaked.outcome.blows.total() > 0
    measured = {(sample.who, sample.measure) for sample in soaked.samples}
    of_processes = {Measure.MEMORY, Measure.FILES, Measure.THREADS, Measure.CPU}
    assert measured >= {(who, measure) for who in STAY for measure in of_processes}
    assert measured >= {
        (BUS, Measure.LAG),
        (BUS, Measure.LAG_S),
        (TABLE, Measure.LOG_FILES),
        (TABLE, Measure.LOG_BYTES),
    }
    largest = {measure: max(each.value for each in soaked.samples if each.measure is measure) for measure in Measure}
    assert largest[Measure.MEMORY] > 20
    assert largest[Measure.FILES] > 3
    assert largest[Measure.LOG_FILES] > 2


def printed(found: list[Trend]) -> str:
    console = Console(file=StringIO(), width=200)
    console.print(soak_report(found))
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def print_line(line: str) -> None:
    """Shown by pytest where a test fails."""
    print(line)  # noqa: T201
