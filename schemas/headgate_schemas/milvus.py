"""The values of Milvus storage manifests (docs/format.md, section 10), and the updates of one transaction.

The table room stores, checks and applies them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import NamedTuple


class _Nothing(Mapping[str, str]):
    """An empty, immutable mapping of properties, which unpickles to the same object."""

    __slots__ = ()

    def __getitem__(self, key: str) -> str:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> str:
        return "EMPTY"


EMPTY: Mapping[str, str] = _Nothing()
"""Shared by the many values that have no properties."""


class DeltaLogType(IntEnum):
    """How a delta log identifies deleted rows. Files may hold further numbers; those stay plain integers."""

    PRIMARY_KEY = 0
    POSITIONAL = 1
    EQUALITY = 2


class ColumnGroupFile(NamedTuple):
    """A data file and the range of its rows: from `start_index` up to, but not including, `end_index`.

    Manifests up to version 3 keep `metadata` with a file, later ones `properties` instead. It is a tuple, since
    manifests have tens of thousands of them, and a frozen dataclass takes several times as long to make.
    """

    path: str
    start_index: int = 0
    end_index: int = 0
    metadata: bytes = b""
    properties: Mapping[str, str] = EMPTY

    @property
    def num_rows(self) -> int:
        return self.end_index - self.start_index


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns that are stored together, and the files that hold them, in row order."""

    columns: tuple[str, ...]
    files: tuple[ColumnGroupFile, ...] = ()
    format: str = "parquet"

    @property
    def num_rows(self) -> int:
        return sum(file.end_index - file.start_index for file in self.files)


@dataclass(frozen=True, slots=True)
class DeltaLog:
    path: str
    num_entries: int
    type: int = DeltaLogType.PRIMARY_KEY
    """A `DeltaLogType` where the number is known."""


@dataclass(frozen=True, slots=True)
class Stat:
    """The files under one key of the stats. `metadata` came with version 3."""

    paths: tuple[str, ...]
    metadata: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Index:
    """An index of one column. Version 2 has the name, type, path and properties only; the rest came with version 6."""

    column_name: str
    index_type: str
    path: str
    properties: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    index_name: str = ""
    field_id: int = 0
    index_id: int = 0
    build_id: int = 0
    index_version: int = 0
    num_rows: int = 0
    serialized_size: int = 0
    mem_size: int = 0
    current_index_version: int = 0
    current_scalar_index_version: int = 0
    index_store_path_version: int = 0
    index_file_keys: tuple[str, ...] = ()

    @property
    def has_version_6_fields(self) -> bool:
        return self != Index(self.column_name, self.index_type, self.path, self.properties)


@dataclass(frozen=True, slots=True)
class LobFile:
    """A file of large values, since version 5."""

    path: str
    field_id: int
    total_rows: int
    valid_rows: int
    file_size_bytes: int


class Resolver(Enum):
    """How a transaction treats commits since the version that it read."""

    FAIL = "fail"
    """Commit only if nobody else did since the transaction was opened."""
    MERGE = "merge"
    """Apply the updates to the newest version."""
    OVERWRITE = "overwrite"
    """Apply the updates to the version that was read: what others committed since is gone from the newest version."""


@dataclass(frozen=True, slots=True)
class Updates:
    """All changes of one transaction, in the order in which they were requested.

    Each item of `appended_files` is one append: a group for each group of the table.
    """

    added_column_groups: tuple[ColumnGroup, ...] = ()
    appended_files: tuple[tuple[ColumnGroup, ...], ...] = ()
    added_delta_logs: tuple[DeltaLog, ...] = ()
    added_stats: Mapping[str, Stat] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.added_column_groups or self.appended_files or self.added_delta_logs or self.added_stats)
