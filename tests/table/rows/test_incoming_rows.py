"""What counts as rows: every producer of Arrow data gives the same rows, and what can't be taken is refused by name."""

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.rows import incoming
from headgate_table.rows.incoming import gathered, incoming_rows

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "text": pa.array(["a", None, "c"])})


class OnlyStream:
    """Any library's frame: Arrow's stream interface, and nothing else."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class OnlyArray:
    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def taken(rows: Any) -> pa.Table:
    found = incoming_rows(rows)
    return pa.Table.from_batches(found.batches, found.schema)


PRODUCERS = {
    "table": lambda: ROWS,
    "batch": lambda: ROWS.to_batches()[0],
    "reader": ROWS.to_reader,
    "stream": lambda: OnlyStream(ROWS),
    "array": lambda: OnlyArray(ROWS.to_batches()[0]),
    "dataset": lambda: ds.dataset(ROWS),
    "scanner": lambda: ds.dataset(ROWS).scanner(),
    "pandas": ROWS.to_pandas,
    "pandas of arrow": lambda: ROWS.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.from_arrow(ROWS),
    "polars, lazy": lambda: pl.from_arrow(ROWS).lazy().filter(pl.col("id") > 0),  # type: ignore[union-attr]
    "duckdb": lambda: duckdb.connect().from_arrow(ROWS),
    "generator of batches": lambda: (part for part in (ROWS.slice(0, 1), OnlyStream(ROWS.slice(1)))),
    "list of frames": lambda: [pl.from_arrow(ROWS.slice(0, 2)), pl.from_arrow(ROWS.slice(2))],
}


@pytest.mark.parametrize("producer", PRODUCERS)
def test_the_same_rows_come_from_every_producer(producer: str) -> None:
    found = taken(PRODUCERS[producer]())
    assert found.schema.types == [pa.int64(), found.schema.field("text").type]
    assert found.to_pylist() == ROWS.to_pylist()


def test_what_is_lazy_is_read_once_and_only_as_far_as_it_is_asked_for() -> None:
    given: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for number in range(3):
            given.append(number)
            yield pa.record_batch({"id": [number]})

    found = incoming_rows(batches())
    assert given == [0]
    next(found.batches), next(found.batches)
    assert given == [0, 1]


def test_a_lazy_frame_without_rows_still_has_its_columns() -> None:
    frame = pl.LazyFrame({"id": [1], "text": ["a"]}).filter(pl.col("id") > 1)
    assert taken(frame).schema.names == ["id", "text"]


def test_large_batches_are_cut_without_being_copied_and_small_ones_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "BATCH_ROWS", 10)
    cut = [batch.num_rows for batch in incoming_rows(pa.table({"id": range(25)})).batches]
    assert cut == [10, 10, 5]
    small = iter([pa.record_batch({"id": [1, 2, 3]})] * 7)
    assert [table.num_rows for table in gathered(small)] == [12, 9]


def test_batches_of_wide_rows_are_cut_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incoming, "BATCH_BYTES", 1000)
    cut = [batch.num_rows for batch in incoming_rows(pa.table({"text": ["x" * 100] * 20})).batches]
    assert max(cut) <= 10
    assert sum(cut) == 20


PLAIN = [
    (pa.array(["a", "b", "a"]).dictionary_encode(), pa.string()),
    (pa.array(["a", "b", "a"], pa.string_view()), pa.string()),
    (pa.array([b"a", b"b", b"a"], pa.binary_view()), pa.binary()),
    (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(16)] * 3, pa.binary(16))), pa.binary(16)),
    (pa.array([["a"], ["b"], None], pa.list_(pa.dictionary(pa.int8(), pa.string()))), pa.list_(pa.string())),
    (pa.array([{"x": "a"}] * 3, pa.struct([("x", pa.string_view())])), pa.struct([("x", pa.string())])),
    (pa.array([["a"], None, ["b", None]], pa.list_view(pa.string_view())), pa.list_(pa.string())),
    (pa.array([["a"], None, ["b"]], pa.large_list_view(pa.string())), pa.list_(pa.string())),
    (pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["a", "b"], pa.string_view())), pa.string()),
    (
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array([{"x": "a"}, {"x": None}])),
        pa.struct([("x", pa.string())]),
    ),
    (pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", None])), pa.string()),
    (pa.array([[("k", "v")]] * 3, pa.map_(pa.string(), pa.large_string())), pa.map_(pa.string(), pa.large_string())),
]


@pytest.mark.parametrize(
    ("array", "plain"), PLAIN, ids=lambda each: str(each.type) if isinstance(each, pa.Array) else ""
)
def test_types_that_only_arrow_knows_become_plain_ones_with_the_same_values(array: Any, plain: pa.DataType) -> None:
    found = taken(pa.table({"c": array})).column("c")
    assert found.type == plain
    stored = array.storage if isinstance(array, pa.ExtensionArray) else array
    assert found.to_pylist() == stored.to_pylist()


def test_columns_of_structs_without_fields_are_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"column 'c'.x is a struct without fields"):
        incoming_rows(pa.table({"c": pa.array([], pa.struct([("x", pa.struct([]))]))}))


def test_rows_that_are_null_as_a_whole_are_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidInput, match="drop rows that are null as a whole"):
        incoming_rows(pa.array([{"x": 1}, None]))
    table = pa.table({"c": pa.array([{"x": 1}, None])})
    assert taken(table).to_pylist() == table.to_pylist()


def test_columns_of_pandas_may_be_named_by_numbers() -> None:
    frame = pd.DataFrame({1: [1, 2], ("x", 2): ["a", "b"]})
    assert taken(frame).to_pylist()[0] == {"1": 1, "('x', 2)": "a"}


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({1: [1], "1": [2]}),
        pd.DataFrame([[1, 2]], columns=["1", "1"]),
        pd.DataFrame({"1": [1]}, index=pd.Index([1], name=1)),
    ],
    ids=["number and text", "twice", "index"],
)
def test_columns_of_pandas_with_one_name_are_refused(frame: pd.DataFrame) -> None:
    with pytest.raises(InvalidInput, match="two columns '1'"):
        incoming_rows(frame)


def test_the_named_levels_of_an_index_of_pandas_are_columns_and_the_others_are_none() -> None:
    index = pd.MultiIndex.from_tuples([("a", 7), ("b", 8)], names=["key", None])
    assert taken(pd.DataFrame({"id": [1, 2]}, index=index)).to_pylist()[1] == {"key": "b", "id": 2}


def test_a_named_index_of_pandas_is_a_column_and_a_nameless_one_is_none() -> None:
    frame = pd.DataFrame({"id": [1, 2, 3]}).set_index(pd.Index(["a", "b", "c"], name="key"))
    assert taken(frame).to_pylist()[0] == {"key": "a", "id": 1}
    assert taken(pd.DataFrame({"id": [1, 2, 3]}).iloc[1:]).column_names == ["id"]


def test_a_float_of_pandas_that_is_nan_is_null_and_one_of_others_is_nan() -> None:
    assert taken(pd.DataFrame({"x": [1.0, np.nan]})).to_pylist()[1] == {"x": None}
    [_, other] = taken(pl.DataFrame({"x": [1.0, float("nan")]})).column("x").to_pylist()
    assert other != other


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (5, r"rows is 5 \(int\); give a PyArrow table"),
        ("a.csv", r"rows is 'a.csv' \(str\)"),
        (None, r"rows is None \(NoneType\)"),
        ({"id": [1]}, r"pyarrow.table\(rows\) makes a table"),
        ([{"id": 1}], r"item 0 of rows is .* pyarrow.Table.from_pylist\(rows\) makes a table"),
        ([], "an iterable without any batch"),
        (pd.DataFrame({"x": [1, "a"]}), "the frame of pandas can't become Arrow"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_holds_no_rows_is_refused_in_words(rows: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        incoming_rows(rows)


def test_a_batch_with_other_columns_than_the_first_is_named() -> None:
    found = incoming_rows([pa.record_batch({"id": [1]}), pa.record_batch({"id": ["a"]})])
    with pytest.raises(InvalidInput, match="item 1 of rows has other columns than the first: id string"):
        list(found.batches)


def test_an_item_that_is_no_batch_is_named() -> None:
    found = incoming_rows([pa.record_batch({"id": [1]}), 7])
    with pytest.raises(InvalidInput, match="item 1 of rows is 7"):
        list(found.batches)
