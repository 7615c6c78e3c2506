"""Which version files may have come late, into numbers that were cleaned meanwhile: what they say counts for nothing.

Versions name the nonce of the one before them, so a late file is disowned by the next. Of one that nothing names, nothing
tells. Cleaning takes a prefix, up to the lowest state or checkpoint that stays (docs/format.md, section
6.6). So a file that came after it is the lowest of those that are left without a hole, or lies below; and nothing came late
above a state whose own version has no file.
"""

from collections.abc import Sequence

from headgate_schemas.actions.actions import Action, Metadata
from headgate_table.coordination.commit_info import commit_record
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.listing import LogListing
from headgate_table.indextables.log.predecessor import mark_of
from headgate_table.indextables.log.reader import LoadedLog, LogReader

_MOST_LATE = 16
"""Above the lowest version that is left, so many are compared with what the next one names. So many writers that all slept through
a cleaning, one upon the other, and woke up in order, are beyond belief."""


def late_up_to(reader: LogReader, listing: LogListing, log: LoadedLog) -> int:
    """The number up to which version files may have come late; -1 in a log that never was cleaned."""
    first = first_left(listing, log.version)
    if first == 0:
        return 0 if (listing.states or listing.checkpoints) and _began_another_table(reader, log) else -1
    if first not in listing.version_objects:
        return first - 1
    return _disowned_up_to(reader, listing, first, min(log.version, first + _MOST_LATE))


def first_left(listing: LogListing, newest: int) -> int:
    """The lowest version from which on none is missing up to the newest; 0 in a log that never was cleaned."""
    anchors = {*listing.states, *listing.checkpoints}
    first = newest
    while first > 0 and (first - 1 in listing.version_objects or first - 1 in anchors):
        first -= 1
    return first


def _disowned_up_to(reader: LogReader, listing: LogListing, lowest: int, highest: int) -> int:
    """`lowest`, or above it the last version whose predecessor is not the one that it names.

    Each of those that come late one after the other has read the true predecessor, and so has the first that was left. That one
    is doubted with them, as the lowest is where nothing is told.
    """
    late = lowest
    for version in range(lowest, highest):
        is_told = _is_named_by_the_next(reader, listing, version)
        if is_told:
            break
        if is_told is False:
            late = version + 1
    return late


def _is_named_by_the_next(reader: LogReader, listing: LogListing, version: int) -> bool | None:
    """None where the next version doesn't say which one it was put upon."""
    if version + 1 in listing.checkpoints and version + 1 not in listing.version_objects:
        return False  # a version with a JSON checkpoint had a file, which was cleaned, and so were all before it
    reader.forget_unlike(listing, (version, version + 1))
    try:
        own, following = reader.actions_or_none(version), reader.actions_or_none(version + 1)
    except CorruptTable:
        return None
    return None if own is None else is_named(own, following or ())


def is_named(own: Sequence[Action], following: Sequence[Action]) -> bool | None:
    """Whether the next version was put upon this one; if not, this one came late, and so did all below it. None where the next
    doesn't tell."""
    record = commit_record(following)
    return None if record is None or not record.previous else record.previous == mark_of(own)


def _began_another_table(reader: LogReader, log: LoadedLog) -> bool:
    """Of version 0, where nothing is missing without it: its creator had not seen that there was a table already."""
    try:
        ids = [action.id for action in reader.actions_or_none(0) or () if isinstance(action, Metadata)]
    except CorruptTable:
        return False
    return bool(ids) and reader.metadata(log).id not in ids
