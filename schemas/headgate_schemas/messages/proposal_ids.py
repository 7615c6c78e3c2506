"""Ids of proposals that contain the time of their creation: UUIDs of version 7, in 32 hex digits.

A repeated proposal must state the time of its first attempt. A program that kept nothing but the id still knows it.
Pure.
"""

import re

_TIMED = re.compile(r"([0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}")
_TIME_MASK = (1 << 48) - 1
MADE_AHEAD_MS = 30_000
"""By how much the clock that made an id may be ahead of the one that reads it."""


def timed_id(random_id: str, now_ms: int) -> str:
    """An id of this time. `random_id` are 32 hex digits, as an `Ambient` makes them."""
    variant = "89ab"[int(random_id[16], 16) % 4]
    return f"{now_ms & _TIME_MASK:012x}7{random_id[13:16]}{variant}{random_id[17:]}"


def made_at(proposal_id: str) -> int | None:
    """The time of the id's creation in epoch milliseconds; None if the id doesn't contain it."""
    found = _TIMED.fullmatch(proposal_id.replace("-", "").lower())
    return None if found is None else int(found[1], 16)


def first_made(proposal_id: str, now_ms: int) -> int:
    """The time of the first proposal with this id, according to the id; 0 if unknown."""
    made_ms = made_at(proposal_id)
    return 0 if made_ms is None or made_ms > now_ms + MADE_AHEAD_MS else made_ms
