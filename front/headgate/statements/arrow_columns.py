"""The columns of results as Arrow."""

from collections.abc import Iterable, Mapping
from typing import Any, assert_never

import pyarrow as pa

from headgate.statements.columns import OUTPUT_COLUMNS, Column, ColumnType, ScalarType, StructType
from headgate.statements.statements import Statement


def result_schema(statement: type[Statement]) -> pa.Schema:
    return pa.schema([_field(column) for column in OUTPUT_COLUMNS[statement]])


def result_of(statement: type[Statement], rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows as the statement's result; a missing column is null, an unknown one is an error."""
    schema = result_schema(statement)
    listed = list(rows)
    for row in listed:
        assert row.keys() <= set(schema.names), sorted(row.keys() - set(schema.names))
    return pa.Table.from_pylist(listed, schema)


def _field(column: Column) -> "pa.Field[Any]":
    return pa.field(column.name, _type(column.type))


def _type(kind: ColumnType) -> pa.DataType:
    match kind:
        case StructType(fields):
            return pa.struct([_field(field) for field in fields])
        case ScalarType.STRING:
            return pa.string()
        case ScalarType.LONG:
            return pa.int64()
        case ScalarType.INT:
            return pa.int32()
        case ScalarType.DOUBLE:
            return pa.float64()
        case ScalarType.BOOLEAN:
            return pa.bool_()
        case ScalarType.TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
        case _:
            assert_never(kind)
