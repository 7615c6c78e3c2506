"""Columns of every Arrow type from every producer: the same values come back, or `InvalidInput` says why not and nothing is written."""

import datetime as dt
import math
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing.parametric import dataframes as frames

import headgate
from headgate_schemas.errors import InvalidInput

ROWS = 4
UTC = dt.UTC
MOMENTS = [dt.datetime(1970, 1, 1, 12, 0, 0, 250_000, UTC), dt.datetime(2024, 2, 29, tzinfo=UTC)]
LOCAL = [moment.replace(tzinfo=None) for moment in MOMENTS]
TEXTS = ["", "a", "é", "long enough to lie outside of a view"]
NUMBERS = [Decimal("-1.50"), Decimal(0), Decimal("9.25")]


class Drawn(NamedTuple):
    array: Any
    values: list[Any]
    """What the array holds, known from its making."""


LEAVES: list[tuple[pa.DataType, list[Any]]] = [
    *((type_, [-1, 0, 2 ** (type_.bit_width - 1) - 1]) for type_ in (pa.int8(), pa.int16(), pa.int32(), pa.int64())),
    *((type_, [0, 2**type_.bit_width - 1]) for type_ in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())),
    *((type_, [0.0, -1.5, math.nan, math.inf]) for type_ in (pa.float16(), pa.float32(), pa.float64())),
    *((type_, TEXTS) for type_ in (pa.string(), pa.large_string(), pa.string_view())),
    *((type_, [text.encode() for text in TEXTS]) for type_ in (pa.binary(), pa.large_binary(), pa.binary_view())),
    *((pa.timestamp(unit), LOCAL) for unit in ("ms", "us", "ns")),
    *((pa.timestamp(unit, "Europe/Berlin"), MOMENTS) for unit in ("ms", "us", "ns")),
    *((type_, [dt.date(1969, 12, 31), dt.date(2024, 2, 29)]) for type_ in (pa.date32(), pa.date64())),
    *(
        (type_, NUMBERS)
        for type_ in (pa.decimal32(5, 2), pa.decimal64(12, 2), pa.decimal128(38, 10), pa.decimal256(30, 2))
    ),
    (pa.decimal256(76, 40), NUMBERS),
    (pa.decimal128(5, -2), [Decimal(100)]),
    (pa.bool_(), [True, False]),
    (pa.binary(3), [b"abc", b"\0\0\0"]),
    (pa.null(), [None]),
    (pa.time32("ms"), [dt.time(12, 30)]),
    (pa.time64("us"), [dt.time(12, 30)]),
    (pa.duration("us"), [dt.timedelta(seconds=1)]),
    (pa.month_day_nano_interval(), [(1, 2, 3)]),
]
EXTENSIONS: list[tuple[Any, list[Any]]] = [
    (pa.uuid(), [bytes(16), b"0123456789abcdef"]),
    (pa.json_(), ['{"a": 1}', "null"]),
    (pa.bool8(), [0, 1]),
    (pa.opaque(pa.int32(), "thing", "somebody"), [7]),
]


@st.composite
def leaf(draw: Any, count: int) -> Drawn:
    type_, pool = draw(st.sampled_from(LEAVES + EXTENSIONS))
    values = draw(st.lists(st.sampled_from([None, *pool]), min_size=count, max_size=count))
    if isinstance(type_, pa.BaseExtensionType):
        return Drawn(pa.ExtensionArray.from_storage(type_, pa.array(values, type_.storage_type)), values)
    return Drawn(pa.array(values, type_), values)


@st.composite
def column(draw: Any, count: int, depth: int = 3) -> Drawn:
    """An array of so many rows. Nested ones are put together from arrays, as pylists of odd types can't be."""
    makes: list[Any] = [leaf]
    if depth:
        makes += [lists, structs, maps, dictionaries, run_ends, slices, unions]
    make = draw(st.sampled_from([leaf, *makes]))
    drawn: Drawn = draw(leaf(count) if make is leaf else make(count, depth - 1))
    return drawn


def nulls(draw: Any, count: int) -> list[bool]:
    mask: list[bool] = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    return mask


def masked(values: list[Any], mask: list[bool]) -> list[Any]:
    return [None if is_null else value for value, is_null in zip(values, mask, strict=True)]


