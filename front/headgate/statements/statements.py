"""The operator statements as values, and the error for all other texts.

`grammar.lark` has their forms, `parse` parses them, and `columns` has the columns of their results.
"""

from dataclasses import dataclass, field

from headgate_schemas.errors import InvalidInput

DEFAULT_MERGE_TARGET_BYTES = 5 * 1024**3
"""What MERGE SPLITS aims for where neither the statement nor the table names a size (docs/format.md, section 9)."""

MIN_MERGE_TARGET_BYTES = 1024**2
MIN_SOURCE_SPLITS = 2
"""Merging fewer than two files into one is no merge."""


@dataclass(frozen=True, slots=True)
class TablePath:
    """A table named by its path, as written between quotes."""

    path: str


@dataclass(frozen=True, slots=True)
class TableName:
    """A table named through a catalog."""

    parts: tuple[str, ...]


Target = TablePath | TableName


@dataclass(frozen=True, slots=True)
class Checkpoint:
    target: Target


@dataclass(frozen=True, slots=True)
class Compact:
    target: Target


@dataclass(frozen=True, slots=True)
class DescribeState:
    target: Target


@dataclass(frozen=True, slots=True)
class DescribeLog:
    target: Target
    include_all: bool = False


@dataclass(frozen=True, slots=True)
class PurgeStatement:
    target: Target
    older_than_hours: int | None = None
    log_retention_hours: int | None = None
    dry_run: bool = False
    nothing_waits: bool = False
    """Whether somebody vouches, where no bus is set, that no proposal waits for a committer of the table."""


@dataclass(frozen=True, slots=True)
class TruncateTimeTravel:
    target: Target
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class DropPartitions:
    target: Target
    where: str
    where_position: int = field(default=0, compare=False)
    """Where `where` starts in the text of the statement; two spellings of one statement are equal."""


@dataclass(frozen=True, slots=True)
class MergeSplits:
    target: Target | None = None
    where: str | None = None
    target_size_bytes: int | None = None
    """None: what the table's settings say."""
    max_dest_splits: int | None = None
    max_source_splits: int | None = None
    precommit: bool = False
    where_position: int = field(default=0, compare=False)
    dry_run: bool = False
    """Of the command alone: no text of a statement says so."""
    default_size_bytes: int = DEFAULT_MERGE_TARGET_BYTES
    """Where the table's settings say nothing, either."""


@dataclass(frozen=True, slots=True)
class RepairLog:
    """Both are paths of log directories, not of tables."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class InvalidateCache:
    target: Target | None = None
    """None: the caches of every table."""


Statement = (
    Checkpoint
    | Compact
    | DescribeState
    | DescribeLog
    | PurgeStatement
    | TruncateTimeTravel
    | DropPartitions
    | MergeSplits
    | RepairLog
    | InvalidateCache
)


class StatementError(InvalidInput):
    """A text is no operator statement, or a value in it breaks a rule. The message points at the place.

    Examples:
        >>> headgate.sql("COMPACT")
        Traceback (most recent call last):
        headgate.statements.statements.StatementError: ...
    """

    def __init__(
        self,
        message: str,
        text: str,
        position: int,
        *,
        expected: tuple[str, ...] = (),
        suggestion: str | None = None,
    ) -> None:
        self.text = text
        self.position = position
        self.expected = expected
        """In plain words, what could have stood there."""
        self.suggestion = suggestion
        shown = f"{message}\n{_excerpt(text, position)}"
        if suggestion is not None:
            shown += f"\n{suggestion}"
        super().__init__(shown)


_EXCERPT_CHARS = 60
"""How much of the line is shown on either side of the caret."""


def _excerpt(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    left = max(start, position - _EXCERPT_CHARS)
    right = min(end, position + _EXCERPT_CHARS)
    line = ("..." if left > start else "") + text[left:right] + ("..." if right < end else "")
    caret = position - left + (3 if left > start else 0)
    # One column each, so that the caret stays in its place, and without control characters of a terminal.
    shown = "".join(character if character.isprintable() else " " for character in line)
    where = f"  (line {text.count(chr(10), 0, start) + 1})" if "\n" in text else ""
    return f"  {shown}\n  {' ' * caret}^{where}"
