"""The columns of a table in Delta's terms, and the reasons why a table can't be mirrored. Pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, assert_never

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.column_kinds import ColumnKind, column_kind
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
    type_body,
)
from headgate_schemas.errors import HeadgateError

_LOCAL_TIMES = "timestampNtz"
"""The table feature of Delta that readers need for times without a zone."""
_REQUIRED = "invariants"
"""The table feature of Delta that allows for columns that are never null."""
_NTZ = "timestamp_ntz"
_COMMENT = "comment"
_DEFAULT = "EXISTS_DEFAULT"


class Unmirrorable(HeadgateError):
    """The table uses a feature that a Delta log lacks. The message names it."""


@dataclass(frozen=True, slots=True)
class DeltaColumns:
    """The columns as commits need them."""

    schema_string: str
    partition_columns: tuple[str, ...]
    kinds: dict[str, ColumnKind]
    """Of all columns, in order."""
    local_times: frozenset[str]
    """The columns that are times without a zone."""
    has_local_times: bool
    """In some column, or inside of one."""
    has_required: bool
    """A column, or a field inside of one, is never null."""

    @property
    def protocol(self) -> dict[str, Any]:
        """The lowest sufficient protocol, so that most readers support it."""
        if self.has_local_times:
            # The older protocol implies the features that this one has to list.
            return {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": [_LOCAL_TIMES],
                "writerFeatures": [_REQUIRED, _LOCAL_TIMES] if self.has_required else [_LOCAL_TIMES],
            }
        return {"minReaderVersion": 1, "minWriterVersion": 2}


def delta_columns(metadata: Metadata) -> DeltaColumns:
    """Raises `Unmirrorable`."""
    if metadata.format_provider not in ("", "parquet"):
        raise Unmirrorable(f"the table's files are of the format {metadata.format_provider!r}; Delta has Parquet alone")
    if not metadata.schema_string:
        raise Unmirrorable("the table doesn't tell its columns, which a Delta log has to")
    fields = parse_schema(metadata.schema_string).fields
    for field in fields:
        default = field.metadata.get(_DEFAULT)
        if isinstance(default, str) and default.strip().upper() != "NULL":
            raise Unmirrorable(
                f"column {field.name!r} has the default {default[:100]} for files that are older than it; Delta's readers would "
                f"read nulls there"
            )
    body = {"type": "struct", "fields": [_field(field, f"column {field.name!r}") for field in fields]}
    return DeltaColumns(
        json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        metadata.partition_columns,
        {field.name: column_kind(kind_name(field.type)) for field in fields},
        frozenset(field.name for field in fields if field.type == Atomic(_NTZ)),
        any(name == _NTZ for field in fields for name in _atomics(field.type)),
        any(not field.nullable for field in _all_fields(fields)),
    )


def _field(field: Field, place: str) -> dict[str, Any]:
    comment = field.metadata.get(_COMMENT)
    return {
        "name": field.name,
        "type": _type(field.type, place),
        "nullable": field.nullable,
        "metadata": {_COMMENT: comment} if isinstance(comment, str) else {},
    }


def _type(type_: SparkType, place: str) -> Any:
    match type_:
        case Atomic(name):
            if is_sized_text(name):
                return "string"
            if name not in PLAIN_ATOMICS and decimal_of(name) is None:
                raise Unmirrorable(f"{place} has the type {name!r}, which Delta doesn't have")
            return type_body(type_)
        case ArrayOf(element, nulls):
            return {"type": "array", "elementType": _type(element, f"{place}.element"), "containsNull": nulls}
        case MapOf(key, value, nulls):
            return {
                "type": "map",
                "keyType": _type(key, f"{place}.key"),
                "valueType": _type(value, f"{place}.value"),
                "valueContainsNull": nulls,
            }
        case Struct(fields):
            return {"type": "struct", "fields": [_field(field, f"{place}.{field.name}") for field in fields]}
        case _:
            assert_never(type_)


def _atomics(type_: SparkType) -> Iterator[str]:
    match type_:
        case Atomic(name):
            yield name
        case ArrayOf(element):
            yield from _atomics(element)
        case MapOf(key, value):
            yield from _atomics(key)
            yield from _atomics(value)
        case Struct(fields):
            for field in fields:
                yield from _atomics(field.type)
        case _:
            assert_never(type_)


def _all_fields(fields: Iterable[Field]) -> Iterator[Field]:
    """These and those inside of them."""
    for field in fields:
        yield field
        yield from _all_fields(_fields_of(field.type))


def _fields_of(type_: SparkType) -> Iterator[Field]:
    match type_:
        case Atomic():
            return
        case ArrayOf(element):
            yield from _fields_of(element)
        case MapOf(key, value):
            yield from _fields_of(key)
            yield from _fields_of(value)
        case Struct(fields):
            yield from fields
        case _:
            assert_never(type_)
