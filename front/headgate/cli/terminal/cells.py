"""Formats single values for people: sizes, times, counts, maps, and texts with control characters."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

MAX_CELL_CHARS = 200
"""A value that is longer is cut in lists; json and csv have all of it."""

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_MAX_TIME_MS = 253_402_300_799_999
"""The end of the year 9999."""


def is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def shown_cell(name: str, value: Any, *, whole: bool = False) -> str:
    """A value of the column `name`, as short as possible; `whole` leaves long texts uncut."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int() if name == "size" or name.endswith("_bytes"):
            return human_size(value)
        case int() if _is_time(name):
            return human_time(value)
        case int():
            return str(value) if "version" in name else f"{value:,}"
        case float():
            return f"{value:.2%}" if name.endswith("_ratio") else f"{value:,.3f}".rstrip("0").rstrip(".")
        case datetime():
            zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
            return human_time(int(zoned.timestamp() * 1000))
        case Mapping():
            return _cut(", ".join(f"{key}={_inner(item)}" for key, item in value.items()) or "-", whole)
        case str():
            return _cut(value, whole)
        case Sequence():
            return _cut(", ".join(map(_inner, value)) or "-", whole)
        case _:
            return _cut(str(value), whole)


def human_size(count: int) -> str:
    """Decimal units, three digits."""
    amount = float(count)
    for unit in _UNITS:
        if abs(amount) < 999.5 or unit == _UNITS[-1]:
            break
        amount /= 1000
    if unit == "B":
        return f"{count} B"
    return f"{amount:.0f} {unit}" if abs(amount) >= 99.95 else f"{amount:.1f} {unit}"


def human_time(epoch_ms: int) -> str:
    """UTC, to the millisecond: exact enough for time travel."""
    if not 0 <= epoch_ms <= _MAX_TIME_MS:
        return str(epoch_ms)
    moment = datetime.fromtimestamp(epoch_ms // 1000, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{epoch_ms % 1000:03d}Z"


def printable(text: str) -> str:
    """The text without characters that move a cursor or change a colour."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def _inner(value: Any) -> str:
    return "null" if value is None else str(value)


def _cut(text: str, whole: bool) -> str:
    return printable(text if whole or len(text) <= MAX_CELL_CHARS else f"{text[: MAX_CELL_CHARS - 1]}…")


def _is_time(name: str) -> bool:
    times = ("time", "modification_time", "created_at", "timestamp", "appended")
    return name in times or name.endswith(("_timestamp", "_time"))
