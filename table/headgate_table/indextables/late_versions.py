"""Which version files may have come late, into numbers that were cleaned meanwhile: what they say counts for nothing.

Nothing in such a file tells. Cleaning takes a prefix, up to the lowest state or checkpoint that stays (docs/format.md, section
6.6). So a file that came after it is the lowest of those that are left without a hole, or lies below; and nothing came late
above a state whose own version has no file.
"""

from headgate_schemas.actions import Metadata
from headgate_table.errors import CorruptTable
from headgate_table.indextables.listing import LogListing
from headgate_table.indextables.log_reader import LoadedLog, LogReader


def late_up_to(reader: LogReader, listing: LogListing, log: LoadedLog) -> int:
    """The number up to which version files may have come late; -1 in a log that never was cleaned."""
    anchors = {*listing.states, *listing.checkpoints}
    first = log.version
    while first > 0 and (first - 1 in listing.version_objects or first - 1 in anchors):
        first -= 1
    if first > 0:
        return first if first in listing.version_objects else first - 1
    return 0 if anchors and _began_another_table(reader, log) else -1


def _began_another_table(reader: LogReader, log: LoadedLog) -> bool:
    """Of version 0, where nothing is missing without it: its creator had not seen that there was a table already."""
    try:
        ids = [action.id for action in reader.actions_or_none(0) or () if isinstance(action, Metadata)]
    except CorruptTable:
        return False
    return bool(ids) and reader.metadata(log).id not in ids