@st.composite
def lists(draw: Any, count: int, depth: int) -> Drawn:
    kind = draw(st.sampled_from(["list", "large", "fixed", "view", "large view"]))
    sizes = [2] * count if kind == "fixed" else draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    inner = draw(column(sum(sizes), depth))
    begins = [sum(sizes[:place]) for place in range(count)]
    mask = nulls(draw, count)
    values = masked([inner.values[b : b + s] for b, s in zip(begins, sizes, strict=True)], mask)
    if kind == "fixed":
        return Drawn(pa.FixedSizeListArray.from_arrays(inner.array, 2, mask=pa.array(mask, pa.bool_())), values)
    if "view" in kind:
        make, width = (pa.LargeListViewArray, pa.int64()) if "large" in kind else (pa.ListViewArray, pa.int32())
        return Drawn(
            make.from_arrays(
                pa.array(begins, width), pa.array(sizes, width), inner.array, mask=pa.array(mask, pa.bool_())
            ),
            values,
        )
    make, width = (pa.LargeListArray, pa.int64()) if kind == "large" else (pa.ListArray, pa.int32())
    return Drawn(
        make.from_arrays(pa.array([*begins, sum(sizes)], width), inner.array, mask=pa.array(mask, pa.bool_())), values
    )


@st.composite
def structs(draw: Any, count: int, depth: int) -> Drawn:
    parts = [draw(column(count, depth)) for _ in range(draw(st.integers(1, 2)))]
    names = ["x", "y"][: len(parts)]
    mask = nulls(draw, count)
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*(part.values for part in parts), strict=True)]
    return Drawn(
        pa.StructArray.from_arrays([part.array for part in parts], names, mask=pa.array(mask, pa.bool_())),
        masked(rows, mask),
    )


@st.composite
def maps(draw: Any, count: int, depth: int) -> Drawn:
    items = draw(column(count, depth))
    keys = [f"k{number}" for number in range(count)]
    mask = nulls(draw, count)
    array = pa.MapArray.from_arrays(
        pa.array(range(count + 1), pa.int32()), pa.array(keys), items.array, mask=pa.array(mask, pa.bool_())
    )
    return Drawn(array, masked([[pair] for pair in zip(keys, items.values, strict=True)], mask))


@st.composite
def dictionaries(draw: Any, count: int, depth: int) -> Drawn:
    inner = draw(column(2, depth))
    places = draw(st.lists(st.sampled_from([None, 0, 1]), min_size=count, max_size=count))
    width = draw(st.sampled_from([pa.int8(), pa.uint8(), pa.uint32(), pa.int64()]))
    array = pa.DictionaryArray.from_arrays(pa.array(places, width), inner.array)
    return Drawn(array, [None if place is None else inner.values[place] for place in places])


@st.composite
def run_ends(draw: Any, count: int, depth: int) -> Drawn:
    # Of leaves: PyArrow takes its own run ends of run ends for damage.
    assume(count)
    inner = draw(leaf(2 if count > 1 else 1))
    ends = [1, count] if count > 1 else [1]
    array = pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), inner.array)
    return Drawn(array, [inner.values[0], *[inner.values[-1]] * (count - 1)])


@st.composite
def slices(draw: Any, count: int, depth: int) -> Drawn:
    inner = draw(column(count + 2, depth))
    return Drawn(inner.array.slice(1, count), inner.values[1 : count + 1])


@st.composite
def unions(draw: Any, count: int, depth: int) -> Drawn:
    inner = draw(column(count, depth))
    kinds = pa.array([0] * count, pa.int8())
    return Drawn(pa.UnionArray.from_sparse(kinds, [inner.array, pa.array([1] * count)]), inner.values)


WITHOUT_COLUMN = (
    *(pa.types.is_null, pa.types.is_time, pa.types.is_duration, pa.types.is_union),
    lambda type_: type_ == pa.month_day_nano_interval(),
)
LARGE_DECIMALS = (pa.decimal256(76, 40), pa.decimal128(5, -2))


class OnlyStream:
    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    for start in range(table.num_rows):
        yield from table.slice(start, 1).to_batches()


SOURCES: dict[str, Callable[[pa.Table], Any]] = {
    "table": lambda table: table,
    "batches": _batches,
    "reader": lambda table: table.to_reader(max_chunksize=3),
    "stream": OnlyStream,
}
"""Of other libraries own types are drawn below: given any array of Arrow, Polars panics and DuckDB crashes now and then."""


def has_no_column(type_: Any) -> bool:
    """Whether tables have no type for these values."""
    if isinstance(type_, pa.BaseExtensionType):
        return has_no_column(type_.storage_type)
    if pa.types.is_dictionary(type_) or pa.types.is_run_end_encoded(type_):
        return has_no_column(type_.value_type)
    if pa.types.is_union(type_) or not pa.types.is_nested(type_):
        return any(is_kind(type_) for is_kind in WITHOUT_COLUMN) or type_ in LARGE_DECIMALS
    return any(has_no_column(type_.field(place).type) for place in range(type_.num_fields))


def normal(value: Any) -> Any:
    """Comparable by ==: NaN equals itself, and a UUID, an interval and a map are what they are stored as."""
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case dict():
            return {key: normal(item) for key, item in value.items()}
        case list() | tuple():
            return [normal(item) for item in value]
        case _:
            return getattr(value, "bytes", value)


