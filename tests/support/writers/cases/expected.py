"""What a correct reader must find in a generated table. Kept by the generator itself while it writes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.writers.invented import File


@dataclass(frozen=True, slots=True)
class Expected:
    """`total_bytes` is the sum of the live files' sizes, whatever a state's own estimate says; None: not asserted."""

    version: int
    paths: tuple[str, ...]
    total_bytes: int | None
    partition_columns: tuple[str, ...] = ()
    protocol: tuple[int, int] = (4, 4)
    table_id: str | None = None
    per_version: Mapping[int, tuple[str, ...]] | None = None
    not_retained: tuple[int, ...] = ()
    """Versions that nothing on disk can rebuild: a reader must refuse them, not guess."""
    configuration: Mapping[str, str] = field(default_factory=dict)
    """Keys that the table's configuration must hold, among others."""
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By path: values that the entry must have, keyed by our column names."""
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By filter: the paths that it leaves."""


@dataclass(frozen=True, slots=True)
class Fatal:
    """The table must be refused, with a message that matches."""

    match: str


@dataclass(frozen=True, slots=True)
class JsonText:
    """An expected value that is JSON in a string: compared decoded."""

    value: Any


def naming(*fragments: str) -> str:
    """A pattern that wants every fragment (itself a pattern) somewhere in the message, in any order."""
    return r"(?is)\A" + "".join(f"(?=.*(?:{fragment}))" for fragment in fragments)


def line(number: int) -> str:
    """A fragment that names a line of a file, however the message writes it."""
    return rf"line {number}\b|json:{number}\b"


def sorted_paths(files: Iterable[File]) -> tuple[str, ...]:
    return tuple(sorted(file["path"] for file in files))


def total(files: Iterable[File]) -> int:
    return sum(file["size"] for file in files)
