"""The progress of a stream of changes, as Spark keeps it in the query's checkpoint. `feed` reads the files between two
offsets.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = 1
"""Of the offset itself: a checkpoint outlives the release that wrote it."""


@dataclass(frozen=True, slots=True)
class ChangeOffset:
    """All versions before `version` are read, and the first `index` files of `version`.

    The files of a version have one fixed order that doesn't depend on options: removed files, then added files, each by
    path. With `is_snapshot`, they are all files of the version, by path: a stream without a start begins with the whole
    table.
    """

    table: str
    """The id in the table's metadata: a table that was made anew at the same place is another one."""
    version: int
    index: int = 0
    is_snapshot: bool = False

    @property
    def place(self) -> tuple[int, bool, int]:
        """Sorts the offsets of one table: the files of a version come before the changes of the next one."""
        return (self.version, not self.is_snapshot, self.index)

    def to_json(self) -> dict[str, Any]:
        """Spark's form: integers, texts and booleans."""
        return {
            "format": FORMAT,
            "table": self.table,
            "version": self.version,
            "index": self.index,
            "snapshot": self.is_snapshot,
        }


def offset_of(body: Mapping[str, Any]) -> ChangeOffset:
    """The offset in a checkpoint. Raises `ValueError` for an offset of another source."""
    table, version, index, is_snapshot = (body.get(name) for name in ("table", "version", "index", "snapshot"))
    if body.get("format") != FORMAT:
        raise ValueError(
            f"the query's checkpoint holds the offset {_shown(body)}, which is not one that this release writes (format "
            f"{FORMAT}). Go on with the release that wrote it, or start the query with a new checkpoint"
        )
    if (
        not isinstance(table, str)
        or type(version) is not int
        or type(index) is not int
        or type(is_snapshot) is not bool
        or version < 0
        or index < 0
    ):
        raise ValueError(
            f"the query's checkpoint holds the offset {_shown(body)}, which is damaged. Start the query with a new checkpoint"
        )
    return ChangeOffset(table, version, index, is_snapshot)


def _shown(body: Mapping[str, Any]) -> str:
    return json.dumps(dict(body), default=str)[:300]
