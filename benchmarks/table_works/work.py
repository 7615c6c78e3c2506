"""What a work is: a title, the sizes that it is for, and what each engine does, or why one has nothing to compare."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from parts.measuring import Measured
from parts.tables import make_delta, make_headgate, make_iceberg

HEADGATE, DELTA, ICEBERG = "headgate", "delta-rs", "pyiceberg"
APPENDED = 100
"""Files of one commit."""


@dataclass(frozen=True, slots=True)
class Task:
    """One measurement: of which table, how large it is, how often, and the address of a server where one is needed."""

    folder: str
    files: int
    runs: int
    server: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HasNone:
    """An engine that has nothing of the kind; the reason says what it lacks: "no …"."""

    reason: str


Measure = Callable[[Task], Measured]
Maker = Callable[[str, int], None]


def _no_server() -> AbstractContextManager[Mapping[str, str]]:
    return nullcontext({})


def every_size(sizes: Sequence[int]) -> Sequence[int]:
    return sizes


def large_sizes(sizes: Sequence[int]) -> Sequence[int]:
    """Where growth is over and what is left is shown at a glance."""
    return [size for size in sizes if size >= 70_000] or sizes[-1:]


def two_sizes(sizes: Sequence[int]) -> Sequence[int]:
    return [size for size in sizes if size in (70_000, 100_000)] or sizes[-1:]


def largest_size(sizes: Sequence[int]) -> Sequence[int]:
    return [max(sizes)]


TABLES: Mapping[str, Maker] = {HEADGATE: make_headgate, DELTA: make_delta, ICEBERG: make_iceberg}


@dataclass(frozen=True, slots=True)
class Work:
    """`makers` make each engine's table in an empty folder; engines without one of their own name share Headgate's."""

    title: str
    engines: Mapping[str, Measure | HasNone]
    sizes: Callable[[Sequence[int]], Sequence[int]] = every_size
    makers: Mapping[str, Maker] = field(default_factory=lambda: TABLES)
    server: Callable[[], AbstractContextManager[Mapping[str, str]]] = _no_server

    def maker(self, engine: str) -> Maker:
        return next(make for name, make in self.makers.items() if engine.startswith(name))
