"""The files that one version removed and added, in the order of offsets. Pure; `feed` reads the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headgate_table.interface.answers import Changes

FILE_COLUMNS = ("path", "partition_values", "size")


class ChangeType(Enum):
    """The kind of change of a file's rows; the values are those of the column `_change_type`."""

    INSERT = "insert"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that was added or removed with its rows."""

    type: ChangeType
    path: str
    partition_values: dict[str, str | None] | None
    """None: nobody recorded them."""
    size: int | None
    version: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """Removed files, then added files, each by path. All of them count for offsets; some are not read."""

    files: pa.Table
    removed: int
    """How many of them, from the first on, were removed."""
    read: npt.NDArray[np.bool_]
    """Which of them are read."""
    version: int
    time_ms: int
    removed_with_rows: int = 0
    """How many were removed with their rows, and not rewritten."""
    added_with_rows: int = 0

    @property
    def count(self) -> int:
        return len(self.read)

    def cut(self, start: int, most: int | None) -> tuple[int, int]:
        """The index up to which `most` files to read lie, from `start`; and their number."""
        places = np.flatnonzero(self.read[start:])
        if most is None or len(places) <= most:
            return self.count, len(places)
        return start + int(places[most]), most

    def between(self, start: int, end: int) -> list[FileChange]:
        """The files to read among those from `start` to `end`."""
        places = start + np.flatnonzero(self.read[start:end])
        rows = self.files.take(pa.array(places)).to_pylist()
        return [
            FileChange(
                type=ChangeType.DELETE if place < self.removed else ChangeType.INSERT,
                path=row["path"],
                partition_values=None if row["partition_values"] is None else dict(row["partition_values"]),
                size=row["size"],
                version=self.version,
                time_ms=self.time_ms,
            )
            for place, row in zip(places, rows, strict=True)
        ]


def changed_files(changes: Changes, time_ms: int, *, deletes_count: bool) -> ChangedFiles:
    """The files of one version. Removed files are read only if `deletes_count`, rewritten files never."""
    removed, added = changes.removed.sort_by("path"), changes.added.sort_by("path")
    adds = np.array([flag is not False for flag in added.column("data_change").to_pylist()], np.bool_)
    removes = _with_rows(removed.column("data_change").to_pylist(), bool(adds.all()) if len(adds) else True)
    return ChangedFiles(
        files=pa.concat_tables([removed.select(FILE_COLUMNS), added.select(FILE_COLUMNS)]),
        removed=removed.num_rows,
        read=np.concatenate([removes & deletes_count, adds]),
        version=changes.version,
        time_ms=time_ms,
        removed_with_rows=int(removes.sum()),
        added_with_rows=int(adds.sum()),
    )


def snapshot_files(files: pa.Table, version: int, time_ms: int) -> ChangedFiles:
    """All files of a version, as if it had added them."""
    ordered = files.select(FILE_COLUMNS).sort_by("path")
    count = ordered.num_rows
    return ChangedFiles(ordered, 0, np.ones(count, np.bool_), version, time_ms, added_with_rows=count)


def _with_rows(flags: Sequence[bool | None], unknown: bool) -> npt.NDArray[np.bool_]:
    """The removes that take rows away. If the log doesn't say, a version that adds rewritten files takes none away."""
    return np.array([unknown if flag is None else flag for flag in flags], np.bool_)
