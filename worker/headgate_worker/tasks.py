"""What a worker can be about to do to one table, as values. Which tasks there are, roles plan; when they run, `loop.schedule` says."""

from dataclasses import dataclass

from headgate_schemas.actions.actions import AddFile

STATE_ENTRY_BYTES = 1 << 10
"""What one entry of a state weighs in memory while it is compacted, roughly and with room to spare."""


@dataclass(frozen=True, slots=True)
class CompactTask:
    """Swap manifests of the table's state for fewer and sorted ones."""

    table: str
    reason: str
    entries: int
    """Those of the manifests that are rewritten."""

    @property
    def weight_bytes(self) -> int:
        return self.entries * STATE_ENTRY_BYTES


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Write the rows of some data files of one partition into one file, and propose it in their place."""

    table: str
    sources: tuple[AddFile, ...]
    """Live files, in the order in which their rows are written. They share their partition values."""

    @property
    def weight_bytes(self) -> int:
        return sum(source.size for source in self.sources)


@dataclass(frozen=True, slots=True)
class CleanTask:
    """Delete what nothing retained names any more."""

    table: str

    @property
    def weight_bytes(self) -> int:
        return 0  # names only


Task = CompactTask | MergeTask | CleanTask
