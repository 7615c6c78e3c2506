"""The answers of a table, whatever its format: changes, history, and its description in numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import pyarrow as pa

Source = Literal["version file", "state", "checkpoint", "manifest", "lost"]
"""`manifest` is that of Milvus tables, which have nothing else. Of a `lost` version nothing is left, though it should be."""
UNKNOWN = "unknown"

OK = "OK"
NO_CHECKPOINT = "No checkpoint found"


@dataclass(frozen=True, slots=True)
class Changes:
    """The change from version `since` (exclusive) to `version` (inclusive).

    `added` has the columns of entries, and `removed` has those of `REMOVED_SCHEMA`. Rewrites, such as merges, are in
    both, with a `data_change` of false. Do not leave them out here: a file that was added and then merged within the
    range shows only as a part of its merged file. Version by version (`changes_by_version`), you may leave them out.

    Examples:
        >>> table = headgate.Table.create("lake/events", "id BIGINT")
        >>> table.append([headgate.DataFile(path="a.parquet", size=100, modification_time=0)]).version
        1
        >>> changes = table.changes(since=0)
        >>> changes.version, changes.added.num_rows, changes.removed.num_rows
        (1, 1, 0)
    """

    since: int
    version: int
    added: pa.Table
    removed: pa.Table

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not (self.added.num_rows or self.removed.num_rows)


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One version. Values that its source lacks are None; `proposals` are the ids that it decided."""

    version: int
    time: int
    """Epoch milliseconds. Of a lost version the time of the next one that is left, as it was committed by then."""
    operation: str
    adds: int | None
    removes: int | None
    proposals: tuple[str, ...]
    source: Source
    added_bytes: int | None
    removed_bytes: int | None
    net_files: int | None
    """By how much the number of live files grew."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A live file that merges leave alone for now."""

    path: str
    reason: str
    skip_count: int
    skip_timestamp: int
    retry_after: int | None
    """When it is tried again, in epoch milliseconds; None where the skip doesn't say."""


@dataclass(frozen=True, slots=True)
class TableDescription(Mapping[str, Any]):
    """One version of a table in numbers; a mapping of its own fields, in this order.

    Files and bytes are counted, not taken from the state, whose writer may have estimated them.
    """

    table_path: str
    format: str
    """What the version is read from: avro-state, json, json-multipart, none (version files alone), or error."""
    version: int
    num_files: int
    num_manifests: int
    num_tombstones: int
    tombstone_ratio: float
    total_bytes: int
    needs_compaction: bool
    status: str
    created_at: int | None
    """When the state was written, in epoch milliseconds."""
    protocol_version: int
    num_skipped: int = 0
    """Live files that merges leave alone for now, because they could not be read."""
    skipped: tuple[SkippedFile, ...] = ()
    """The first of them, by path."""
    mirror_version: int | None = None
    """The newest version of the Delta mirror; None of a table whose settings name none."""
    mirror_problem: str = ""
    """Why the mirror can't go on; empty while it can."""

    def __getitem__(self, key: str) -> Any:
        if key not in _NAMES:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


_NAMES = tuple(field.name for field in fields(TableDescription))
