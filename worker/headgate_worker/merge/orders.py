"""Merge orders, their outcomes, and the interface of an engine. All are values that can be sent to another process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from headgate_schemas.actions.actions import AddFile
from headgate_table.parquet.statistics import INDEXED_COLUMNS, MAX_TEXT_LENGTH


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """One group to merge, with everything that an engine in another process needs to know of the table."""

    table: str
    sources: tuple[AddFile, ...]
    """Of one partition, in the order in which their rows are to be written. Paths are keys of the table's store."""
    output: str
    """The key of the file to write. Nobody else has ever used it, so whatever lies there may be replaced or deleted.

    An engine that attempts an order more than once gives each further attempt a name of its own beside this one.
    """
    schema_string: str
    partition_columns: tuple[str, ...]
    partition_values: Mapping[str, str]
    """Of the output, for every partition column, as the log stores them."""
    codec: str | None = None
    """`zstd`, `snappy`, `gzip`, `brotli`, `lz4` or `none`; None for that of the first source."""
    indexed_columns: int = INDEXED_COLUMNS
    max_text_length: int = MAX_TEXT_LENGTH


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A source that can't be read as the table describes it. Merging again won't help until somebody repairs the file."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A missing source: removed and cleaned meanwhile, or lost."""

    path: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The output is written, durable and complete, and no process touches it any more.

    `add` is the output as an entry of the log, with its path. Nothing has been proposed yet.
    """

    add: AddFile


@dataclass(frozen=True, slots=True)
class NotMerged:
    """All sources that prevented the merge that were found; at least one. The others may still be merged."""

    problems: tuple[Unreadable | Gone, ...]


MergeOutcome = Merged | NotMerged


class MergeEngine(Protocol):
    """The interface of a merge engine. Threads may call it at the same time, each with another output."""

    def merge(self, order: MergeOrder) -> MergeOutcome:
        """Write all rows of the sources, each exactly once, in order, in the table's types, to the output.

        A fault of a source is an outcome. Other failures, such as a store that doesn't answer or a full disk, are a
        `HeadgateError`; a file may then be left at the output, and nothing needs it.
        """
        ...


@dataclass(frozen=True, slots=True)
class ArrowLimits:
    """The memory of one merge: two decoded row groups, and the buffers of its sources."""

    row_group_bytes: int = 32 << 20
    """Decoded. Large enough for pruning and compression to pay; a reader and a merge hold little."""
    row_group_rows: int = 1 << 20
    scratch_folder: str | None = None
    """For outputs on the way to a store that isn't local; needs room for one output a merge."""
