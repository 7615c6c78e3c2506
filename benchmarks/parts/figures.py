"""Figures: what was measured of one engine at one work and size; kept in a file, so that a run may be made in pieces."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """`size` is a number of files or of proposers; `median` is in milliseconds, or a rate where the work says so."""

    work: str
    engine: str
    size: int
    median: float
    peak_mb: float = 0.0


class Figures:
    """Those of this run, and of earlier pieces of it that are in the file. A figure measured again replaces its like."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._all: dict[tuple[str, str, int], Figure] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                self._put(Figure(**json.loads(line)))

    def add(self, figure: Figure) -> None:
        self._put(figure)
        if self._path is not None:
            with self._path.open("a") as out:
                out.write(json.dumps(asdict(figure)) + "\n")

    def find(self, work: str, engine: str, size: int) -> Figure | None:
        return self._all.get((work, engine, size))

    def of(self, work: str) -> Iterable[Figure]:
        return sorted((found for found in self._all.values() if found.work == work), key=lambda found: found.size)

    def _put(self, figure: Figure) -> None:
        self._all[figure.work, figure.engine, figure.size] = figure
