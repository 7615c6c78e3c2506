"""Whether what was measured stayed flat: a rule that can fail, over samples that anybody may invent.

The first part of a run is left out: caches fill, workers meet what lay there, and a table remembers more until it forgets as
much. Of what is left, the median of the last third is set against that of the first. A saw-tooth has the same medians; a leak, even below a saw-tooth, has not.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import linear_regression, median

from support.soak.samples import Measure, Sample, by_series

WARM_UP = 0.1
"""Of a run whose warm-up isn't told."""
FEWEST = 12
"""Samples of a series after its warm-up; with fewer, a third says nothing, and the series is not flat."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much may be added between the first third and the last: so much, or this part of the first, whichever is more."""

    absolute: float
    part: float = 0.0


ALLOWED = {
    Measure.MEMORY: Allowance(6.0, 0.05),
    Measure.FILES: Allowance(4.0),
    Measure.THREADS: Allowance(2.0),
    Measure.CPU: Allowance(0.05, 0.5),
    Measure.LAG: Allowance(20.0),
    Measure.LAG_S: Allowance(5.0),
    Measure.LOG_FILES: Allowance(40.0, 0.25),
    Measure.LOG_BYTES: Allowance(0.5, 0.25),
}
"""Allocators, and a machine that others use as well, make as much; a leak makes more in some hours, however slow it is."""


@dataclass(frozen=True, slots=True)
class Trend:
    who: str
    measure: Measure
    first: float
    """The median of the first third."""
    last: float
    per_hour: float
    """The slope of a line through all samples that count."""
    allowed: float
    """How far the last third may lie above the first."""
    samples: int
    is_judged: bool = True
    """What is started again all the time begins anew each time: that it doesn't grow says nothing."""

    @property
    def is_flat(self) -> bool:
        return self.samples >= FEWEST and self.last - self.first <= self.allowed


def trends(samples: Iterable[Sample], stays: Callable[[str], bool], warm_up_s: float | None = None) -> list[Trend]:
    """Of every series; `stays` tells what ran all the time, and is judged."""
    series = by_series(samples)
    end_s = max((moments[-1][0] for moments in series.values()), default=0.0)
    start_s = end_s * WARM_UP if warm_up_s is None else warm_up_s
    return [
        _trend(who, measure, [each for each in moments if each[0] >= start_s], start_s, end_s, stays(who))
        for (who, measure), moments in series.items()
    ]


def grew(found: Iterable[Trend]) -> list[Trend]:
    """Those that break the claim."""
    return [trend for trend in found if trend.is_judged and not trend.is_flat]


def _trend(
    who: str, measure: Measure, moments: list[tuple[float, float]], start_s: float, end_s: float, is_judged: bool
) -> Trend:
    third_s = (end_s - start_s) / 3
    first = [value for at_s, value in moments if at_s <= start_s + third_s]
    last = [value for at_s, value in moments if at_s >= end_s - third_s]
    if not first or not last:
        return Trend(who, measure, 0.0, 0.0, 0.0, 0.0, 0, is_judged)
    before, after = median(first), median(last)
    times = [at_s for at_s, _ in moments]
    slope = linear_regression(times, [value for _, value in moments]).slope if times[0] < times[-1] else 0.0
    allowance = ALLOWED[measure]
    allowed = max(allowance.absolute, allowance.part * before)
    return Trend(who, measure, before, after, slope * 3600, allowed, len(moments), is_judged)
