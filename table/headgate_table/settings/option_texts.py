"""The parsers of settings. Each raises `ValueError` with the accepted values, as in "it takes true or false"."""

import re
from collections.abc import Callable

MAX_COLUMNS = 100
"""In a list of columns: nobody sorts by more."""
_SIZE = re.compile(r"([0-9]{1,19})([kmgt]?)b?", re.IGNORECASE)
_UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_MAX_LONG = 2**63 - 1


def flag(text: str) -> bool:
    match text.strip().lower():
        case "true" | "1" | "yes":
            return True
        case "false" | "0" | "no":
            return False
        case _:
            raise ValueError("true or false")


def whole(low: int, high: int = _MAX_LONG) -> Callable[[str], int]:
    takes = f"a whole number from {low}" + (f" to {high}" if high < _MAX_LONG else "")

    def parse(text: str) -> int:
        if text.strip().upper() == "MAX_INT":
            return min(high, 2**31 - 1)
        try:
            value = int(text)
        except ValueError:
            raise ValueError(takes) from None
        if not low <= value <= high:
            raise ValueError(takes)
        return value

    return parse


def hours(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        bare = text.strip().lower()
        number, factor = (bare[:-1], 24 if bare[-1] == "d" else 1) if bare.endswith(("d", "h")) else (bare, 1)
        if not (number.isascii() and number.isdigit() and len(number) < 8 and low <= int(number) * factor <= high):
            raise ValueError(f"hours from {low} to {high}, or days as 7d")
        return int(number) * factor

    return parse


def size(low: int, high: int = _MAX_LONG) -> Callable[[str], int]:
    def parse(text: str) -> int:
        found = _SIZE.fullmatch(text.strip())
        value = int(found[1]) * _UNIT_BYTES[found[2].lower()] if found is not None else -1
        if not low <= value <= high:
            most = f" to {high}" if high < _MAX_LONG else ""
            raise ValueError(f"bytes from {low}{most}, or a number with K, M, G or T as 128M")
        return value

    return parse


def share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number from 0 to 1") from None
    if not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return value


def folder(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("the absolute path of a local folder")
    return text


def columns(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names) or len(set(names)) < len(names) or len(names) > MAX_COLUMNS:
        raise ValueError(f"names of columns as a,b, each once and at most {MAX_COLUMNS}")
    return names


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in choices:
            raise ValueError(" or ".join(choices))
        return text.strip().lower()

    return parse


def several_of(*choices: str) -> Callable[[str], tuple[str, ...]]:
    """Any of the choices, with commas between them; none as an empty text."""

    def parse(text: str) -> tuple[str, ...]:
        names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip()))
        if any(name not in choices for name in names):
            raise ValueError(f"{' and '.join(choices)}, with commas between them, or nothing")
        return names

    return parse
