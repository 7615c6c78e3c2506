"""How far a stream of changes has come, as Spark keeps it in the query's checkpoint. What lies between two is `feed`'s."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = 1
"""Of the offset itself: a checkpoint outlives the release that wrote it."""


@dataclass(frozen=True, slots=True)
class ChangeOffset:
    """All versions before `version` are read, and the first `index` files of that one.

    Files of a version are counted in one order that never depends on options: what it removed, then what it added, each by
    path. With `is_snapshot` they are all files of that version, by path: a stream without a start begins with the table as it
    stands.
    """

    table: str
    """The id in the table's metadata: a table that was made anew at the same place is another one."""
    version: int
    index: int = 0
    is_snapshot: bool = False

    @property
    def place(self) -> tuple[int, bool, int]:
        """What orders the offsets of one table: the files of a version come before the changes of the next one."""
        return (self.version, not self.is_snapshot, self.index)

    def to_json(self) -> dict[str, Any]:
        """As Spark takes it: integers, texts and booleans."""
        return {
            "format": FORMAT,
            "table": self.table,
            "version": self.version,
            "index": self.index,
            "snapshot": self.is_snapshot,
        }


def offset_of(body: Mapping[str, Any]) -> ChangeOffset:
    """The offset in a checkpoint. Raises `ValueError` for one that is none of ours."""
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
