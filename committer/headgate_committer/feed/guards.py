"""Whether a table may be fed from a partition: the checks that keep a rebuilt, trimmed or foreign bus from being believed."""

from collections.abc import Iterable

from headgate_bus.interface import Extent
from headgate_committer.errors import Misplaced, TableHeld
from headgate_committer.feed.partition_source import PartitionSource
from headgate_committer.feed.tail import log_truncated_reason
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord
from headgate_table.coordination.memory import TableMemory


def rebind_hint(uri: str) -> str:
    """How an operator ends the holding of a table."""
    return f"Find out what became of its proposals, then run `headgate table rebind {uri} --bus …`"


def feed_mismatch(uri: str, memory: TableMemory, source: Source, extent: Extent, committed: int | None) -> str | None:
    """The reason why proposals from `source` can't be decided for this table; None where the source and its beginning fit.

    `committed` is the offset below which the group has settled everything, of all tables. `tail` compares the log's end with
    what the table knows.
    """
    if memory.source is not None and memory.source != source:
        if memory.source.cluster == source.cluster and memory.source.topic == source.topic:
            return (
                f"{uri} is fed from {memory.source}, but a proposal came on partition {source.partition}. Partitions may have "
                f"been added to the topic"
            )
        return f"{uri} is fed from {memory.source}, which is not this bus ({source})"
    reached = max((offset for offset in (memory.position(source), committed) if offset is not None), default=None)
    if reached is not None and reached < extent.first:
        return (
            f"{uri} has decided proposals up to offset {reached}, but {source} begins at {extent.first}: proposals in between "
            f"may have been lost"
        )
    return None


def check_feed(
    uri: str, memory: TableMemory, newest_first: Iterable[CommitRecord | None], feed: PartitionSource
) -> None:
    """Raise `Misplaced` or `TableHeld` where the table must not be fed from this partition.

    `newest_first` is what the table's versions say of themselves. It is read only where that is needed.
    """
    check_home(uri, memory, feed)
    reason = feed_mismatch(uri, memory, feed.source, feed.extent, feed.committed)
    reason = reason or _truncated_reason(uri, memory, newest_first, feed)
    if reason is not None:
        raise TableHeld(f"{reason}. {rebind_hint(uri)}")


def check_home(uri: str, memory: TableMemory | None, feed: PartitionSource) -> None:
    """Raise `Misplaced` where neither the table is fed from this partition nor its proposals belong there."""
    here = feed.source
    if memory is not None and memory.source == here:
        return
    home = feed.home_of(uri)
    if home != here.partition:
        raise Misplaced(f"proposals of {uri} belong on partition {home}, not on {here.partition}", memory, home)


def check_not_rebound(uri: str, memory: TableMemory, feed: PartitionSource) -> None:
    """Raise `TableHeld` where an operator has bound the table to another log since it was loaded."""
    source = memory.source
    if source is not None and source != feed.source:
        raise TableHeld(f"{uri} was bound to {source} meanwhile; this bus is {feed.source}. {rebind_hint(uri)}")


def _truncated_reason(
    uri: str, memory: TableMemory, newest_first: Iterable[CommitRecord | None], feed: PartitionSource
) -> str | None:
    """None, too, where everything that the table decided was settled on a log that is known to be the same: nothing is lost."""
    position = memory.position(feed.source)
    if position is None or (feed.is_known and position <= feed.start):
        return None
    return log_truncated_reason(uri, feed.bus, feed.source, position, newest_first, was_cut=feed.was_cut)
