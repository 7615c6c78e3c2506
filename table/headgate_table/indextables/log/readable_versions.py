"""Reads versions for side information, as far as they are left.

Readers of the table itself use `LogReader`, which raises; here a damaged version is only missing from the result.
"""

from collections.abc import Iterator, Sequence
from itertools import chain

from headgate_schemas.actions.actions import Action
from headgate_schemas.logs import get_logger
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.reader import LogReader

_BATCH = 16
"""Version files held in memory at once."""

_Told = tuple[int, list[Action] | None]

_log = get_logger("headgate.log")


def left_versions(reader: LogReader, versions: Sequence[int]) -> Iterator[_Told]:
    """The versions that have a file, in the given order, with their actions; None for a damaged file."""
    for start in range(0, len(versions), _BATCH):
        some = versions[start : start + _BATCH]
        yield from chain.from_iterable(reader.resources.each(lambda version: _told(reader, version), some))


def _told(reader: LogReader, version: int) -> list[_Told]:
    """No actions for a version that was cleaned since it was listed."""
    try:
        actions = reader.actions_or_none(version)
    except CorruptTable as error:
        _log.warning("version_not_readable", table=reader.store.uri, version=version, reason=str(error))
        return [(version, None)]
    return [] if actions is None else [(version, actions)]
