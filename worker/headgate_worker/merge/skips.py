"""Cooldowns of files that couldn't be read: how long one is left alone, and what the log is told. Pure."""

from collections.abc import Mapping

from headgate_schemas.actions import AddFile, SkipFile
from headgate_table.indextables.skips import MAX_COOLDOWN_MS

OPERATION = "merge"
FIRST_COOLDOWN_MS = 24 * 3_600_000
"""Long enough that a damaged file costs one attempt a day, short enough that a restored one is not forgotten."""
MAX_REASON_CHARS = 500
"""Of what the log says about one file: everybody reads it."""


def cooldown_ms(count: int) -> int:
    """How long a file is left alone after its `count`th failure: a day, doubled with each, a week at most.

    The bound is that of the readers of skips: they honour none for longer (`MAX_COOLDOWN_MS`).
    """
    doublings = min(max(count, 1) - 1, 10)
    return min(FIRST_COOLDOWN_MS << doublings, MAX_COOLDOWN_MS)


def is_cooling(skip: SkipFile, now_ms: int) -> bool:
    """Whether the file is left alone still. A skip without an end of its own has that of our cooldowns."""
    if skip.skip_timestamp < now_ms - MAX_COOLDOWN_MS:
        return False
    end = skip.retry_after
    return now_ms < (skip.skip_timestamp + cooldown_ms(skip.skip_count) if end is None else end)


def skip_of(source: AddFile, reason: str, earlier: Mapping[str, SkipFile], now_ms: int) -> SkipFile:
    """What the log is told of a file that can't be merged; `earlier` are the skips that it remembers."""
    before = earlier.get(source.path)
    count = 1 + (max(before.skip_count, 0) if before is not None else 0)
    return SkipFile(
        path=source.path,
        skip_timestamp=now_ms,
        reason=reason if len(reason) <= MAX_REASON_CHARS else reason[: MAX_REASON_CHARS - 1] + "…",
        operation=OPERATION,
        partition_values=source.partition_values,
        size=source.size,
        retry_after=now_ms + cooldown_ms(count),
        skip_count=min(count, 2**31 - 1),
    )
