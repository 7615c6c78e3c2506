"""Files that this project writes have no statistics of a column with NaN, and log no bounds of it."""

import inspect
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyspark_headgate.executor.float_statistics
from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_table.data_file import DataFile
from headgate_table.parquet import float_statistics
from headgate_table.parquet.float_statistics import floats, leaf_paths, statistics_option, with_nan
from headgate_table.rows.file_writer import FileLimits
from headgate_table.rows.writing import table_files
from support.merging import append, merge, new_parquet_table, put_file
from support.parquet import parquet
from support.stores.memory import MemoryStore

NAN = float("nan")
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("s", pa.struct([("t", pa.string()), ("f", pa.float32()), ("l", pa.list_(pa.float64()))])),
        ("m", pa.map_(pa.string(), pa.float64())),
        ("a.b", pa.float64()),
    ]
)
PATHS = ["id", "x", "s.t", "s.f", "s.l.list.element", "m.key_value.key", "m.key_value.value", "a.b"]


def _row(**values: Any) -> dict[str, Any]:
    return {"id": 1, "x": 1.0, "s": {"t": "t", "f": 1.0, "l": [1.0]}, "m": [("k", 1.0)], "a.b": 1.0} | values


def _rows(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def _with_statistics(data: bytes) -> set[str]:
    """The paths of the columns that have statistics or a column index in some row group."""
    metadata = pq.read_metadata(pa.BufferReader(data))
    chunks = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    return {
        chunk.path_in_schema
        for chunk in chunks
        if chunk.has_column_index or (chunk.statistics is not None and chunk.statistics.has_min_max)
    }


def test_paths_are_spelled_and_ordered_as_parquet_has_them() -> None:
    assert leaf_paths(SCHEMA) == PATHS
    assert {PATHS[place] for place in floats(SCHEMA)} == {"x", "s.f", "s.l.list.element", "m.key_value.value", "a.b"}


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"x": NAN}, "x"),
        ({"s": {"t": "t", "f": NAN, "l": []}}, "s.f"),
        ({"s": {"t": None, "f": None, "l": [1.0, None, NAN]}}, "s.l.list.element"),
        ({"m": [("k", 1.0), ("l", NAN)]}, "m.key_value.value"),
        ({"a.b": NAN}, "a.b"),
    ],
)
def test_nan_is_found_at_any_depth_and_its_column_alone_has_no_statistics(values: dict[str, Any], path: str) -> None:
    rows = _rows(_row(), _row(x=None, s=None, m=None), _row(**values))
    found = with_nan(rows)
    assert {PATHS[place] for place in found} == {path}
    assert with_nan(rows.slice(0, 2)) == frozenset()
    data = parquet(rows, write_statistics=statistics_option(PATHS, found), write_page_index=True)
    assert _with_statistics(data) == {*PATHS} - {path}


def test_executors_of_spark_have_the_same_rules() -> None:
    ours, theirs = (inspect.getsource(one) for one in (float_statistics, pyspark_headgate.executor.float_statistics))
    assert ours.partition("from collections.abc")[2] == theirs.partition("from collections.abc")[2]


def _files(store: MemoryStore, rows: pa.Table) -> list[DataFile]:
    return table_files(store, Metadata("", schema_string_of(rows.schema), ("p",)), rows, "0", FileLimits())


def test_files_of_batches_have_no_statistics_where_rows_hold_nan() -> None:
    store = MemoryStore()
    rows = pa.table({"x": [1.0, NAN, 5.0], "y": [1.0, 2.0, 3.0], "p": ["a", "a", "b"]})
    first, second = _files(store, rows)
    assert (_with_statistics(store.get(first.path)), dict(first.min_values or {})) == ({"y"}, {"y": "1.0"})
    assert dict(first.max_values or {}) == {"y": "2.0"}
    assert (_with_statistics(store.get(second.path)), dict(second.max_values or {})) == (
        {"x", "y"},
        {"x": "5.0", "y": "3.0"},
    )


def test_floating_partitions_are_stored_as_readers_take_them() -> None:
    rows = pa.table({"id": range(5), "p": [NAN, float("inf"), float("-inf"), -0.0, 0.0]})
    found = {dict(file.partition_values)["p"] for file in _files(MemoryStore(), rows)}
    assert found == {"NaN", "Infinity", "-Infinity", "-0.0", "0"}


@pytest.mark.parametrize("nan_at", [0, 1, 25, 39])
def test_a_merged_file_has_no_statistics_of_a_column_with_nan_in_any_row_group(nan_at: int) -> None:
    table = new_parquet_table(columns="id BIGINT, x DOUBLE, y DOUBLE")
    for start in range(0, 40, 10):
        numbers = [float(number) for number in range(start, start + 10)]
        odd = [NAN if number == nan_at else number for number in numbers]
        rows = pa.table({"id": range(start, start + 10), "x": odd, "y": numbers})
        append(table, put_file(table, f"{start}.parquet", rows))
    before = table.snapshot().scan().read_all()
    merge(table, row_group_rows=10)
    (path,) = table.snapshot().paths()
    data = table.store.get(path)
    assert pq.read_metadata(pa.BufferReader(data)).num_row_groups == 4
    assert "id" in _with_statistics(data)
    assert "x" not in _with_statistics(data)
    assert ("y" in _with_statistics(data)) is (nan_at < 10)
    after = table.snapshot().scan().read_all()
    assert str(after.sort_by("id").to_pylist()) == str(before.sort_by("id").to_pylist())
    bounds = table.snapshot().files(("min_values", "max_values")).to_pylist()
    assert "x" not in dict(bounds[0]["min_values"]) | dict(bounds[0]["max_values"])


def test_a_merged_file_without_nan_keeps_its_statistics() -> None:
    table = new_parquet_table(columns="id BIGINT, x DOUBLE")
    for start in (0, 10):
        rows = pa.table({"id": [start], "x": [float(start)]})
        append(table, put_file(table, f"{start}.parquet", rows))
    merge(table)
    (path,) = table.snapshot().paths()
    assert _with_statistics(table.store.get(path)) == {"id", "x"}
