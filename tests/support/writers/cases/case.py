"""What a case is: a table to write, and what a reader must make of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from support.writers.cases.expected import Expected, Fatal

Build = Callable[[Path], Expected | Fatal]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    section: str
    """The section of docs/format.md that the case is about."""
    readable: bool
    build: Build
    filtered: bool = False
    """Whether the expectation says what some filters leave."""


class Cases:
    """Collects the cases of one subject. `readable` cases build an `Expected`, `fatal` ones a `Fatal`."""

    def __init__(self, section: str) -> None:
        self._section = section
        self.all: list[Case] = []

    def readable(
        self, name: str, section: str | None = None, *, filtered: bool = False
    ) -> Callable[[Callable[[Path], Expected]], None]:
        def register(build: Callable[[Path], Expected]) -> None:
            self.all.append(Case(name, section or self._section, True, build, filtered))

        return register

    def fatal(self, name: str, section: str | None = None) -> Callable[[Callable[[Path], Fatal]], None]:
        def register(build: Callable[[Path], Fatal]) -> None:
            self.all.append(Case(name, section or self._section, False, build))

        return register
