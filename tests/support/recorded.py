"""Measures that a test can look at."""

from contextlib import AbstractContextManager, nullcontext

from headgate_schemas.measures import Counter, Gauge, Histogram, Metric


class Recorded:
    """Keeps the sum of each counter and the last value of each gauge, whatever the labels."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def value(self, metric: Metric) -> float:
        return self._values.get(metric.name, 0)

    def count(self, metric: Counter, *labels: str, by: float = 1) -> None:
        self._values[metric.name] = self.value(metric) + by

    def set(self, metric: Gauge, value: float, *labels: str) -> None:
        self._values[metric.name] = value

    def observe(self, metric: Histogram, value: float, *labels: str, times: int = 1) -> None: ...

    def timing(self, metric: Histogram, *labels: str) -> AbstractContextManager[None]:
        return nullcontext()
