"""The columns of Parquet files as our own footer reader sees them, beside what PyArrow wrote."""

import struct
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate_schemas.columns.spark_types import ArrayOf, Atomic, Field, MapOf, SparkType, Struct, parse_schema
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_table.parquet.footer import Footer, read_footer
from headgate_table.parquet.schema import VOID, Unusable, stored_columns
from support.parquet import parquet

PLAIN = pa.schema(
    [
        pa.field("flag", pa.bool_()),
        *(pa.field(str(type_), type_) for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
        *(pa.field(str(type_), type_) for type_ in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
        pa.field("half", pa.float16()),
        pa.field("float", pa.float32()),
        pa.field("double", pa.float64()),
        pa.field("small", pa.decimal128(7, 2)),
        pa.field("big", pa.decimal128(38, 10)),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
        pa.field("local", pa.timestamp("us")),
        pa.field("milli", pa.timestamp("ms", "UTC")),
        pa.field("text", pa.string(), nullable=False),
        pa.field("long text", pa.large_string()),
        pa.field("bytes", pa.binary()),
        pa.field("id", pa.binary(16)),
        pa.field("word", pa.dictionary(pa.int32(), pa.string())),
    ]
)

NESTED = pa.schema(
    [
        pa.field("tags", pa.list_(pa.field("element", pa.string(), nullable=False))),
        pa.field("grid", pa.list_(pa.list_(pa.int32()))),
        pa.field("by_name", pa.map_(pa.string(), pa.float64())),
        pa.field(
            "place", pa.struct([pa.field("x", pa.int32(), nullable=False), pa.field("names", pa.list_(pa.string()))])
        ),
        pa.field("many", pa.list_(pa.struct([pa.field("only", pa.int64())]))),
    ]
)


def footer_of(data: bytes) -> Footer:
    return read_footer("a file", len(data), lambda start, length: data[start : start + length])


def types_in(data: bytes) -> dict[str, SparkType | Unusable]:
    return {column.name: column.type for column in stored_columns(footer_of(data))}


def as_struct(data: bytes) -> Struct:
    fields = []
    for column in stored_columns(footer_of(data)):
        assert not isinstance(column.type, Unusable), column
        fields.append(Field(column.name, column.type, column.nullable))
    return Struct(tuple(fields))


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
@pytest.mark.parametrize("schema", [PLAIN, NESTED], ids=["plain", "nested"])
def test_the_types_are_those_of_the_schema_that_was_written(schema: pa.Schema, version: str) -> None:
    if version == "1.0":
        # That format has no unsigned 32-bit numbers, so PyArrow writes larger ones.
        schema = pa.schema([field for field in schema if field.type != pa.uint32()])
    data = parquet(schema.empty_table(), version=version)
    assert as_struct(data) == parse_schema(schema_string_of(schema))


def test_old_timestamps_of_96_bits_are_timestamps() -> None:
    table = pa.table({"at": pa.array([0], pa.timestamp("us"))})
    assert types_in(parquet(table, use_deprecated_int96_timestamps=True)) == {"at": Atomic("timestamp")}


def test_a_column_without_a_type_is_void() -> None:
    assert types_in(parquet(pa.table({"nothing": pa.nulls(3)}))) == {"nothing": VOID}


def test_a_time_of_day_is_no_type_of_a_table() -> None:
    found = types_in(parquet(pa.table({"at": pa.array([0], pa.time64("us"))})))
    assert found == {"at": Unusable("'at' is a time of day")}


# --- shapes that PyArrow doesn't write, as the thrift structs of a schema -------------------------------------------

REQUIRED, OPTIONAL, REPEATED = 0, 1, 2


def leaf(name: str, repetition: int = OPTIONAL, physical: int = 1, **more: Any) -> dict[int, Any]:
    numbers = {"converted": 6, "scale": 7, "precision": 8, "logical": 10}
    return {1: physical, 3: repetition, 4: name.encode(), **{numbers[key]: value for key, value in more.items()}}


def group(name: str, children: int, repetition: int = OPTIONAL, **more: Any) -> dict[int, Any]:
    numbers = {"converted": 6, "logical": 10}
    return {3: repetition, 4: name.encode(), 5: children, **{numbers[key]: value for key, value in more.items()}}


def only_type(*elements: dict[int, Any]) -> SparkType | Unusable:
    root = {4: b"schema", 5: 1}
    (column,) = stored_columns(Footer(0, (), (), (root, *elements)))
    return column.type


LIST, MAP, MAP_OF_HIVE = 3, 1, 2


@pytest.mark.parametrize(
    ("elements", "type_"),
    [
        ((leaf("a", REPEATED),), ArrayOf(Atomic("integer"), contains_null=False)),
        ((group("a", 1, converted=LIST), leaf("array", REPEATED)), ArrayOf(Atomic("integer"), contains_null=False)),
        (
            (group("a", 1, converted=LIST), group("element", 2, REPEATED), leaf("x"), leaf("y")),
            ArrayOf(Struct((Field("x", Atomic("integer")), Field("y", Atomic("integer")))), contains_null=False),
        ),
        (
            (group("a", 1, converted=LIST), group("array", 1, REPEATED), leaf("x")),
            ArrayOf(Struct((Field("x", Atomic("integer")),)), contains_null=False),
        ),
        (
            (group("a", 1, converted=LIST), group("a_tuple", 1, REPEATED), leaf("x")),
            ArrayOf(Struct((Field("x", Atomic("integer")),)), contains_null=False),
        ),
        (
            (group("a", 1, converted=LIST), group("bag", 1, REPEATED), leaf("array_element")),
            ArrayOf(Atomic("integer"), contains_null=True),
        ),
        (
            (group("a", 1, converted=MAP_OF_HIVE), group("map", 2, REPEATED), leaf("key", REQUIRED), leaf("value")),
            MapOf(Atomic("integer"), Atomic("integer"), value_contains_null=True),
        ),
        (
            (group("a", 1, converted=MAP), group("map", 2, REPEATED), leaf("key", REQUIRED), leaf("value", REQUIRED)),
            MapOf(Atomic("integer"), Atomic("integer"), value_contains_null=False),
        ),
        ((leaf("a", physical=6, converted=4),), Atomic("string")),
        ((leaf("a", physical=6, logical={12: {}}),), Atomic("string")),
        ((leaf("a", physical=2, converted=9),), Atomic("timestamp")),
        ((leaf("a", physical=2, logical={8: {1: False, 2: {3: {}}}}),), Atomic("timestamp_ntz")),
        ((leaf("a", physical=7, converted=5, scale=2, precision=30),), Atomic("decimal(30,2)")),
        ((leaf("a", converted=11),), Atomic("short")),
    ],
)
def test_older_shapes_mean_what_the_format_says(elements: tuple[dict[int, Any], ...], type_: SparkType) -> None:
    assert only_type(*elements) == type_


@pytest.mark.parametrize(
    ("elements", "reason"),
    [
        ((group("a", 2, logical={16: {}}), leaf("metadata"), leaf("value")), "variant"),
        ((group("a", 1, converted=LIST), leaf("x")), "without the repeated group"),
        ((group("a", 1, converted=MAP), group("map", 1, REPEATED), leaf("key", REQUIRED)), "entries have 1 parts"),
        ((leaf("a", physical=7, converted=5, scale=2, precision=60),), "decimal of 60 digits"),
        ((leaf("a", logical={10: {1: 24, 2: True}}),), "24 bits"),
        (({3: OPTIONAL, 4: b"a"},), "group without fields"),
        ((leaf("a", physical=99),), "unknown type"),
    ],
)
def test_what_no_table_holds_says_why(elements: tuple[dict[int, Any], ...], reason: str) -> None:
    found = only_type(*elements)
    assert isinstance(found, Unusable)
    assert reason in found.reason


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    deep = [group("a", 1) for _ in range(500)]
    with pytest.raises(InvalidInput, match="nested deeper"):
        only_type(*deep, leaf("x"))


def test_two_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two columns 'a'"):
        stored_columns(Footer(0, (), (), ({4: b"schema", 5: 2}, leaf("a"), leaf("a"))))


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="UTF-8"):
        only_type({1: 1, 3: OPTIONAL, 4: b"\xff"})


def test_decimals_that_are_stored_as_numbers_are_decimals() -> None:
    table = pa.table({"price": pa.array([Decimal("1.25")], pa.decimal128(9, 2))})
    assert types_in(parquet(table, store_decimal_as_integer=True)) == {"price": Atomic("decimal(9,2)")}


@pytest.mark.parametrize("seed", range(300))
def test_a_damaged_footer_is_refused_or_understood_but_never_more(seed: int) -> None:
    """Every byte of a footer, changed: the only errors are ours."""
    whole = parquet(NESTED.empty_table())
    length = struct.unpack("<I", whole[-8:-4])[0]
    damaged = bytearray(whole)
    damaged[-8 - length + (seed * 7919) % length] ^= 1 + seed % 255
    with suppress(InvalidInput):  # and nothing else may come of it
        stored_columns(footer_of(bytes(damaged)))
