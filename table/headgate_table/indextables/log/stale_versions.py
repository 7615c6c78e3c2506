"""Finds version files that may have come late, into numbers that were cleaned meanwhile: their decisions don't count.

A version names the nonce of its predecessor, so the next version exposes a late file. Nothing exposes a late file
without a next version. Cleaning deletes a prefix, up to the lowest state or checkpoint that stays (docs/format.md,
section 6.6). So a late file is the lowest of the remaining run without a gap, or lies below it. No file above a state
whose own version has no file came late.
"""

from headgate_schemas.actions.actions import Metadata
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.listing import LogListing
from headgate_table.indextables.log.predecessor import is_named
from headgate_table.indextables.log.reader import LoadedLog, LogReader

_MOST_LATE = 16
"""Above the lowest version that is left, so many are compared with what the next one names. So many writers that all slept through
a cleaning, one upon the other, and woke up in order, are beyond belief."""


def late_up_to(reader: LogReader, listing: LogListing, log: LoadedLog) -> int:
    """The number up to which version files may have come late; -1 in a log that was never cleaned."""
    first = first_left(listing, log.version)
    if first == 0:
        return 0 if (listing.states or listing.checkpoints) and began_another_table(reader, log) else -1
    if first not in listing.version_objects:
        return first - 1
    return _disowned_up_to(reader, listing, first, min(log.version, first + _MOST_LATE))


def first_left(listing: LogListing, newest: int) -> int:
    """The lowest version from which on none is missing up to the newest; 0 in a log that was never cleaned."""
    anchors = {*listing.states, *listing.checkpoints}
    first = newest
    while first > 0 and (first - 1 in listing.version_objects or first - 1 in anchors):
        first -= 1
    return first


def _disowned_up_to(reader: LogReader, listing: LogListing, lowest: int, highest: int) -> int:
    """`lowest`, or the last version above it that names another predecessor than the version before it.

    Each of several late files, one after the other, follows the true predecessor, and so does the first regular file.
    That file is doubted too, as the lowest one is if nothing proves more.
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
    """None if the next version doesn't name its predecessor."""
    if version + 1 in listing.checkpoints and version + 1 not in listing.version_objects:
        return False  # a version with a JSON checkpoint had a file, which was cleaned, and so were all before it
    reader.forget_unlike(listing, (version, version + 1))
    try:
        own, following = reader.actions_or_none(version), reader.actions_or_none(version + 1)
    except CorruptTable:
        return None
    return None if own is None else is_named(own, following or ())


def began_another_table(reader: LogReader, log: LoadedLog) -> bool:
    """Version 0, in a log that is complete without it: its creator had not seen that there was a table already."""
    try:
        ids = [action.id for action in reader.actions_or_none(0) or () if isinstance(action, Metadata)]
    except CorruptTable:
        return False
    return bool(ids) and reader.metadata(log).id not in ids
