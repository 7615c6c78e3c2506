"""A file with nulls inside of a column that has none by the table's schema is left as it is, and delays no other merge."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Committed, Create
from headgate_table.data_file import DataFile
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.orders import Merged, MergeOrder, MergeOutcome, NotMerged
from support.parquet import parquet
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, fresh_resources, opened

NO_NULLS = {"type": "array", "elementType": "long", "containsNull": False}
LISTS = pa.list_(pa.int64())


def _struct(type_: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": "s", "type": type_, "nullable": True, "metadata": {}}]}


CASES = {
    "a list": (NO_NULLS, pa.array([[1, None]], LISTS), pa.array([[1], None, []], LISTS)),
    "a map": (
        {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": False},
        pa.array([[("k", None)]], pa.map_(pa.string(), pa.int64())),
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    ),
    "a list in a list": (
        {"type": "array", "elementType": NO_NULLS, "containsNull": True},
        pa.array([[[1], [None]]], pa.list_(LISTS)),
        pa.array([[[1], None], None], pa.list_(LISTS)),
    ),
    "a list in a struct": (
        _struct(NO_NULLS),
        pa.array([{"s": [None]}], pa.struct([("s", LISTS)])),
        pa.array([{"s": [1]}, None, {"s": None}], pa.struct([("s", LISTS)])),
    ),
}


def _merged(type_: Any, *columns: pa.Array) -> MergeOutcome:
    store = MemoryStore()
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "c", "type": type_, "nullable": True, "metadata": {}},
    ]
    schema = json.dumps({"type": "struct", "fields": fields})
    create_table(LogReader(store, fresh_resources()), SteadyAmbient(), Create(schema))
    files = []
    for number, column in enumerate(columns):
        data = parquet(pa.table({"id": list(range(len(column))), "c": column}))
        store.put(f"{number}.parquet", data)
        files.append(DataFile.of_parquet(f"{number}.parquet", store=store))
    assert isinstance(opened(store).append(files), Committed)
    order = MergeOrder(
        table="t",
        sources=tuple(files),
        output="out.parquet",
        schema_string=schema,
        partition_columns=(),
        partition_values={},
        codec=None,
        indexed_columns=32,
        max_text_length=32,
    )
    return ArrowEngine(store, fresh_resources()).merge(order)


@pytest.mark.parametrize("case", CASES)
def test_nulls_inside_where_the_schema_has_none_are_named_with_their_file(case: str) -> None:
    """Break: the writer's own error ends the merge, again and again, and names nothing."""
    type_, with_null, without = CASES[case]
    outcome = _merged(type_, without, with_null)
    assert isinstance(outcome, NotMerged)
    (problem,) = outcome.problems
    assert problem.path == "1.parquet"
    assert "'c'" in str(problem)


@pytest.mark.parametrize("case", CASES)
def test_lists_that_are_null_or_empty_themselves_are_merged(case: str) -> None:
    type_, _, without = CASES[case]
    assert isinstance(_merged(type_, without, without), Merged)


CELLS = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=2, max_size=4))
def test_of_any_files_those_with_nulls_inside_are_named_and_others_are_merged(
    files: list[list[list[int | None] | None]],
) -> None:
    outcome = _merged(NO_NULLS, *(pa.array(cells, LISTS) for cells in files))
    odd = {
        f"{number}.parquet"
        for number, cells in enumerate(files)
        if any(cell is not None and None in cell for cell in cells)
    }
    if not odd:
        assert isinstance(outcome, Merged)
    else:
        assert isinstance(outcome, NotMerged)
        named = {problem.path for problem in outcome.problems}
        assert named
        assert named <= odd
