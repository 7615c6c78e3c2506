"""What least and greatest values of a data column say about a file."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.text import parse_predicate
from headgate_schemas.predicates.tree import Leaf, leaves
from headgate_table.indextables.read.column_statistics import statistics_test
from headgate_table.indextables.read.statistics_arrays import decide
from support.pruning.oracle import truth
from support.pruning.strategies import ODD_FLOATS, ODD_SINGLES
from support.pruning.strategies import leaves as random_leaves

K = ColumnKind
DAY_MICROS = 86_400_000_000
NEW_YEAR_2024 = 19_723 * DAY_MICROS


def kept(where: str, kind: ColumnKind, low: str, high: str) -> bool:
    (leaf,) = leaves(parse_predicate(where))
    return statistics_test(leaf, kind)(low, high)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("c = 0", False),
        ("c = 1", True),
        ("c = 10", False),
        ("c < 1", False),
        ("c <= 1", True),
        ("c > 9", False),
        ("c >= 9", True),
        ("c <> 5", True),
        ("c IN (0, 10)", False),
        ("c IN (0, 9)", True),
        ("c NOT IN (5)", True),
        ("c IS NULL", True),
        ("c IS NOT NULL", True),
    ],
)
def test_integers_from_1_to_9(where: str, expected: bool) -> None:
    assert kept(where, K.INTEGER, "1", "9") is expected


def test_integers_compare_as_numbers() -> None:
    assert kept("c = 50", K.INTEGER, "9", "100")


def test_a_single_value_decides_inequality_of_integers() -> None:
    assert not kept("c <> 5", K.INTEGER, "5", "5")
    assert not kept("c NOT IN (5, 6)", K.INTEGER, "5", "5")


@pytest.mark.parametrize(("low", "high"), [("x", "9"), ("1", "9.5"), ("9", "1"), ("", "9"), ("1_0", "2_0")])
def test_integers_that_are_unclear_keep_the_file(low: str, high: str) -> None:
    assert kept("c = 100", K.INTEGER, low, high)


def test_floats_compare_as_numbers_but_nan_may_be_above_all() -> None:
    assert not kept("c = 11", K.DOUBLE, "1.5", "1.0E1")
    assert not kept("c < 1.5 ", K.DOUBLE, "1.6", "2")
    assert kept("c > 11", K.DOUBLE, "1.5", "10")
    assert kept("c = 11", K.DOUBLE, "NaN", "NaN")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("c = 'NaN'", True),
        ("c <> 'NaN'", True),
        ("c < 'NaN'", True),
        ("c <= 'NaN'", True),
        ("c > 'NaN'", False),
        ("c >= 'NaN'", True),
        ("c IN ('NaN')", True),
        ("c NOT IN ('NaN')", True),
        ("c BETWEEN 11 AND 'NaN'", True),
        ("c = '-0.0'", False),
        ("c > 'Infinity'", True),
        ("c < '-Infinity'", False),
    ],
)
def test_nan_equals_itself_and_is_above_all_numbers(where: str, expected: bool) -> None:
    predicate = parse_predicate(where)
    assert all(statistics_test(leaf, K.DOUBLE)("1.5", "10") for leaf in leaves(predicate)) is expected


def test_decimals_that_are_equal_as_doubles_are_not_told_apart() -> None:
    assert kept("c = 9007199254740993", K.DECIMAL, "9007199254740992", "9007199254740992")
    assert not kept("c > 10.5", K.DECIMAL, "1.5", "10.25")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("c = 'apple'", False),
        ("c = 'banana'", True),
        ("c = 'cherry'", True),
        ("c = 'cherry pie'", True),  # the greatest may be cut off
        ("c = 'cherrz'", False),
        ("c > 'cherry'", True),
        ("c > 'cherrz'", False),
        ("c < 'banana'", False),
        ("c <= 'banana'", True),
        ("c LIKE 'b%'", True),
        ("c LIKE 'cherry p%'", True),
        ("c LIKE 'd%'", False),
        ("c LIKE 'a%'", False),
        ("c NOT LIKE 'x%'", True),
        ("c <> 'banana'", True),
    ],
)
def test_strings_from_banana_to_cherry(where: str, expected: bool) -> None:
    assert kept(where, K.STRING, "banana", "cherry") is expected


def test_strings_with_one_prefix_hold_no_other() -> None:
    assert not kept("c NOT LIKE 'ba%'", K.STRING, "banana", "basil")


def test_a_string_that_utf_16_sorts_elsewhere_keeps_the_file() -> None:
    assert kept("c = '\U0001f600'", K.STRING, "a", "\uffff")


def test_a_string_that_was_cut_inside_of_a_character_keeps_the_file() -> None:
    assert kept("c > 'xA'", K.STRING, "a", "x?")


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("2024-01-01", "2024-01-31"),
        ("2024-01-01T00:00:00Z", "2024-01-31T00:00:00Z"),
        ("19723", "19753"),
        (str(NEW_YEAR_2024), str(NEW_YEAR_2024 + 30 * DAY_MICROS)),
        (str(NEW_YEAR_2024 // 1000), str(NEW_YEAR_2024 // 1000 + 30 * DAY_MICROS // 1000)),
    ],
)
def test_dates_as_texts_days_or_times_are_the_same_dates(low: str, high: str) -> None:
    assert kept("c = DATE '2024-01-31'", K.DATE, low, high)
    assert not kept("c = DATE '2024-02-01'", K.DATE, low, high)
    assert not kept("c > DATE '2024-01-31'", K.DATE, low, high)


@pytest.mark.parametrize(("low", "high"), [("-800000", "19753"), ("-1200000", "-719163"), ("0", "3000000")])
def test_days_outside_of_the_years_from_1_to_9999_are_days_nevertheless(low: str, high: str) -> None:
    """Files hold such dates, though no literal can name one; the numbers would be times within a few days of 1970, too."""
    assert kept("c = DATE '2024-01-31'", K.DATE, low, high) is (int(low) <= 19753 <= int(high))
    assert kept("c < DATE '0001-01-01'", K.DATE, low, high) is (int(low) < -719162)
    assert kept("c > DATE '9999-12-31'", K.DATE, low, high) is (int(high) > 2932896)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ("2024-01-01 00:00:00", "2024-01-31 00:00:00"),
        ("2024-01-01T00:00:00.000Z", "2024-01-31T00:00:00.000Z"),
        (str(NEW_YEAR_2024), str(NEW_YEAR_2024 + 30 * DAY_MICROS)),
    ],
)
def test_times_as_texts_or_microseconds_are_the_same_times_with_a_day_to_spare(low: str, high: str) -> None:
    assert kept("c = TIMESTAMP '2024-01-31 18:00:00'", K.TIMESTAMP, low, high)
    assert not kept("c = TIMESTAMP '2024-02-01 01:00:00'", K.TIMESTAMP, low, high)
    assert not kept("c < TIMESTAMP '2023-12-30 23:00:00'", K.TIMESTAMP, low, high)


def test_times_of_unclear_unit_skip_only_if_every_unit_does() -> None:
    seconds = (str(NEW_YEAR_2024 // 1_000_000), str(NEW_YEAR_2024 // 1_000_000 + 60))
    assert not kept("c > TIMESTAMP '2024-02-01 00:00:00'", K.TIMESTAMP, *seconds)
    assert kept("c < TIMESTAMP '2000-01-01 00:00:00'", K.TIMESTAMP, *seconds)


def test_booleans_are_skipped_if_all_are_the_other_one() -> None:
    assert not kept("c = TRUE", K.BOOLEAN, "false", "false")
    assert kept("c = TRUE", K.BOOLEAN, "false", "true")


def test_a_literal_that_does_not_fit_is_refused() -> None:
    with pytest.raises(PredicateError, match="is a date"):
        kept("c = 5", K.DATE, "1", "2")


_ascii = st.text("abc?~ ", min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(values=st.lists(_ascii, min_size=1, max_size=5), data=st.data(), cut=st.integers(1, 6))
def test_a_file_of_strings_that_holds_a_match_is_never_skipped(
    values: list[str], data: st.DataObject, cut: int
) -> None:
    leaf = data.draw(random_leaves("c", K.STRING, list(values)))
    _check(leaf, K.STRING, values, min(values)[:cut], max(values)[:cut])


@settings(max_examples=150, deadline=None)
@given(values=st.lists(st.integers(-5, 20), min_size=1, max_size=5), data=st.data())
def test_a_file_of_integers_that_holds_a_match_is_never_skipped(values: list[int], data: st.DataObject) -> None:
    texts = [str(value) for value in values]
    leaf = data.draw(random_leaves("c", K.INTEGER, list(texts)))
    _check(leaf, K.INTEGER, texts, str(min(values)), str(max(values)))


@settings(max_examples=400, deadline=None)
@given(values=st.lists(st.sampled_from(ODD_FLOATS), min_size=1, max_size=5), data=st.data())
def test_a_file_of_floats_that_holds_a_match_is_never_skipped(values: list[str], data: st.DataObject) -> None:
    """Bounds as writers make them that leave NaN out; a file of NaN alone has none."""
    numbers = [float(value) for value in values if value != "NaN"]
    leaf = data.draw(random_leaves("c", K.DOUBLE, list(values)))
    if numbers:
        _check(
            leaf, K.DOUBLE, values, *(str(bound).replace("inf", "Infinity") for bound in (min(numbers), max(numbers)))
        )


_texts = st.one_of(
    st.none(),
    _ascii,
    st.integers(-5, 20).map(str),
    st.sampled_from(["07", "+1", "-0", "9" * 19, str(NEW_YEAR_2024), "1704067200", "2024-01-01 00:00:00", "9" * 18]),
)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from([K.STRING, K.INTEGER, K.TIMESTAMP]),
    pairs=st.lists(st.tuples(_texts, _texts), min_size=1, max_size=8),
    data=st.data(),
)
def test_whole_arrays_are_decided_like_single_files(
    kind: ColumnKind, pairs: list[tuple[str | None, str | None]], data: st.DataObject
) -> None:
    near = [text for pair in pairs for text in pair if kind is not K.INTEGER or text in ("7", "-3")]
    leaf = data.draw(random_leaves("c", kind, near))
    lows, highs = (pa.chunked_array([pa.array(side, pa.string())]) for side in zip(*pairs, strict=True))
    found = decide(leaf, kind, lows, highs)
    test = statistics_test(leaf, kind)
    if found is not None:
        for (low, high), is_decided, may_match in zip(pairs, *(mask.tolist() for mask in found), strict=True):
            assert not is_decided or may_match == test(str(low), str(high))


def test_plain_integers_are_decided_as_whole_arrays() -> None:
    (leaf,) = leaves(parse_predicate("c = 5"))
    found = decide(leaf, K.INTEGER, pa.chunked_array([["1", "6", "x"]]), pa.chunked_array([["9", "9", "9"]]))
    assert found is not None
    assert [mask.tolist() for mask in found] == [[True, True, False], [True, False, True]]


@settings(max_examples=400, deadline=None)
@given(values=st.lists(st.sampled_from(ODD_SINGLES), min_size=1, max_size=5), data=st.data())
def test_a_file_of_32_bit_floats_that_holds_a_match_is_never_skipped(values: list[str], data: st.DataObject) -> None:
    """Bounds as the writers make them: few digits, or all. The column may be wider than the file's."""
    kind = data.draw(st.sampled_from([K.FLOAT, K.DOUBLE]))
    numbers = [np.float32(value) for value in values if value != "NaN"]
    leaf = data.draw(random_leaves("c", K.FLOAT, list(values)))
    if numbers:
        is_short = data.draw(st.booleans())
        spelled = [str(bound) if is_short else repr(float(bound)) for bound in (min(numbers), max(numbers))]
        bounds = [text.replace("inf", "Infinity") for text in spelled]
        if any(truth(leaf, {"c": text}, {"c": K.FLOAT}) for text in values):
            assert statistics_test(leaf, kind)(*bounds)


def _check(leaf: Leaf, kind: ColumnKind, texts: list[str], low: str, high: str) -> None:
    if any(truth(leaf, {"c": text}, {"c": kind}) for text in texts):
        assert statistics_test(leaf, kind)(low, high)
