"""Reading versions for what they tell beside the table's own state, as far as they are left.

What a reader of the table needs is read by `LogReader`, which raises; here damage to one version hides what that one told.
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
    """Those of the versions that have a file, in the given order, with their actions; None of a file that is damaged."""
    for start in range(0, len(versions), _BATCH):
        some = versions[start : start + _BATCH]
        yield from chain.from_iterable(reader.resources.each(lambda version: _told(reader, version), some))


def _told(reader: LogReader, version: int) -> list[_Told]:
    """Nothing of a version that was cleaned up since it was listed."""
    try:
        actions = reader.actions_or_none(version)
    except CorruptTable as error:
        _log.warning("version_not_readable", table=reader.store.uri, version=version, reason=str(error))
        return [(version, None)]
    return [] if actions is None else [(version, actions)]
