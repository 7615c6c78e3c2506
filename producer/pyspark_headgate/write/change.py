"""The change that a write makes to its table, as a value that is part of the writer. `commit_files` applies it."""

from dataclasses import dataclass
from enum import Enum


class Replaces(Enum):
    """Which files the new files replace."""

    NOTHING = "nothing"
    EVERYTHING = "everything"
    MATCHING = "what matches replaceWhere"
    PARTITIONS = "the partitions that rows are written to"


@dataclass(frozen=True, slots=True)
class WriteChange:
    """The changes beside adding the files."""

    replaces: Replaces = Replaces.NOTHING
    where: str | None = None
    rows: str = ""
    """The schema of the rows, in Spark's JSON."""
    partition_columns: tuple[str, ...] = ()
    """As the files were written."""
    merge_schema: bool = False
    is_new: bool = False
    """There was no table when the write was planned."""
    widens: bool = False
    """The table lacked columns of the rows then."""
    only_if_new: bool = False
    """Nothing is to be written to a table that somebody else made meanwhile."""
