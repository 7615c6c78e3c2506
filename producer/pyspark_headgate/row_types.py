"""Converts a table's columns to Spark's types, and Spark's to the Arrow types that it expects from a source. For
drivers.
"""

import json
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from headgate_schemas.columns.spark_types import (
    ArrayOf,
    Atomic,
    Field,
    MapOf,
    SparkType,
    Struct,
    is_sized_text,
    parse_schema,
    print_schema,
)
from headgate_schemas.columns.table_schema import arrow_schema
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import UnsupportedTable


def spark_schema(schema_string: str, uri: str, *, all_nullable: bool = False) -> StructType:
    """The columns as a source declares them. Texts of a limited length are plain texts for readers.

    `all_nullable`: nullable as Spark declares the columns of files, which it doesn't check. Raises `UnsupportedTable`
    for a table whose schema nobody knows.
    """
    if not schema_string:
        raise UnsupportedTable(
            f"the log of {uri} knows no schema, so its rows have no shape; read its Parquet files by spark.read.parquet"
        )
    read = _as_read(parse_schema(schema_string), all_nullable)
    assert isinstance(read, Struct)
    body: dict[str, Any] = json.loads(print_schema(read))
    return StructType.fromJson(body)


def _as_read(type_: SparkType, all_nullable: bool) -> SparkType:
    match type_:
        case Atomic(name):
            return Atomic("string") if is_sized_text(name) else type_
        case ArrayOf(element, nulls):
            return ArrayOf(_as_read(element, all_nullable), nulls or all_nullable)
        case MapOf(key, value, nulls):
            return MapOf(_as_read(key, all_nullable), _as_read(value, all_nullable), nulls or all_nullable)
        case Struct(fields):
            return Struct(tuple(_field_as_read(field, all_nullable) for field in fields))


def _field_as_read(field: Field, all_nullable: bool) -> Field:
    return replace(field, type=_as_read(field.type, all_nullable), nullable=field.nullable or all_nullable)


def check_asked(asked: StructType, table: StructType, uri: str) -> None:
    """Raise `InvalidInput` unless the columns that a user names are columns of the table, in their types."""
    known = {field.name: field for field in table.fields}
    for field in asked.fields:
        own = known.get(field.name)
        if own is None:
            raise InvalidInput(f"{uri} has no column {field.name!r}; its columns are {', '.join(known)[:300]}")
        if _nullable(field.dataType.jsonValue()) != _nullable(own.dataType.jsonValue()):
            raise InvalidInput(
                f"column {field.name!r} of {uri} is {own.dataType.simpleString()}, not {field.dataType.simpleString()}; "
                f"read it so, and cast it then"
            )


def _nullable(body: Any) -> Any:
    """A type's JSON without nullability and comments."""
    if isinstance(body, list):
        return [_nullable(each) for each in body]
    if isinstance(body, dict):
        left_out = ("nullable", "containsNull", "valueContainsNull", "metadata")
        return {key: _nullable(value) for key, value in body.items() if key not in left_out}
    return body


def arrow_form(schema: StructType) -> pa.Schema:
    """The form that Spark compares with the batches of a source."""
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(schema, timezone="UTC")
    except TypeError:  # Spark 4.0 knows no other zone there
        return to_arrow_schema(schema)


def arrow_columns(schema_string: str, names: Collection[str]) -> pa.Schema:
    """These columns in Arrow's types, whatever the types of the others."""
    return arrow_schema(
        print_schema(Struct(tuple(item for item in parse_schema(schema_string).fields if item.name in names)))
    )
