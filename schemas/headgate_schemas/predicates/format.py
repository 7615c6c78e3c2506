"""The SQL text of a predicate, which `text.parse_predicate` turns back into an equal one."""

import re
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import assert_never

from sqlglot.tokenizer_core import TokenType

from headgate_schemas.predicates.tokens import SPARK
from headgate_schemas.predicates.tree import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    NotIn,
    NotStartsWith,
    Or,
    Predicate,
    StartsWith,
)


def format_predicate(predicate: Predicate) -> str:
    """The SQL text that `parse_predicate` turns into an equal predicate."""
    match predicate:
        case Comparison(column, op, value):
            return f"{_quoted(column)} {op.value} {_format_literal(value)}"
        case In(column, values):
            return f"{_quoted(column)} IN ({_format_list(values)})"
        case NotIn(column, values):
            return f"{_quoted(column)} NOT IN ({_format_list(values)})"
        case StartsWith(column, prefix):
            return f"{_quoted(column)} LIKE {_format_pattern(prefix)}"
        case NotStartsWith(column, prefix):
            return f"{_quoted(column)} NOT LIKE {_format_pattern(prefix)}"
        case IsNull(column):
            return f"{_quoted(column)} IS NULL"
        case IsNotNull(column):
            return f"{_quoted(column)} IS NOT NULL"
        case AlwaysTrue():
            return "TRUE"
        case AlwaysFalse():
            return "FALSE"
        case And(operands):
            return " AND ".join(
                f"({format_predicate(p)})" if isinstance(p, Or) else format_predicate(p) for p in operands
            )
        case Or(operands):
            return " OR ".join(map(format_predicate, operands))
        case Not(operand):
            return f"NOT ({format_predicate(operand)})"
        case _:
            assert_never(predicate)


_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _quoted(column: str) -> str:
    if _PLAIN_NAME.fullmatch(column) and [token.token_type for token in SPARK.tokenize(column)] == [TokenType.VAR]:
        return column
    return "`" + column.replace("`", "``") + "`"


def _format_list(values: Iterable[Literal]) -> str:
    return ", ".join(map(_format_literal, values))


def _format_pattern(prefix: str) -> str:
    return _format_literal(re.sub(r"([\\%_])", r"\\\1", prefix) + "%")


def _format_literal(value: Literal) -> str:
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case int():
            return str(value)
        case float():
            return f"{value!r}D"
        case Decimal():
            return f"{value:f}BD"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case _:
            assert_never(value)
