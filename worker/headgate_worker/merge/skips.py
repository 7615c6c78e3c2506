"""The skips of files that couldn't be merged. Pure; `headgate_table…skips` decides how long a file is left alone."""

from collections.abc import Mapping

from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_table.indextables.rules.skips import cooldown_ms

OPERATION = "merge"
MAX_REASON_CHARS = 500
"""Of what the log says about one file: everybody reads it."""


def skip_of(source: AddFile, reason: str, earlier: Mapping[str, SkipFile], now_ms: int) -> SkipFile:
    """The skip of a file that can't be merged; `earlier` are the skips that the log remembers."""
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
