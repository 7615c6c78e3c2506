"""Partition bounds as known writers compute them: by text, or number-aware in the manner of Java or of Rust."""

import re
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

Compare = Callable[[str, str], int]

_JAVA_DOUBLE = re.compile(
    r"[\x00-\x20]*[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)[\x00-\x20]*"
)
_RUST_DOUBLE = re.compile(r"[+-]?(nan|inf|infinity|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?)", re.IGNORECASE)


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def by_text(left: str, right: str) -> int:
    return _sign(left.encode("utf-16-be"), right.encode("utf-16-be"))


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch("[+-]?[0-9]+", text) and -(2**63) <= int(text) < 2**63 else None


def _float_key(text: str) -> tuple[int, float, int]:
    number = float(text.strip().rstrip("dDfF") if text.strip()[-1:] in "dDfF" and "inf" not in text.lower() else text)
    if number != number:
        return (1, 0.0, 0)
    return (0, number, -1 if number == 0 and text.strip()[0] == "-" else 0)


def _number_aware(double: re.Pattern[str], text_order: Compare) -> Compare:
    def compare(left: str, right: str) -> int:
        left_integer, right_integer = _integer(left), _integer(right)
        if left_integer is not None and right_integer is not None:
            return _sign(left_integer, right_integer)
        if double.fullmatch(left) and double.fullmatch(right):
            return _sign(_float_key(left), _float_key(right))
        return text_order(left, right)

    return compare


by_java_number = _number_aware(_JAVA_DOUBLE, by_text)
by_rust_number = _number_aware(_RUST_DOUBLE, lambda left, right: _sign(left.encode(), right.encode()))


def bounds_by(compare: Compare, texts: Iterable[str | None], keep_empty: bool) -> tuple[str | None, str | None]:
    """The (min, max) that a writer with this order finds in one pass over the texts, in their order."""
    seen = [text for text in texts if text is not None and (text or keep_empty)]
    if not seen:
        return None, None
    return (
        reduce(lambda a, b: b if compare(b, a) < 0 else a, seen),
        reduce(lambda a, b: b if compare(b, a) > 0 else a, seen),
    )
