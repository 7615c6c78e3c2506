"""How parts of Headgate say what they do in numbers: kinds of metrics, and the `Measures` that are handed to them.

Which metrics there are is `metrics`'; where the numbers go is decided where a process begins.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Label:
    """A label and all the values that it can have: no metric grows without bound."""

    name: str
    values: tuple[str, ...]

    def nearest(self, value: str) -> str:
        """The value, or `other` where others than ours may come. Only for labels that have it."""
        assert OTHER in self.values, f"label {self.name} has no {OTHER!r}"
        return value if value in self.values else OTHER


OTHER = "other"


@dataclass(frozen=True, slots=True)
class Metric:
    """`name` holds the unit; `help` is a sentence for who reads a dashboard."""

    name: str
    help: str
    labels: tuple[Label, ...] = ()

    def check(self, values: tuple[str, ...]) -> None:
        """A value outside of its label's bound is a defect of whoever measures."""
        names = [label.name for label in self.labels]
        assert len(values) == len(names), f"{self.name} has the labels {names}, and was given {values}"
        for label, value in zip(self.labels, values, strict=True):
            assert value in label.values, f"{self.name} was given {label.name}={value!r}, which is none of its values"


@dataclass(frozen=True, slots=True)
class Counter(Metric):
    """Only grows, from 0 at the start of the process."""


@dataclass(frozen=True, slots=True)
class Gauge(Metric):
    """Goes up and down."""


@dataclass(frozen=True, slots=True)
class Histogram(Metric):
    """How often values up to each bucket's bound came, their number, and their sum."""

    buckets: tuple[float, ...] = ()


class Measures(Protocol):
    """Threads share it, and none waits for another for longer than an addition takes. Labels are given in their order."""

    def count(self, metric: Counter, *labels: str, by: float = 1) -> None: ...

    def set(self, metric: Gauge, value: float, *labels: str) -> None: ...

    def observe(self, metric: Histogram, value: float, *labels: str, times: int = 1) -> None:
        """The value came, or came so many times."""
        ...

    def timing(self, metric: Histogram, *labels: str) -> AbstractContextManager[None]:
        """Observe how long the block takes, in seconds. A block that raises is not counted."""
        ...


class Silent:
    """Measures nothing, for whoever didn't ask for metrics."""

    def count(self, metric: Counter, *labels: str, by: float = 1) -> None: ...

    def set(self, metric: Gauge, value: float, *labels: str) -> None: ...

    def observe(self, metric: Histogram, value: float, *labels: str, times: int = 1) -> None: ...

    def timing(self, metric: Histogram, *labels: str) -> AbstractContextManager[None]:
        return nullcontext()


SILENT: Measures = Silent()
