"""What was measured, of what, and when; and how it is kept as CSV."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Measure(Enum):
    MEMORY = "private memory, MiB"
    FILES = "open files"
    THREADS = "threads"
    CPU = "processor, cores"
    LAG = "lag, proposals"
    LAG_S = "lag, seconds"
    LOG_FILES = "files in the log"
    LOG_BYTES = "log, MiB"


@dataclass(frozen=True, slots=True)
class Sample:
    at_s: float
    """Since the run began."""
    who: str
    """A process, the bus or the table."""
    measure: Measure
    value: float


Series = tuple[str, Measure]


def by_series(samples: Iterable[Sample]) -> Mapping[Series, list[tuple[float, float]]]:
    """Moments and values of each thing that was measured, in order."""
    found: dict[Series, list[tuple[float, float]]] = defaultdict(list)
    for sample in sorted(samples, key=lambda each: each.at_s):
        found[sample.who, sample.measure].append((sample.at_s, sample.value))
    return found


def write_csv(samples: Iterable[Sample], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("at_s", "who", "measure", "value"))
        writer.writerows((f"{each.at_s:.1f}", each.who, each.measure.value, f"{each.value:g}") for each in samples)


def read_csv(path: Path) -> list[Sample]:
    with path.open(newline="") as file:
        return [
            Sample(float(row["at_s"]), row["who"], Measure(row["measure"]), float(row["value"]))
            for row in csv.DictReader(file)
        ]
