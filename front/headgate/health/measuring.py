"""`Measures` in the format of Prometheus: one registry per process, with only the metrics of the catalogue.

It keeps the sums itself, in place of the client library's own classes, because a group of proposals is recorded at
once. The library writes the format.
"""

import platform
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from headgate_schemas.ambient import Ambient
from headgate_schemas.measures import Counter, Gauge, Histogram, Metric
from headgate_schemas.metrics import BUILD_INFO, CATALOGUE, THREADS
from headgate_schemas.version import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
INFINITY = "+Inf"


@dataclass(slots=True)
class _Buckets:
    counts: list[int]
    total: float = 0.0


@dataclass(slots=True)
class _Series:
    """The series of one metric, by the values of its labels."""

    numbers: dict[tuple[str, ...], float] = field(default_factory=dict)
    buckets: dict[tuple[str, ...], _Buckets] = field(default_factory=dict)


class PrometheusMeasures(Collector):
    """Threads share it. A metric without a value has no series, except for counters without labels, which are 0."""

    def __init__(self, ambient: Ambient) -> None:
        self._monotonic_s = ambient.monotonic_s
        self._lock = threading.Lock()
        self._series = {metric.name: _Series() for metric in CATALOGUE}
        for metric in CATALOGUE:
            if isinstance(metric, Counter) and not metric.labels:
                self._series[metric.name].numbers[()] = 0.0
        self._before_reading: list[Callable[[], None]] = []
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        self._registry.register(self)

    def before_reading(self, update: Callable[[], None]) -> None:
        """Register a function that sets momentary gauges, such as ages, before each reading of the metrics."""
        self._before_reading.append(update)

    def count(self, metric: Counter, *labels: str, by: float = 1) -> None:
        self._add(metric, labels, by)

    def set(self, metric: Gauge, value: float, *labels: str) -> None:
        numbers = self._series[metric.name].numbers
        if labels not in numbers:
            metric.check(labels)
        numbers[labels] = value

    def observe(self, metric: Histogram, value: float, *labels: str, times: int = 1) -> None:
        series = self._series[metric.name].buckets
        place = bisect_left(metric.buckets, value)
        with self._lock:
            found = series.get(labels)
            if found is None:
                metric.check(labels)
                found = series[labels] = _Buckets([0] * (len(metric.buckets) + 1))
            found.counts[place] += times
            found.total += value * times

    @contextmanager
    def timing(self, metric: Histogram, *labels: str) -> Iterator[None]:
        began_s = self._monotonic_s()
        yield
        self.observe(metric, self._monotonic_s() - began_s, *labels)

    def text(self) -> bytes:
        """All metrics, in the text format of Prometheus."""
        for update in self._before_reading:
            update()
        self.set(THREADS, threading.active_count())
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Family]:
        for metric in CATALOGUE:
            yield self._family(metric)
        build = GaugeMetricFamily(BUILD_INFO, "Which release this is", labels=("version", "python"))
        build.add_metric((__version__, platform.python_version()), 1)
        yield build

    def _add(self, metric: Metric, labels: tuple[str, ...], number: float) -> None:
        numbers = self._series[metric.name].numbers
        with self._lock:
            if labels not in numbers:
                metric.check(labels)
            numbers[labels] = numbers.get(labels, 0.0) + number

    def _family(self, metric: Metric) -> Family:
        names = [label.name for label in metric.labels]
        series = self._series[metric.name]
        with self._lock:
            numbers = dict(series.numbers)
            buckets = {labels: _Buckets(list(found.counts), found.total) for labels, found in series.buckets.items()}
        if isinstance(metric, Histogram):
            histogram = HistogramMetricFamily(metric.name, metric.help, labels=names)
            for labels, found in buckets.items():
                histogram.add_metric(labels, _cumulated(metric, found), found.total)
            return histogram
        kind = CounterMetricFamily if isinstance(metric, Counter) else GaugeMetricFamily
        family = kind(metric.name, metric.help, labels=names)
        for labels, number in numbers.items():
            family.add_metric(labels, number)
        return family


def _cumulated(metric: Histogram, found: _Buckets) -> list[tuple[str, float]]:
    """Cumulative counts, as in the format: each bucket includes those below it."""
    below = 0
    rows: list[tuple[str, float]] = []
    for bound, number in zip((*map(str, map(float, metric.buckets)), INFINITY), found.counts, strict=True):
        below += number
        rows.append((bound, below))
    return rows
