"""The files that maintenance must leave alone for now: skips exist in version files only.

Neither states nor checkpoints hold them (docs/format.md, section 3), so this reads back through the retained versions.
Skips that cleaning has deleted, or that damage hides, are forgotten: their files are simply tried again.
"""

from headgate_schemas.actions.actions import SkipFile
from headgate_table.indextables.format.replay import commit_time
from headgate_table.indextables.log.readable_versions import left_versions
from headgate_table.indextables.log.reader import LoadedLog, LogReader

FIRST_COOLDOWN_MS = 24 * 3_600_000
"""Long enough that a damaged file costs one attempt a day, short enough that a restored one is not forgotten."""
MAX_COOLDOWN_MS = 7 * 24 * 3_600_000
"""No skip outlasts this, so that versions from before needn't be read."""
MEMORY_MS = 2 * MAX_COOLDOWN_MS
"""How long a skip counts as an earlier one of the same file: beyond its own end, so that a cooldown can grow."""
MAX_VERSIONS = 1_000
"""Versions looked through, at most: a table that commits more within the longest cooldown forgets earlier skips."""


def skips(reader: LogReader, log: LoadedLog, now_ms: int) -> dict[str, SkipFile]:
    """The newest skip of each path that still holds."""
    newest = _newest(reader, log, now_ms - MAX_COOLDOWN_MS)
    return {path: skip for path, skip in newest.items() if holds(skip, now_ms)}


def known_skips(reader: LogReader, log: LoadedLog, now_ms: int) -> dict[str, SkipFile]:
    """The newest skip of each path in the log, whether it still holds or not."""
    return _newest(reader, log, now_ms - MEMORY_MS)


def _newest(reader: LogReader, log: LoadedLog, since_ms: int) -> dict[str, SkipFile]:
    retained = [version for version in reader.full_listing().versions if version <= log.version]
    newest = retained[::-1][:MAX_VERSIONS]
    found: dict[str, SkipFile] = {}
    for _, actions in left_versions(reader, newest):
        for action in reversed(actions or ()):
            if isinstance(action, SkipFile):
                found.setdefault(action.path, action)
        time_ms = commit_time(actions or ())
        if time_ms is not None and time_ms < since_ms:
            break
    return found


def cooldown_ms(count: int) -> int:
    """How long a file is left alone after its `count`th failure: a day, doubled with each, a week at most."""
    doublings = min(max(count, 1) - 1, 10)
    return min(FIRST_COOLDOWN_MS << doublings, MAX_COOLDOWN_MS)


def holds(skip: SkipFile, now_ms: int) -> bool:
    """Whether its file must still be left alone. A skip without an end of its own ends by Headgate's cooldowns."""
    if skip.skip_timestamp < now_ms - MAX_COOLDOWN_MS:
        return False
    end = skip.retry_after
    return now_ms < (skip.skip_timestamp + cooldown_ms(skip.skip_count) if end is None else end)
