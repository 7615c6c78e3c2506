"""Columns of a table: from every way to write them, to Arrow and back, and what a table refuses."""

import json
import re
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.columns.schema_ddl import MAX_DDL_CHARS
from headgate_schemas.columns.spark_types import (
    MAX_COLUMNS,
    MAX_TYPE_DEPTH,
    ArrayOf,
    Atomic,
    Field,
    MapOf,
    SparkType,
    Struct,
    print_schema,
)
from headgate_schemas.columns.table_schema import (
    additive_evolution,
    arrow_schema,
    check_partition_columns,
    column_kinds,
    schema_string_of,
)
from headgate_schemas.errors import InvalidInput

_REAL = (
    '{"type":"struct","fields":[{"name":"id","type":"integer","nullable":false,"metadata":{}},'
    '{"name":"date","type":"string","nullable":true,"metadata":{}},'
    '{"name":"score","type":"double","nullable":false,"metadata":{}}]}'
)


def _schema(*fields: Field) -> str:
    return print_schema(Struct(fields))


# ---- Spark's JSON and Arrow


def test_the_schema_of_a_real_table_is_understood() -> None:
    assert arrow_schema(_REAL) == pa.schema(
        [pa.field("id", pa.int32(), False), pa.field("date", pa.string()), pa.field("score", pa.float64(), False)]
    )


def test_the_schema_of_a_real_table_is_written_back_byte_for_byte() -> None:
    assert schema_string_of(arrow_schema(_REAL)) == _REAL


@pytest.mark.parametrize(
    ("spark", "arrow"),
    [
        ("string", pa.string()),
        ("binary", pa.binary()),
        ("boolean", pa.bool_()),
        ("byte", pa.int8()),
        ("short", pa.int16()),
        ("integer", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestamp_ntz", pa.timestamp("us")),
        ("decimal(38,18)", pa.decimal128(38, 18)),
        ("varchar(20)", pa.string()),
        ("char(3)", pa.string()),
    ],
)
def test_an_atomic_type_has_one_arrow_type_and_comes_back(spark: str, arrow: pa.DataType) -> None:
    text = _schema(Field("c", Atomic(spark)))
    converted = arrow_schema(text)
    assert converted.field("c").type == arrow
    assert schema_string_of(converted) == text


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.large_string(), "string"),
        (pa.string_view(), "string"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.large_binary(), "binary"),
        (pa.binary(16), "binary"),
        (pa.uint8(), "short"),
        (pa.uint16(), "integer"),
        (pa.uint32(), "long"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.float16(), "float"),
        (pa.date64(), "date"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.timestamp("s", "Europe/Berlin"), "timestamp"),
        (pa.decimal256(38, 2), "decimal(38,2)"),
        (pa.uuid(), "binary"),
    ],
)
def test_an_arrow_type_without_an_equal_becomes_one_that_holds_its_values(arrow: pa.DataType, spark: str) -> None:
    assert column_kinds(schema_string_of(pa.schema([("c", arrow)]))) == {"c": spark}


@pytest.mark.parametrize("arrow", [pa.null(), pa.time64("us"), pa.duration("s"), pa.decimal256(50, 2)])
def test_an_arrow_type_that_a_table_cant_hold_names_the_column(arrow: pa.DataType) -> None:
    with pytest.raises(InvalidInput, match="'c'"):
        schema_string_of(pa.schema([("c", arrow)]))


_atomics = st.sampled_from(
    [
        "string",
        "binary",
        "boolean",
        "byte",
        "short",
        "integer",
        "long",
        "float",
        "double",
        "date",
        "timestamp",
        "timestamp_ntz",
        "decimal(10,2)",
        "varchar(5)",
    ]
).map(Atomic)


def _structs(inner: st.SearchStrategy[SparkType]) -> st.SearchStrategy[Struct]:
    metadata = st.sampled_from([{}, {"comment": "é"}, {"a": {"b": [1, 2.5, None]}}])
    names = st.sampled_from(["a", "b c", "d.e", "é", "F"])
    fields = st.builds(Field, names, inner, st.booleans(), metadata)
    return st.lists(fields, min_size=1, max_size=4, unique_by=lambda field: field.name).map(lambda f: Struct(tuple(f)))


