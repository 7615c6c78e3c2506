"""Drawn files of other programs, whose columns have other types and spellings: each value is read exactly, or the file is refused.

The model compares plain Python values. It knows which spellings are one name, and no rule about types.
"""

import json
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Create
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.file_rows import FileRows, UnreadableFile
from support.logs.strangers_adds import added_elsewhere
from support.parquet import parquet
from support.tables import SteadyAmbient, fresh_resources, opened

COLUMN_TYPES = ("byte", "short", "integer", "long", "float", "float", "float", "double", "decimal(5,1)")
NUMBERS = st.sampled_from(
    (
        *(0, 1, -1, 5, 127, 128, -129, 2**15, 2**24, 2**24 + 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1),
        *(0.5, 0.1, -0.0, 1e39, -1e39, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 16777217.0),
        *(Decimal("1.5"), Decimal("1.25"), Decimal("99999.5")),
    )
)
FILE_TYPES = (
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(
        pa.float32(),
        pa.float64(),
        pa.float64(),
        pa.float64(),
        pa.decimal128(5, 1),
        pa.decimal128(9, 2),
        pa.decimal128(38, 0),
    ),
)
NAMES = ("c", "colour", "caf\u00e9", "stra\u00dfe", "\u03c3\u03c3", "\u01c6")
SPELLINGS = (
    str,
    str.upper,
    str.capitalize,
    str.casefold,
    lambda name: unicodedata.normalize("NFD", name),
    lambda name: unicodedata.normalize("NFD", name).upper(),
)


@dataclass(frozen=True)
class Column:
    """One column of the table, and what the file holds of it."""

    name: str
    type: str
    stored_name: str
    stored: pa.Array
    is_inside: bool
    """Whether it is a field of the struct `s`."""


@st.composite
def columns(draw: st.DrawFn) -> Column:
    name = draw(st.sampled_from(NAMES))
    type_ = draw(st.sampled_from(COLUMN_TYPES))
    spelled = draw(st.sampled_from(SPELLINGS))(name)
    given_values = draw(st.lists(st.none() | NUMBERS | st.floats(), min_size=1, max_size=3))
    stored = _stored(draw(st.sampled_from(FILE_TYPES)), given_values)
    return Column(name, type_, spelled, stored, draw(st.booleans()))


def _stored(type_: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """The values that this type can hold; null for others."""
    return pa.array([_held(type_, value) for value in values], type_)


def _held(type_: pa.DataType, value: Any) -> Any:
    try:
        return pa.array([value], type_)[0].as_py()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


@settings(max_examples=150, deadline=None)
@given(columns(), st.booleans())
def test_a_value_is_read_exactly_or_its_file_is_refused(
    tmp_path_factory: pytest.TempPathFactory, column: Column, by_executors: bool
) -> None:
    table = _table(LocalStore(str(tmp_path_factory.mktemp("foreign")), SteadyAmbient()), column)
    try:
        rows = _on_executors(table) if by_executors else table.snapshot().scan().read_all().to_pylist()
    except (CorruptTable, UnreadableFile):
        assert not _is_as_the_table_has_it(column), "a file that fits is refused"
        return
    read = [(row["s"] or {}).get(column.name) if column.is_inside else row[column.name] for row in rows]
    stored = column.stored.to_pylist()
    assert all(_are_one(one, other) for one, other in zip(read, stored, strict=True)), f"{stored} is read as {read}"


def _is_as_the_table_has_it(column: Column) -> bool:
    same = {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(), "float": pa.float32()}
    same |= {"double": pa.float64(), "decimal(5,1)": pa.decimal128(5, 1)}
    is_spelled = column.stored_name == column.name or not column.is_inside
    return is_spelled and same[column.type] == column.stored.type


def _are_one(read: Any, stored: Any) -> bool:
    if read is None or stored is None:
        return read is stored
    if not (math.isfinite(read) and math.isfinite(stored)):
        return str(float(read)) == str(float(stored))
    return Fraction(read) == Fraction(stored)


def _table(store: LocalStore, column: Column) -> Table:
    field = _field(column.name, column.type)
    outer = _field("s", {"type": "struct", "fields": [field]}) if column.is_inside else field
    schema = {"type": "struct", "fields": [_field("id", "long"), outer]}
    create_table(LogReader(store, fresh_resources()), SteadyAmbient(), Create(json.dumps(schema)))
    values = column.stored
    if column.is_inside:
        values = pa.StructArray.from_arrays([values], [column.stored_name])
    name = "s" if column.is_inside else column.stored_name
    data = parquet(pa.table({"id": pa.array(range(len(values)), pa.int64()), name: values}))
    store.put("0.parquet", data)
    added_elsewhere(store, 1, "0.parquet", len(data))
    return opened(store)


def _field(name: str, type_: object) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def _on_executors(table: Table) -> list[dict[str, Any]]:
    store = table.store
    assert isinstance(store, LocalStore)
    schema = table.snapshot().scan().schema
    slices = pa.table({"path": ["0.parquet"], "start": [0], "end": [2**62]})
    reader = FileRows(table.uri, StorePlace("local", store.uri), schema, tuple(schema.names))
    rows: list[dict[str, Any]] = pa.Table.from_batches(reader.read(slices), schema).to_pylist()
    return rows
