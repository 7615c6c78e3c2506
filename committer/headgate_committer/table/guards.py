"""Whether a table may be fed from a log, and by whom: the checks that keep a rebuilt, trimmed or foreign bus from being believed,
and a committer whose turn is over from going on. Pure.
"""

from headgate_bus.interface import Extent
from headgate_committer.errors import Overtaken
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Term
from headgate_table.coordination.memory import TableMemory


def check_term(uri: str, newest: Term | None, mine: Term | None) -> None:
    """Raise `Overtaken` when the table's log knows a later term than ours."""
    if mine is not None and newest is not None and newest > mine:
        raise Overtaken(
            f"{uri} is worked on by committer {newest.committer} in epoch {newest.epoch}, which came after "
            f"this one ({mine.committer}, epoch {mine.epoch}). This committer stops; nothing that it acknowledged is lost"
        )


def rebind_hint(uri: str) -> str:
    """What an operator does about a refusal."""
    return f"Find out what became of its proposals, then run `headgate table rebind {uri} --bus …`"


def feed_mismatch(uri: str, memory: TableMemory, source: Source, extent: Extent, committed: int | None) -> str | None:
    """Why proposals from `source` can't be decided for this table; None when they can, as far as its beginning tells.

    `committed` is the offset up to which the group has settled everything, for whatever table. Whether the log's end is the
    one that the table knows, `tail` finds out.
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
