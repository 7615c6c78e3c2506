"""The kinds of metrics, and the interface `Measures` by which parts of Headgate record them.

`metrics` lists all metrics; each process decides at its start where the numbers go.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Label:
    """A label and all of its possible values, so that no metric grows without bound."""

    name: str
    values: tuple[str, ...]

    def nearest(self, value: str) -> str:
        """The value, or `other` for an unknown one. Only for labels that have `other`."""
        assert OTHER in self.values, f"label {self.name} has no {OTHER!r}"
        return value if value in self.values else OTHER


OTHER = "other"


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` includes the unit; `help` is a sentence for readers of a dashboard."""

    name: str
    help: str
    labels: tuple[Label, ...] = ()

    def check(self, values: tuple[str, ...]) -> None:
        """A value outside of its label's values is a defect of the caller."""
        names = [label.name for label in self.labels]
        assert len(values) == len(names), f"{self.name} has the labels {names}, and was given {values}"
        for label, value in zip(self.labels, values, strict=True):
            assert value in label.values, f"{self.name} was given {label.name}={value!r}, which is none of its values"


@dataclass(frozen=True, slots=True)
class Counter(Metric):
    """Only rises, from 0 at the start of the process."""


@dataclass(frozen=True, slots=True)
class Gauge(Metric):
    """Rises and falls."""


@dataclass(frozen=True, slots=True)
class Histogram(Metric):
    """The number of values up to each bucket's bound, the number of all values, and their sum."""

    buckets: tuple[float, ...] = ()


class Measures(Protocol):
    """Threads share it; a call blocks no other one for longer than an addition. Label values come in the order of the
    labels.
    """

    def count(self, metric: Counter, *labels: str, by: float = 1) -> None: ...

    def set(self, metric: Gauge, value: float, *labels: str) -> None: ...

    def observe(self, metric: Histogram, value: float, *labels: str, times: int = 1) -> None:
        """Record the value, once or several times."""
        ...

    def timing(self, metric: Histogram, *labels: str) -> AbstractContextManager[None]:
        """Record the duration of the block in seconds. A block that raises is not counted."""
        ...


class Silent:
    """Records nothing, for processes without metrics."""

    def count(self, metric: Counter, *labels: str, by: float = 1) -> None: ...

    def set(self, metric: Gauge, value: float, *labels: str) -> None: ...

    def observe(self, metric: Histogram, value: float, *labels: str, times: int = 1) -> None: ...

    def timing(self, metric: Histogram, *labels: str) -> AbstractContextManager[None]:
        return nullcontext()


SILENT: Measures = Silent()
