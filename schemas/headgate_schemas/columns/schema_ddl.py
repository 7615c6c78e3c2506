"""Column lists as Spark SQL text: `id BIGINT NOT NULL, tags ARRAY<STRING>`. Parsed by sqlglot.

`spark_types` has the types.
"""

import re

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from headgate_schemas.columns.spark_types import MAX_TYPE_DEPTH, ArrayOf, Atomic, Field, MapOf, SparkType, Struct
from headgate_schemas.errors import InvalidInput

MAX_DDL_CHARS = 1024 * 1024
"""A list of ten thousand columns has about 300,000 characters."""

_PREFIX = "CREATE TABLE t (\n"

_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`""")

_ATOMICS = {
    exp.DType.TEXT: "string",
    exp.DType.BINARY: "binary",
    exp.DType.VARBINARY: "binary",
    exp.DType.BOOLEAN: "boolean",
    exp.DType.TINYINT: "byte",
    exp.DType.SMALLINT: "short",
    exp.DType.INT: "integer",
    exp.DType.BIGINT: "long",
    exp.DType.FLOAT: "float",
    exp.DType.DOUBLE: "double",
    exp.DType.DATE: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPLTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp_ntz",
}


def parse_ddl(text: str) -> Struct:
    """The columns in a list, or in a whole CREATE TABLE statement. Raises `InvalidInput` that shows the place."""
    if len(text) > MAX_DDL_CHARS:
        raise InvalidInput(f"a column list of {len(text)} characters is longer than {MAX_DDL_CHARS} (MAX_DDL_CHARS)")
    if not text.strip():
        raise InvalidInput("the column list is empty; write it as 'id BIGINT, name STRING'")
    _check_brackets(text)
    whole = text.lstrip()[:6].upper() == "CREATE"
    return _struct(_column_definitions(text, "" if whole else _PREFIX), text)


def _check_brackets(text: str) -> None:
    # sqlglot recurses at least once for each bracket, so the depth is checked before it gets the text.
    depth = 0
    blanked = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)
    for position, character in enumerate(blanked):
        depth += (character in "<(") - (character in ">)")
        if depth < 0:
            raise _failure("this bracket closes one that was not opened", text, position)
        if depth > MAX_TYPE_DEPTH:
            raise _failure(f"the types are nested deeper than {MAX_TYPE_DEPTH} levels", text, position)


def _column_definitions(text: str, prefix: str) -> list[exp.Expr]:
    suffix = "\n)" if prefix else ""
    try:
        statements = sqlglot.parse(prefix + text + suffix, read="spark")
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        raise _failure("this can't be read as a column", text, _position(first, prefix, text)) from error
    except TokenError as error:
        raise InvalidInput(
            f"the column list can't be read: a quote or comment is not closed\n  {text[:200]}"
        ) from error
    except RecursionError as error:
        raise InvalidInput("the column list is nested too deeply to be read") from error
    statement = statements[0] if len(statements) == 1 else None
    columns = statement.this if isinstance(statement, exp.Create) else None
    if not isinstance(columns, exp.Schema):
        raise _failure("this is no list of columns like 'id BIGINT, name STRING NOT NULL'", text, 0)
    return list(columns.expressions)


def _position(error: dict[str, object], prefix: str, text: str) -> int | None:
    """sqlglot counts lines from 1 and reports the last character of the faulty token."""
    line, column, token = error.get("line"), error.get("col"), error.get("highlight")
    if not isinstance(line, int) or not isinstance(column, int):
        return None
    lines = text.split("\n")
    row = line - 1 - prefix.count("\n")
    if not 0 <= row < len(lines):
        return len(text.rstrip())
    start = sum(len(passed) + 1 for passed in lines[:row])
    return start + max(0, column - len(token if isinstance(token, str) else " "))


def _struct(definitions: list[exp.Expr], text: str) -> Struct:
    return Struct(tuple(_field(definition, text) for definition in definitions))


def _field(definition: exp.Expr, text: str) -> Field:
    if isinstance(definition, exp.Identifier | exp.Column):
        raise _failure(f"column {definition.name!r} has no type", text, _found(definition.name, text))
    if not isinstance(definition, exp.ColumnDef):
        shown = definition.sql(dialect="spark")
        raise _failure(f"{shown[:80]} is no column; only names, types, NOT NULL and COMMENT are understood", text, None)
    kind = definition.args.get("kind")
    if not isinstance(kind, exp.DataType):
        raise _failure(f"column {definition.name!r} has no type", text, _found(definition.name, text))
    nullable, metadata = True, {}
    for constraint in definition.args.get("constraints") or ():
        match constraint.args.get("kind"):
            case exp.NotNullColumnConstraint() as null:
                nullable = bool(null.args.get("allow_null"))
            case exp.CommentColumnConstraint() as comment:
                metadata["comment"] = comment.name
            case _:
                shown = constraint.sql(dialect="spark")
                raise _failure(
                    f"{shown[:80]} of column {definition.name!r} has no meaning here; leave it out",
                    text,
                    _found(definition.name, text),
                )
    return Field(definition.name, _type(kind, definition.name, text), nullable, metadata)


def _type(kind: exp.DataType, column: str, text: str) -> SparkType:
    inner = list(kind.expressions)
    match kind.this:
        case exp.DType.ARRAY if len(inner) == 1 and isinstance(inner[0], exp.DataType):
            return ArrayOf(_type(inner[0], column, text))
        case exp.DType.MAP if len(inner) == 2 and all(isinstance(item, exp.DataType) for item in inner):
            return MapOf(_type(inner[0], column, text), _type(inner[1], column, text))
        case exp.DType.STRUCT if inner:
            return _struct(inner, text)
        case exp.DType.DECIMAL if len(inner) <= 2:
            numbers = [_number(item, column, text) for item in inner]
            precision, scale = [*numbers, *(10, 0)[len(numbers) :]]
            return Atomic(f"decimal({precision},{scale})")
        case exp.DType.VARCHAR | exp.DType.CHAR as sized if len(inner) == 1:
            return Atomic(f"{sized.value.lower()}({_number(inner[0], column, text)})")
        case other if other in _ATOMICS and not inner:
            return Atomic(_ATOMICS[other])
    shown = kind.sql(dialect="spark")
    raise _failure(f"column {column!r} has the type {shown[:80]}, which tables can't hold", text, _found(column, text))


def _number(parameter: exp.Expr, column: str, text: str) -> int:
    literal = parameter.this if isinstance(parameter, exp.DataTypeParam) else parameter
    if (
        isinstance(literal, exp.Literal)
        and not literal.is_string
        and literal.name.isdecimal()
        and len(literal.name) < 10
    ):
        return int(literal.name)
    raise _failure(f"the type of column {column!r} needs whole numbers in its brackets", text, _found(column, text))


def _found(name: str, text: str) -> int | None:
    position = text.find(name)
    return position if position >= 0 else None


def _failure(message: str, text: str, position: int | None) -> InvalidInput:
    if position is None:
        return InvalidInput(message)
    position = min(position, len(text))
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    # Of a long line, only the part around the place is shown.
    left = max(0, position - start - 60)
    shown = line[left : left + 120]
    return InvalidInput(f"{message}, at character {position}\n  {shown}\n  {' ' * (position - start - left)}^")
