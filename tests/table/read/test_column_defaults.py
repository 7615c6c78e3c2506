"""What older files hold of a column that came later with a default."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate_schemas.columns.table_schema import arrow_schema
from headgate_table.errors import CorruptTable
from headgate_table.indextables.read.rows.column_defaults import column_defaults
from support.merging import append, new_parquet_table, put_file

NOT_UNDERSTOOD = object()


def schema_with(type_: Any, default: str) -> str:
    field = {"name": "c", "type": type_, "nullable": True, "metadata": {"EXISTS_DEFAULT": default}}
    known = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    return json.dumps({"type": "struct", "fields": [known, field]})


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("integer", "7", 7),
        ("integer", "CAST(7 AS INT)", 7),
        ("byte", "-7Y", -7),
        ("long", "5L", 5),
        ("double", "2.5D", 2.5),
        ("float", "CAST(1.5 AS FLOAT)", 1.5),
        ("decimal(5,2)", "1.50BD", Decimal("1.50")),
        ("boolean", "true", True),
        ("string", r"'it\'s'", "it's"),
        ("varchar(4)", "'abcd'", "abcd"),
        ("date", "DATE '2024-01-31'", date(2024, 1, 31)),
        ("timestamp_ntz", "TIMESTAMP_NTZ '2024-01-31 10:00:00'", datetime.fromisoformat("2024-01-31 10:00:00")),
        ("timestamp", "TIMESTAMP '2024-01-31 10:00:00Z'", datetime(2024, 1, 31, 10, tzinfo=UTC)),
        ("timestamp", "TIMESTAMP '2024-01-31 10:00:00'", NOT_UNDERSTOOD),
        ("byte", "1000", NOT_UNDERSTOOD),
        ("integer", "1 OR TRUE", NOT_UNDERSTOOD),
        ("integer", "'seven'", NOT_UNDERSTOOD),
        ({"type": "array", "elementType": "integer", "containsNull": True}, "ARRAY(1)", NOT_UNDERSTOOD),
    ],
)
def test_a_default_is_read_as_spark_writes_it(type_: Any, text: str, value: Any) -> None:
    schema_string = schema_with(type_, text)
    found = column_defaults(schema_string, arrow_schema(schema_string))["c"]
    assert (NOT_UNDERSTOOD if found is None else found.as_py()) == value


def test_a_default_of_null_is_none() -> None:
    schema_string = schema_with("integer", "NULL")
    assert column_defaults(schema_string, arrow_schema(schema_string)) == {}


def test_a_scan_gives_the_default_to_files_without_the_column_alone() -> None:
    table = new_parquet_table(columns="id BIGINT")
    append(table, put_file(table, "a.parquet", pa.table({"id": [1]})))
    table.alter(schema=schema_with("integer", "7"))
    append(table, put_file(table, "b.parquet", pa.table({"id": [2], "c": pa.array([None], pa.int32())})))
    assert table.snapshot().scan().read_all().to_pylist() == [{"id": 1, "c": 7}, {"id": 2, "c": None}]
    assert table.snapshot().scan(["id"], "c = 7").read_all().column("id").to_pylist() == [1]


def test_a_default_that_is_not_understood_is_an_error_only_where_it_is_needed() -> None:
    table = new_parquet_table(columns="id BIGINT")
    append(table, put_file(table, "a.parquet", pa.table({"id": [1]})))
    table.alter(schema=schema_with("integer", "ARRAY(1)[0]"))
    assert table.snapshot().scan(["id"]).read_all().num_rows == 1
    with pytest.raises(CorruptTable, match="no plain literal"):
        table.snapshot().scan(["c"]).read_all()
