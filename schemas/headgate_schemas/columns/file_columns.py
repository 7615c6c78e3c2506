"""The columns of Parquet files in a proposal, and whether a table's readers can read them without loss. Pure.

The table room reads columns from a footer; here a column is a name and a type.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.columns.spark_types import (
    PLAIN_ATOMICS,
    ArrayOf,
    Atomic,
    Field,
    MapOf,
    SparkType,
    Struct,
    decimal_of,
    is_sized_text,
    kind_name,
    parse_schema,
    parse_type,
    type_body,
)
from headgate_schemas.errors import InvalidInput

MAX_COLUMNS_CHARS = 64 * 1024
"""Of the text of one file's columns. A proposal leaves a longer one out, so that wide tables don't fill the bus with it."""

_DEFAULT = "EXISTS_DEFAULT"
"""Spark's key for what older files hold of a column: such a column may be missing although it is NOT NULL."""

_WHOLE = {"byte": 3, "short": 5, "integer": 10, "long": 19}
"""Whole numbers, narrow to wide, with the digits that they may have."""
_EXACT = {"float": ("byte", "short"), "double": ("byte", "short", "integer", "float")}
"""What a floating point number holds exactly."""


@dataclass(frozen=True, slots=True)
class FileColumns:
    """The columns that some files of an operation have in common."""

    path: str
    """One of the files, for messages."""
    types: str
    """The columns as JSON: an array of pairs of a name and a type, in the form that a `schemaString` has; null for a type
    that no table holds."""
    nulls: tuple[str, ...] = ()
    """The columns at the top that hold a null in some of the files, as far as footers count them."""


Held = tuple[str, SparkType | None]
"""Name and type of a column."""


def columns_text(columns: Sequence[Held]) -> str:
    """The columns as text, for `FileColumns.types`."""
    body = [[name, None if type_ is None else type_body(type_)] for name, type_ in columns]
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def columns_of_text(text: str) -> tuple[Held, ...]:
    """The columns in the text. Raises `InvalidInput` for an invalid text."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the columns of a file are no JSON: {type(error).__name__}") from error
    if not isinstance(body, list):
        raise InvalidInput("the columns of a file are no array")
    return tuple(_held(item) for item in body)


def _held(item: Any) -> Held:
    if not (isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)):
        raise InvalidInput("a column of a file is no pair of a name and a type")
    return item[0], None if item[1] is None else parse_type(item[1], f"column {item[0][:80]!r}")


@lru_cache(maxsize=256)
def columns_misfit(
    types: str, nulls: tuple[str, ...], schema_string: str, partition_columns: tuple[str, ...]
) -> str | None:
    """The reason why a file with these columns doesn't fit the table; None if it fits or if the table's columns are
    unknown.

    Raises `InvalidInput` for an invalid text.
    """
    held = columns_of_text(types)
    try:
        fields = parse_schema(schema_string).fields if schema_string else ()
    except InvalidInput:
        return None
    return _misfit(held, nulls, fields, partition_columns) if fields else None


def _misfit(
    held: Sequence[Held], nulls: Sequence[str], fields: Sequence[Field], partition_columns: Sequence[str]
) -> str | None:
    wanted = {field.name: field for field in fields}
    keys = {name_key(name): name for name in wanted}
    partitions = {name_key(name) for name in partition_columns}
    names = [name for name, _ in held]
    if len(set(names)) < len(names):
        return f"it has two columns {next(name for name in names if names.count(name) > 1)!r}"
    for name, type_ in held:
        if name_key(name) in partitions:
            continue  # its value comes from the log
        if name not in wanted:
            return _unknown(name, keys.get(name_key(name)), names)
        problem = type_misfit(type_, wanted[name].type)
        if problem is not None:
            return f"its column {name!r} {problem}"
    known = set(names)
    for field in fields:
        if field.nullable or name_key(field.name) in partitions:
            continue
        if field.name not in known and _DEFAULT not in field.metadata:
            return f"it has no column {field.name!r}, which the table's schema says is NOT NULL"
        if field.name in nulls:
            return f"its column {field.name!r} holds nulls, and the table's schema says NOT NULL"
    return None


def _unknown(name: str, spelling: str | None, names: Sequence[str]) -> str:
    if spelling is None:
        return f"it has a column {name!r}, which the table doesn't have, so that nobody would see its values"
    if spelling in names:
        return f"it has the columns {spelling!r} and {name!r}, which are one column to a table (case is ignored)"
    return f"it spells the table's column {spelling!r} as {name!r}; spell it as the table does"


def type_misfit(stored: SparkType | None, wanted: SparkType) -> str | None:
    """The reason why some value of a stored type can't be read exactly as the wanted type; None if all can."""
    if stored is None:
        return "is of a type that tables can't hold"
    match stored, wanted:
        case Atomic(name), Atomic(target):
            if _is_exact(name, target):
                return None
        case Atomic("void"), _:
            return None
        case ArrayOf(element), ArrayOf(target_element):
            return type_misfit(element, target_element)
        case MapOf(key, value), MapOf(target_key, target_value):
            return type_misfit(key, target_key) or type_misfit(value, target_value)
        case Struct(fields), Struct(targets):
            return _struct_misfit(fields, targets)
        case _:
            pass
    return f"is {kind_name(stored)}, which can't be read as the table's {kind_name(wanted)} without loss"


def _struct_misfit(held: Sequence[Field], wanted: Sequence[Field]) -> str | None:
    targets = {field.name: field for field in wanted}
    keys = {name_key(field.name): field.name for field in wanted}
    for field in held:
        if field.name not in targets:
            spelling = keys.get(name_key(field.name))
            return (
                f"has a field {field.name!r}, which the table's doesn't have"
                if spelling is None
                else f"spells the field {spelling!r} as {field.name!r}"
            )
        problem = type_misfit(field.type, targets[field.name].type)
        if problem is not None:
            return f"has a field {field.name!r} that {problem}"
    known = {field.name for field in held}
    missing = next((field.name for field in wanted if not field.nullable and field.name not in known), None)
    return None if missing is None else f"has no field {missing!r}, which the table's schema says is NOT NULL"


def _is_exact(stored: str, wanted: str) -> bool:
    if stored in (wanted, "void"):
        return True
    if stored in _WHOLE and wanted in _WHOLE:
        return _WHOLE[stored] < _WHOLE[wanted]
    if wanted in _EXACT:
        return stored in _EXACT[wanted]
    if _is_text(stored) and _is_text(wanted):
        return True
    if stored.startswith("timestamp") and wanted.startswith("timestamp"):
        return True
    target = decimal_of(wanted)
    if target is None:
        return not _is_known(wanted)
    source = (_WHOLE[stored], 0) if stored in _WHOLE else decimal_of(stored)
    return source is not None and target[1] >= source[1] and target[0] - target[1] >= source[0] - source[1]


def _is_text(name: str) -> bool:
    return name in ("string", "binary") or is_sized_text(name)


def _is_known(name: str) -> bool:
    """Whether the type is known; for other types, no conversion is known."""
    return name in PLAIN_ATOMICS or is_sized_text(name) or decimal_of(name) is not None
