"""The operator statements: their values, grammar and output columns, and how they run without Spark.

`headgate.sql`, the command line and Spark call it. A text is a statement, or an error names what was expected. The
columns of a result are fixed (docs/format.md, section 9).

Begin with `statements`, then `parse` and `execute`.
"""

from typing import TYPE_CHECKING, Any

from headgate.statements.forms import is_operator_statement
from headgate.statements.statements import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    PurgeStatement,
    RepairLog,
    Statement,
    StatementError,
    TableName,
    TablePath,
    Target,
    TruncateTimeTravel,
)

if TYPE_CHECKING:
    from headgate.statements.parse import parse_statement

__all__ = [
    "Checkpoint",
    "Compact",
    "DescribeLog",
    "DescribeState",
    "DropPartitions",
    "InvalidateCache",
    "MergeSplits",
    "PurgeStatement",
    "RepairLog",
    "Statement",
    "StatementError",
    "TableName",
    "TablePath",
    "Target",
    "TruncateTimeTravel",
    "is_operator_statement",
    "parse_statement",
]


def __getattr__(name: str) -> Any:
    # The parser imports lark, which a process without statements doesn't need.
    if name == "parse_statement":
        from headgate.statements.parse import parse_statement

        return parse_statement
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