@pytest.mark.parametrize("source", SOURCES)
@given(drawn=column(ROWS))
def test_a_column_of_any_type_comes_back_or_is_refused(source: str, drawn: Drawn) -> None:
    found = written_and_read(SOURCES[source](pa.table({"id": range(ROWS), "c": drawn.array})))
    if "run_end_encoded" not in str(drawn.array.type):  # inside of others, PyArrow can't always cut them
        assert (found is None) == has_no_column(drawn.array.type)
    assert found is None or normal(found) == normal(drawn.values)


@given(drawn=leaf(ROWS))  # of nested ones, PyArrow crashes on the way to pandas now and then
def test_a_column_of_pandas_comes_back_or_is_refused(drawn: Drawn) -> None:
    try:
        frame = pa.table({"id": range(ROWS), "c": drawn.array}).to_pandas(types_mapper=pd.ArrowDtype)
    except (pa.ArrowException, ValueError, TypeError):
        return  # pandas has no such type
    found = written_and_read(frame)
    assert found is None or normal(found) == normal(drawn.values)


@given(frames(min_cols=1, max_cols=1, min_size=1, max_size=ROWS, allow_chunks=True), st.booleans())
def test_a_column_of_polars_comes_back_or_is_refused(frame: pl.DataFrame, is_lazy: bool) -> None:
    frame = frame.rename({frame.columns[0]: "c"}).with_row_index("id")
    found = written_and_read(frame.lazy() if is_lazy else frame)
    assert found is None or normal(found) == normal(frame["c"].to_list())


POLARS: list[tuple[Any, list[Any], bool]] = [
    (pl.Categorical, ["a", "b", None], True),
    (pl.Enum(["a", "b"]), ["a", "b", None], True),
    (pl.Float16, [1.5, None], True),
    (pl.Array(pl.Int64, 2), [[1, 2], None], True),
    (pl.Int128, [1, 2**100], False),
    (pl.List(pl.UInt128), [[1], None], False),
    (pl.Struct({"x": pl.Int128}), [{"x": 1}], False),
    (pl.Object, ["a", "b"], False),
    (pl.Time, [dt.time(12)], False),
    (pl.Duration, [dt.timedelta(1)], False),
    (pl.Null, [None], False),
]


@pytest.mark.parametrize("is_lazy", [False, True])
@pytest.mark.parametrize(("kind", "cells", "is_taken"), POLARS, ids=lambda each: str(each)[:20])
def test_types_of_polars_come_back_or_are_refused(kind: Any, cells: list[Any], is_taken: bool, is_lazy: bool) -> None:
    """Break: addresses of objects are written for what they are, or an error of Arrow's import is raised."""
    frame = pl.DataFrame({"id": range(len(cells)), "c": pl.Series(cells, dtype=kind)})
    found = written_and_read(frame.lazy() if is_lazy else frame)
    assert found == (cells if is_taken else None)


DUCKDB: dict[str, tuple[Any, bool]] = {
    "1::HUGEINT": (1, True),
    "(-9)::TINYINT": (-9, True),
    "18446744073709551615::UBIGINT": (2**64 - 1, True),
    "1.5::DECIMAL(38, 10)": (Decimal("1.5"), True),
    "'b'::ENUM ('a', 'b')": ("b", True),
    "'2024-02-29 12:00:00.25'::TIMESTAMP_NS": (dt.datetime(2024, 2, 29, 12, 0, 0, 250_000), True),  # noqa: DTZ001
    "'2024-02-29'::DATE": (dt.date(2024, 2, 29), True),
    "'x'::BLOB": (b"x", True),
    "{'x': [1, NULL], 'y': MAP {'a': 0.5::DOUBLE}}": ({"x": [1, None], "y": [("a", 0.5)]}, True),
    "[1, 2]::INT[2]": ([1, 2], True),
    "union_value(n := 1)": (None, False),
    "INTERVAL 1 DAY": (None, False),
    "'12:00'::TIME": (None, False),
}


@pytest.mark.parametrize("expression", DUCKDB)
def test_types_of_duckdb_come_back_or_are_refused(expression: str) -> None:
    value, is_taken = DUCKDB[expression]
    found = written_and_read(duckdb.connect().sql(f"SELECT 0 AS id, {expression} AS c"))
    assert normal(found) == (normal([value]) if is_taken else None)


def written_and_read(rows: Any) -> list[Any] | None:
    """None where the rows are refused."""
    with tempfile.TemporaryDirectory() as folder:
        place = f"{folder}/t"
        try:
            headgate.write(place, rows, storage={"local.durable": "false"})
        except InvalidInput as error:
            refusal = str(error)
        else:
            return list(headgate.read(place).to_arrow().sort_by("id").column("c").to_pylist())
        assert "'c'" in refusal
        with pytest.raises(headgate.TableNotFound):
            headgate.Table.open(place)
        return None
