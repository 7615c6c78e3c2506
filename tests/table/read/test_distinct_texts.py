"""Whether texts are distinct: the same answer as a set gives, for every shape of column."""

from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_table.indextables.read import distinct_texts
from headgate_table.indextables.read.distinct_texts import all_distinct

_LONG = "date=2024-01-01/part-00000-0123456789abcdef.parquet"
TEXTS = st.one_of(
    st.text(max_size=12),
    st.integers(0, 5).map(lambda number: f"{number}{_LONG}"),
    st.integers(0, 5).map(lambda number: f"{_LONG}{number}"),
    st.integers(0, 5).map(lambda number: f"{_LONG * 10}{number}{_LONG}"),
    st.integers(0, 5).map(lambda number: f"{number}{_LONG * 10}"),
)


@given(
    chunks=st.lists(st.lists(TEXTS | st.none(), max_size=5), max_size=4),
    start=st.integers(0, 2),
    counted=st.sampled_from([0, 3, 1 << 20]),
)
def test_the_answer_is_that_of_a_set(chunks: list[list[str | None]], start: int, counted: int) -> None:
    column = pa.chunked_array(chunks, pa.string()).slice(start)
    values = column.to_pylist()
    with patch.object(distinct_texts, "_COUNTED", counted):
        assert all_distinct(column) is (len(set(values)) == len(values))


@pytest.mark.parametrize("path", [f"{_LONG}", "a/b.parquet", "x"])
@pytest.mark.parametrize("counted", [0, 1 << 20])
def test_a_path_in_two_chunks_is_found(path: str, counted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct_texts, "_COUNTED", counted)
    others = [f"{number:03}{_LONG}" for number in range(300)]
    assert all_distinct(pa.chunked_array([[*others[:100], path], others[100:]]))
    assert not all_distinct(pa.chunked_array([[*others[:100], path], [path, *others[100:]]]))
