"""The page's view of a proposal, taken from its message without deciding it; committers decide."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from headgate_bus.interface import Record
from headgate_schemas.messages.cloud_events import subject_of

MAX_AUTHOR_CHARS = 200
_FILE_LISTS = ("files", "paths", "removes", "adds", "skips", "appendedFiles")


@dataclass(frozen=True, slots=True)
class Glimpse:
    """A proposal that was read. Values that its message doesn't have are empty."""

    id: str
    table: str
    partition: int
    offset: int
    time_ms: int
    """When the bus took it."""
    author: str = ""
    operation: str = ""
    files: int | None = None
    """That it names."""


def glimpse(record: Record) -> Glimpse:
    """The preview of any bytes: the page must not fail where the committer sets a message aside."""
    try:
        told = from_json(record.body)
    except ValueError:
        told = None
    body: Mapping[str, Any] = told if isinstance(told, dict) else {}
    operation, claim = _mapping(body.get("operation")), _mapping(body.get("claim"))
    return Glimpse(
        id=_text(body.get("id")) or subject_of(record.headers),
        table=record.key,
        partition=record.partition,
        offset=record.offset,
        time_ms=record.time_ms,
        author=_text(body.get("author"))[:MAX_AUTHOR_CHARS],
        operation=_text(operation.get("type"))[:40],
        files=_count(claim["files"]) if "files" in claim else _named_files(operation),
    )


def _named_files(operation: Mapping[str, Any]) -> int | None:
    lists = [operation[name] for name in _FILE_LISTS if isinstance(operation.get(name), list)]
    return sum(map(len, lists)) if lists else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
