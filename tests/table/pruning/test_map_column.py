"""One key of a map column, whatever the shape of its chunks."""

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given
from hypothesis import strategies as st

from headgate_table.indextables.format.map_column import distinct_values, map_values

MAP = pa.map_(pa.string(), pa.string())
_row = st.one_of(
    st.none(),
    st.lists(st.tuples(st.sampled_from("abk"), st.one_of(st.none(), st.text("xy", max_size=1))), max_size=4),
)


def _first(row: list[tuple[str, str | None]] | None) -> str | None:
    return next((value for key, value in row or [] if key == "k"), None)


@given(rows=st.lists(_row, max_size=12), cut=st.integers(0, 12), skip=st.integers(0, 3))
def test_the_values_of_a_key_are_those_of_each_row(
    rows: list[list[tuple[str, str | None]] | None], cut: int, skip: int
) -> None:
    whole = pa.array(rows, MAP)
    column = pa.chunked_array([whole.slice(skip, cut), whole.slice(skip + cut)], type=MAP)
    assert map_values(column, "k").to_pylist() == [_first(row) for row in rows[skip:]]


def test_a_slice_of_full_rows_gives_its_own_values() -> None:
    whole = pa.array([[("j", "0"), ("k", str(number))] for number in range(10)], MAP)
    assert map_values(pa.chunked_array([whole.slice(3, 4)]), "k").to_pylist() == ["3", "4", "5", "6"]


def test_a_key_twice_in_one_row_and_missing_in_the_next_is_no_full_column() -> None:
    column = pa.chunked_array([pa.array([[("k", "1"), ("k", "2")], []], MAP)])
    assert map_values(column, "k").to_pylist() == ["1", None]


def test_a_column_without_chunks_has_no_values() -> None:
    assert len(map_values(pa.chunked_array([], type=MAP), "k")) == 0


@given(st.lists(st.one_of(st.none(), st.sampled_from("xyz")), max_size=10), st.integers(0, 10))
def test_codes_lead_back_to_the_values(values: list[str | None], cut: int) -> None:
    column = pa.chunked_array([pa.array(values[:cut], pa.string()), pa.array(values[cut:], pa.string())])
    distinct, codes = distinct_values(column)
    assert [distinct[code] for code in codes.tolist()] == values
    assert len(distinct) == len(pc.unique(column.drop_null())) + 1
