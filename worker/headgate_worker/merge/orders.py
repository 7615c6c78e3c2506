"""Orders to merge, their outcomes, and the interface of an engine that carries them out. Values that may travel."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from headgate_schemas.actions.actions import AddFile
from headgate_table.parquet.statistics import INDEXED_COLUMNS, MAX_TEXT_LENGTH


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """One group to merge, with all that an engine in another process needs to know of the table."""

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
    """A source that isn't what the table takes it for; merging again won't help until somebody mends it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Gone:
    """A source that isn't there: removed and cleaned meanwhile, or lost."""

    path: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The output is written, durable and complete, and nobody touches it any more. `add` says so to the log, and where it
    lies; nothing has been proposed."""

    add: AddFile


@dataclass(frozen=True, slots=True)
class NotMerged:
    """These sources were in the way: at least one, all that were found. The others may still be merged."""

    problems: tuple[Unreadable | Gone, ...]


MergeOutcome = Merged | NotMerged


class MergeEngine(Protocol):
    """Threads may call it side by side, each with an output of its own."""

    def merge(self, order: MergeOrder) -> MergeOutcome:
        """Write all rows of the sources, each exactly once, in order, in the table's types, to the output.

        What is in the way of that in a source is an outcome. What isn't the fault of a source, such as a store that
        doesn't answer or a full disk, is a `HeadgateError`; then something may lie at the output, and nothing needs it.
        """
        ...


@dataclass(frozen=True, slots=True)
class ArrowLimits:
    """What one merge holds in memory: two row groups, decoded, beside the buffers of its sources."""

    row_group_bytes: int = 32 << 20
    """Decoded. Large enough for pruning and compression to pay; a reader and a merge hold little."""
    row_group_rows: int = 1 << 20
    scratch_folder: str | None = None
    """For outputs on the way to a store that isn't local; needs room for one output a merge."""