_types: st.SearchStrategy[SparkType] = st.recursive(
    _atomics,
    lambda inner: (
        st.builds(ArrayOf, inner, st.booleans()) | st.builds(MapOf, inner, inner, st.booleans()) | _structs(inner)
    ),
    max_leaves=6,
)


@given(_structs(_types))
def test_every_schema_survives_the_way_through_arrow(struct: Struct) -> None:
    text = print_schema(struct)
    assert schema_string_of(arrow_schema(text)) == text
    assert schema_string_of(text) == text


def test_a_type_from_the_future_is_listed_but_has_no_arrow_form() -> None:
    text = _schema(Field("id", Atomic("long")), Field("v", Atomic("variant")))
    assert column_kinds(text) == {"id": "long", "v": "variant"}
    with pytest.raises(InvalidInput, match="column 'v' has the type 'variant'"):
        arrow_schema(text)


def test_column_kinds_are_in_order_and_name_nested_types() -> None:
    nested = Struct((Field("x", Atomic("date")),))
    text = _schema(
        Field("s", nested),
        Field("a", ArrayOf(Atomic("long"))),
        Field("m", MapOf(Atomic("string"), Atomic("long"))),
        Field("d", Atomic("decimal(5,1)")),
    )
    assert list(column_kinds(text).items()) == [("s", "struct"), ("a", "array"), ("m", "map"), ("d", "decimal(5,1)")]


def test_an_unknown_schema_has_no_columns() -> None:
    assert column_kinds("") == {}


def test_a_users_type_is_what_it_is_stored_as() -> None:
    body = {"type": "struct", "fields": [{"name": "p", "type": {"type": "udt", "class": "x", "sqlType": "double"}}]}
    assert column_kinds(json.dumps(body)) == {"p": "double"}


