"""A pruned read equals a filtered full read, for random tables of every kind of column, whoever wrote the bounds."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.partition_text import covering
from headgate_schemas.predicates.tree import Comparison, Op, Predicate
from headgate_table.indextables.format.bounds import Bounds, compute_partition_bounds
from headgate_table.indextables.manifests.pruning import may_contain
from headgate_table.indextables.read.entry_filter import candidate_texts, entry_mask
from support.pruning.foreign_bounds import bounds_by, by_java_number, by_rust_number, by_text
from support.pruning.oracle import truth
from support.pruning.strategies import (
    KINDS,
    ODD_FLOATS,
    ODD_SINGLES,
    SHORT_SINGLES,
    columns_of_texts,
    leaves,
    mixed_texts,
    trees,
)

Case = tuple[dict[str, ColumnKind], list[dict[str, str | None]], Predicate]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows = draw(st.integers(1, 7))
    kinds = {name: draw(KINDS) for name in ("p", "q")}
    columns = {name: draw(columns_of_texts(kind, rows)) for name, kind in kinds.items()}
    leaf = st.sampled_from(("p", "q")).flatmap(lambda name: leaves(name, kinds[name], columns[name]))
    return kinds, [{name: columns[name][row] for name in kinds} for row in range(rows)], draw(trees(leaf))


def entries_of(rows: list[dict[str, str | None]]) -> pa.Table:
    maps = [[(name, text) for name, text in row.items() if text is not None] for row in rows]
    return pa.table({"partition_values": pa.array(maps, pa.map_(pa.string(), pa.string()))})


def _foreign(compare: Any, rows: list[dict[str, str | None]], keep_empty: bool) -> dict[str, Bounds]:
    return {name: Bounds(*bounds_by(compare, [row[name] for row in rows], keep_empty)) for name in ("p", "q")}


Writer = Callable[[list[dict[str, str | None]], dict[str, ColumnKind]], dict[str, Bounds] | None]
WRITERS: dict[str, tuple[Writer, bool]] = {
    "text order": (lambda rows, kinds: _foreign(by_text, rows, False), False),
    "java numbers": (lambda rows, kinds: _foreign(by_java_number, rows, False), False),
    "rust numbers": (lambda rows, kinds: _foreign(by_rust_number, rows, True), True),
    "rust numbers, id unknown": (lambda rows, kinds: _foreign(by_rust_number, rows, True), False),
    "ours": (lambda rows, kinds: compute_partition_bounds(entries_of(rows), ["p", "q"], kinds), True),
    "ours, kinds unknown": (lambda rows, kinds: compute_partition_bounds(entries_of(rows), ["p", "q"]), True),
    "ours, id unknown": (lambda rows, kinds: compute_partition_bounds(entries_of(rows), ["p", "q"], kinds), False),
}


@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=80, deadline=None)
@given(case=cases())
def test_a_manifest_that_holds_a_match_is_never_pruned(writer: str, case: Case) -> None:
    kinds, rows, predicate = case
    bounds_of, trusted = WRITERS[writer]
    bounds = bounds_of(rows, kinds)
    if any(truth(predicate, row, kinds) for row in rows):
        assert may_contain(predicate, bounds, kinds, trusted), bounds


@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.sampled_from(ODD_FLOATS), min_size=1, max_size=4), data=st.data())
def test_a_manifest_of_floats_that_holds_a_match_is_never_pruned(
    writer: str, texts: list[str | None], data: st.DataObject
) -> None:
    _check_floats(writer, ColumnKind.DOUBLE, texts, data)


@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=150, deadline=None)
@given(odd=st.sampled_from([ODD_SINGLES, SHORT_SINGLES]), data=st.data())
def test_a_manifest_of_32_bit_floats_that_holds_a_match_is_never_pruned(
    writer: str, odd: list[str], data: st.DataObject
) -> None:
    texts: list[str | None] = data.draw(st.lists(st.sampled_from(odd), min_size=1, max_size=4))
    _check_floats(writer, ColumnKind.FLOAT, texts, data)


def _check_floats(writer: str, kind: ColumnKind, texts: list[str | None], data: st.DataObject) -> None:
    kinds = {"p": kind, "q": kind}
    rows: list[dict[str, str | None]] = [{"p": text, "q": "1.5"} for text in texts]
    bounds_of, trusted = WRITERS[writer]
    # Some writers leave NaN out of bounds.
    bounded = [row for row in rows if row["p"] != "NaN"] if data.draw(st.booleans()) else rows
    predicate = data.draw(leaves("p", kind, texts))
    if bounded and any(truth(predicate, row, kinds) for row in rows):
        assert may_contain(predicate, bounds_of(bounded, kinds), kinds, trusted), bounds_of(bounded, kinds)


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_the_mask_of_entries_equals_a_naive_evaluation_row_by_row(case: Case) -> None:
    kinds, rows, predicate = case
    expected = [truth(predicate, row, kinds) is True for row in rows]
    assert entry_mask(predicate, entries_of(rows), kinds, ["p", "q"]).to_pylist() == expected


@settings(max_examples=80, deadline=None)
@given(case=cases())
def test_covering_one_file_equals_a_naive_evaluation(case: Case) -> None:
    kinds, rows, predicate = case
    assert [*map(covering(predicate, kinds), rows)] == [truth(predicate, row, kinds) is True for row in rows]


@settings(max_examples=150, deadline=None)
@given(case=cases())
def test_every_match_holds_one_of_the_candidate_texts(case: Case) -> None:
    kinds, rows, predicate = case
    candidates = candidate_texts(predicate, kinds, ["p", "q"])
    for row in rows:
        if candidates is not None and truth(predicate, row, kinds):
            stored = "\n".join(text for text in row.values() if text is not None).encode()
            assert any(candidate in stored for candidate in candidates)


@pytest.mark.parametrize("writer", WRITERS)
@settings(max_examples=150, deadline=None)
@given(texts=mixed_texts, op=st.sampled_from([Op.EQ, Op.GE, Op.LE]), place=st.integers(0, 100))
def test_a_manifest_of_numbers_among_other_texts_is_found_by_each_of_them(
    writer: str, texts: list[str], op: Op, place: int
) -> None:
    kinds = {"p": ColumnKind.STRING, "q": ColumnKind.STRING}
    rows: list[dict[str, str | None]] = [{"p": text, "q": "x"} for text in texts]
    bounds_of, trusted = WRITERS[writer]
    wanted = Comparison("p", op, texts[place % len(texts)])
    assert may_contain(wanted, bounds_of(rows, kinds), kinds, trusted), bounds_of(rows, kinds)
