"""A reader of a mirror: how an engine is asked for the rows of a version, and what it can't be asked."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa


def _any_column(column: "pa.ChunkedArray", of_partition: bool) -> bool:
    return True


def _any_file(path: Path) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class MirrorReader:
    """An engine, with what it can't do."""

    read: Callable[[str, int, Sequence[str]], pa.Table]
    """The rows of a version of the table at this address: at least these columns."""
    holds: Callable[["pa.ChunkedArray", bool], bool] = _any_column
    """Whether the engine has the values of a column, or of a partition column. Others are not asked for."""
    opens: Callable[[Path], bool] = _any_file
    """Whether the engine reads data files such as this one."""
    believes_folders: bool = False
    """Whether it takes partition values from the names of folders, so that it reads partitions of such names only."""
    is_slow: bool = False
    """Whether the newest version of a history is enough."""

    def columns(self, rows: pa.Table, partition: Collection[str] = ()) -> list[str]:
        """Those of these columns that can be compared."""
        return [name for name in rows.column_names if self.holds(rows.column(name), name in partition)]


def counted(rows: pa.Table, names: list[str]) -> Counter[str]:
    """The rows as a multiset: NaN equals itself, and -0.0 is not 0.0."""
    return Counter(repr([str(row[name]) for name in names]) for row in rows.select(names).to_pylist())