def test_spaces_and_the_short_form_of_decimals_are_read() -> None:
    body = {"type": "struct", "fields": [{"name": "a", "type": "decimal( 10 , 2 )"}, {"name": "b", "type": "decimal"}]}
    assert column_kinds(json.dumps(body)) == {"a": "decimal(10,2)", "b": "decimal(10,0)"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ('"string"', "not a struct"),
        ('{"type":"struct"}', "lacks 'fields'"),
        ('{"type":"struct","fields":{}}', "not an array"),
        ('{"type":"struct","fields":[5]}', "not an object with a name"),
        ('{"type":"struct","fields":[{"name":"a"}]}', "column 'a' lacks 'type'"),
        ('{"type":"struct","fields":[{"name":"a","type":7}]}', "column 'a' is neither"),
        ('{"type":"struct","fields":[{"name":"a","type":{"type":"set"}}]}', "unknown type 'set'"),
        ('{"type":"struct","fields":[{"name":"a","type":{"type":"array"}}]}', "lacks 'elementType'"),
        ('{"type":"struct","fields":[{"name":"a","type":"long","metadata":3}]}', "metadata of column 'a'"),
        ('{"a":' * 100_000, "RecursionError"),
    ],
)
def test_a_broken_schema_string_says_where(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        column_kinds(text)


def test_a_schema_nested_too_deeply_is_refused() -> None:
    type_: Any = "long"
    for _ in range(MAX_TYPE_DEPTH + 1):
        type_ = {"type": "array", "elementType": type_}
    with pytest.raises(InvalidInput, match="MAX_TYPE_DEPTH"):
        column_kinds(json.dumps({"type": "struct", "fields": [{"name": "a", "type": type_}]}))


def test_a_deep_arrow_schema_is_refused() -> None:
    type_: pa.DataType = pa.int64()
    for _ in range(MAX_TYPE_DEPTH + 1):
        type_ = pa.list_(type_)
    with pytest.raises(InvalidInput, match="MAX_TYPE_DEPTH"):
        schema_string_of(pa.schema([("a", type_)]))


@pytest.mark.parametrize("how", ["json", "arrow"])
def test_ten_thousand_columns_are_taken_and_one_more_is_not(how: str) -> None:
    def schema(count: int) -> "str | pa.Schema":
        if how == "arrow":
            return pa.schema([(f"c{number}", pa.int64()) for number in range(count)])
        return _schema(*(Field(f"c{number}", Atomic("long")) for number in range(count)))

    assert len(column_kinds(schema_string_of(schema(MAX_COLUMNS)))) == MAX_COLUMNS
    with pytest.raises(InvalidInput, match="MAX_COLUMNS"):
        schema_string_of(schema(MAX_COLUMNS + 1))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ((), "no columns"),
        ((Field("a", Atomic("long")), Field("A", Atomic("long"))), "'a' and 'A' have the same name"),
        ((Field("a", Atomic("long")), Field("a", Atomic("long"))), "'a' and 'a' have the same name"),
        ((Field("s", Struct((Field("x", Atomic("long")), Field("X", Atomic("long"))))),), "in column 's'"),
        ((Field("", Atomic("long")),), "is empty"),
        ((Field("a\n", Atomic("long")),), "control character"),
        ((Field("a" * 256, Atomic("long")),), "longer than 255"),
        ((Field("v", Atomic("variant")),), "column 'v' has the type 'variant'"),
        ((Field("d", Atomic("decimal(39,0)")),), "1 to 38 digits"),
        ((Field("d", Atomic("decimal(5,6)")),), "1 to 38 digits"),
    ],
)
def test_a_schema_that_a_table_cant_have_is_refused(fields: tuple[Field, ...], said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        schema_string_of(_schema(*fields))


def test_duplicate_columns_of_an_arrow_schema_are_refused() -> None:
    with pytest.raises(InvalidInput, match="same name"):
        schema_string_of(pa.schema([("a", pa.int64()), ("A", pa.int64())]))


# ---- SQL text and Spark objects


def test_a_column_list_gives_sparks_schema() -> None:
    text = "id BIGINT, name STRING NOT NULL, tags ARRAY<STRING>, p STRUCT<a: INT>, price DECIMAL(10,2)"
    assert schema_string_of(text) == _schema(
        Field("id", Atomic("long")),
        Field("name", Atomic("string"), nullable=False),
        Field("tags", ArrayOf(Atomic("string"))),
        Field("p", Struct((Field("a", Atomic("integer")),))),
        Field("price", Atomic("decimal(10,2)")),
    )


@pytest.mark.parametrize(
    ("ddl", "spark"),
    [
        ("TINYINT", "byte"),
        ("BYTE", "byte"),
        ("SMALLINT", "short"),
        ("SHORT", "short"),
        ("INT", "integer"),
        ("integer", "integer"),
        ("BIGINT", "long"),
        ("LONG", "long"),
        ("FLOAT", "float"),
        ("REAL", "float"),
        ("DOUBLE", "double"),
        ("DECIMAL", "decimal(10,0)"),
        ("DEC(5)", "decimal(5,0)"),
        ("NUMERIC(5, 1)", "decimal(5,1)"),
        ("STRING", "string"),
        ("VARCHAR(5)", "varchar(5)"),
        ("CHAR(3)", "char(3)"),
        ("BINARY", "binary"),
        ("BOOLEAN", "boolean"),
        ("DATE", "date"),
        ("TIMESTAMP", "timestamp"),
        ("TIMESTAMP_LTZ", "timestamp"),
        ("TIMESTAMP_NTZ", "timestamp_ntz"),
        ("MAP<STRING, ARRAY<INT>>", "map"),
    ],
)
def test_every_sql_type_has_its_spark_type(ddl: str, spark: str) -> None:
    assert column_kinds(schema_string_of(f"c {ddl}")) == {"c": spark}


def test_comments_and_quoted_names_are_kept() -> None:
    text = "`my col` INT COMMENT 'a < b ( c', s STRUCT<`x y`: INT NOT NULL COMMENT 'z'>"
    assert schema_string_of(text) == _schema(
        Field("my col", Atomic("integer"), metadata={"comment": "a < b ( c"}),
        Field("s", Struct((Field("x y", Atomic("integer"), False, {"comment": "z"}),))),
    )


def test_a_whole_create_table_statement_is_taken() -> None:
    text = "CREATE TABLE events (\n  id BIGINT,\n  name STRING\n) USING parquet"
    assert column_kinds(schema_string_of(text)) == {"id": "long", "name": "string"}


@pytest.mark.parametrize(
    ("text", "pointed_at"),
    [
        ("id BIGINT, name STRNG", "STRNG"),
        ("id BIGINT,\n  name STRNG", "STRNG"),
        ("id BIGINT name STRING", "name STRING"),
        ("name, id BIGINT", "name, id"),
        ("id BIGINT, c INT PRIMARY KEY", "c INT PRIMARY"),
        ("id BIGINT, v VARIANT", "v VARIANT"),
        ("id BIGINT, m MAP<STRING>", "m MAP"),
        ("id BIGINT) USING parquet; DROP TABLE x; --", ") USING"),
        ("SELECT 1", "SELECT"),
        ("a " + "ARRAY<" * 40 + "INT" + ">" * 40, "<" + "ARRAY<" * 9 + "INT"),
    ],
)
def test_an_error_in_a_column_list_points_at_the_place(text: str, pointed_at: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        schema_string_of(text)
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :].startswith(pointed_at)


@pytest.mark.parametrize("text", ["", "   ", "id 'x", "id VARCHAR(0x1)", "id BIGINT, PRIMARY KEY (id)", "(" * 50])
def test_other_nonsense_is_refused_too(text: str) -> None:
    with pytest.raises(InvalidInput):
        schema_string_of(text)


def test_a_column_list_beyond_the_bound_is_refused() -> None:
    with pytest.raises(InvalidInput, match="MAX_DDL_CHARS"):
        schema_string_of("a" * (MAX_DDL_CHARS + 1))


@given(st.text("abINT<>(),:`'\" 1\n-/*", max_size=30))
def test_any_text_gives_columns_or_a_clear_refusal(text: str) -> None:
    try:
        schema_string = schema_string_of(text)
    except InvalidInput:
        return
    assert column_kinds(schema_string)


class _StructType:
    def json(self) -> str:
        return _REAL


def test_anything_that_gives_sparks_json_is_taken() -> None:
    assert schema_string_of(_StructType()) == _REAL


def test_something_that_is_no_schema_is_refused_with_what_would_be() -> None:
    with pytest.raises(InvalidInput, match="made from int; give a pyarrow"):
        schema_string_of(7)


# ---- partition columns


def test_existing_plain_columns_may_partition_a_table() -> None:
    check_partition_columns(_REAL, ["date", "id"])


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["day"], "no column of its schema; the columns are id, date, score"),
        (["Date"], "did you mean 'date'?"),
        (["date", "date"], "twice"),
        (["id", "date", "score"], "all of its columns"),
    ],
)
def test_partition_columns_that_dont_fit_are_refused(columns: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        check_partition_columns(_REAL, columns)


@pytest.mark.parametrize("type_", ["ARRAY<INT>", "MAP<STRING, INT>", "STRUCT<a: INT>", "BINARY"])
def test_a_table_is_only_partitioned_by_plain_values(type_: str) -> None:
    with pytest.raises(InvalidInput, match="only by plain values"):
        check_partition_columns(schema_string_of(f"id INT, c {type_}"), ["c"])


# ---- evolution


@pytest.mark.parametrize("new", ["id INT, name STRING", "id INT, name STRING, more DOUBLE, most ARRAY<INT>"])
def test_a_schema_may_stay_or_gain_nullable_columns_at_its_end(new: str) -> None:
    assert additive_evolution(schema_string_of("id INT, name STRING"), schema_string_of(new)) is None


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("id INT", "column 'name' is missing"),
        ("id INT, title STRING", "'name' became 'title'"),
        ("name STRING, id INT", "'id' became 'name'"),
        ("id BIGINT, name STRING", "changed its type (integer to long)"),
        ("id INT NOT NULL, name STRING", "may be null"),
        ("id INT, name STRING COMMENT 'x'", "changed its metadata"),
        ("id INT, name STRING, x INT NOT NULL", "must be nullable"),
    ],
)
def test_every_other_change_of_a_schema_has_a_reason_against_it(new: str, said: str) -> None:
    reason = additive_evolution(schema_string_of("id INT, name STRING"), schema_string_of(new))
    assert reason is not None
    assert said in reason


def test_a_new_column_may_not_repeat_an_old_one_in_other_case() -> None:
    old = _schema(Field("id", Atomic("long")))
    new = _schema(Field("id", Atomic("long")), Field("ID", Atomic("long")))
    assert additive_evolution(old, new) == "column 'ID' is there already (case is ignored)"
