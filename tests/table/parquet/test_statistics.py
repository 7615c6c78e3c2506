"""Shortened and limited bounds: what is cut, what stays, and that no reader ever skips a file wrongly by them."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import InvalidInput
from headgate_table.parquet.statistics import limit_columns, may_be_number, text_bounds, truncate_statistics


def _add(lower: dict[str, str] | None, upper: dict[str, str] | None, **partition: str) -> AddFile:
    return AddFile("a", partition, 1, 2, min_values=lower, max_values=upper)


def test_a_long_lower_bound_becomes_its_beginning_and_an_upper_one_is_raised() -> None:
    result = truncate_statistics(_add({"t": "a" * 40}, {"t": "b" * 40}), ())
    assert result.min_values == {"t": "a" * 32}
    assert result.max_values == {"t": "b" * 31 + "c"}


def test_a_bound_of_exactly_the_length_stays() -> None:
    add = _add({"t": "a" * 32}, {"t": "b" * 32})
    assert truncate_statistics(add, ()) is add


def test_partition_columns_are_never_shortened() -> None:
    add = _add({"p": "a" * 40}, {"p": "b" * 40})
    assert truncate_statistics(add, ["p"]) == add


def test_truncation_can_be_turned_off() -> None:
    add = _add({"t": "a" * 40}, {"t": "b" * 40})
    assert truncate_statistics(add, (), enabled=False) is add


def test_the_length_can_be_set() -> None:
    result = truncate_statistics(_add({"t": "abcdef"}, {"t": "uvwxyz"}), (), max_length=3)
    assert (result.min_values, result.max_values) == ({"t": "abc"}, {"t": "uvx"})


def test_a_length_below_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="maxLength is 0"):
        truncate_statistics(_add(None, None), (), max_length=0)


def test_an_upper_bound_without_a_successor_takes_both_bounds_with_it() -> None:
    add = _add({"t": "a", "u": "x"}, {"t": "\U0010ffff" * 40, "u": "y"})
    result = truncate_statistics(add, ())
    assert (result.min_values, result.max_values) == ({"u": "x"}, {"u": "y"})


def test_bounds_that_lost_every_column_are_absent() -> None:
    result = truncate_statistics(_add({"t": "a"}, {"t": "\uffff" * 40}), ())
    assert (result.min_values, result.max_values) == (None, None)


def test_a_lone_bound_is_shortened_alone() -> None:
    result = truncate_statistics(_add(None, {"t": "b" * 40}), ())
    assert (result.min_values, result.max_values) == (None, {"t": "b" * 31 + "c"})


def test_a_long_number_is_kept_whole() -> None:
    number = "-12345678901234567890.123456789012345678"
    add = _add({"d": number}, {"d": "0"})
    assert truncate_statistics(add, ()) == add


def test_a_text_that_would_become_a_number_loses_its_bounds() -> None:
    add = _add({"t": "1" * 32 + "x"}, {"t": "z"})
    assert truncate_statistics(add, ()).min_values is None


def test_a_number_of_absurd_length_loses_its_bounds() -> None:
    add = _add({"t": "1"}, {"t": "9" * 1000})
    assert truncate_statistics(add, ()).max_values is None


@pytest.mark.parametrize(
    "text",
    ["1", "-1", "+5", "01", "1.5", ".5", "5.", "1e5", "1E-5", "1d", "2.5F", " 5", "5\t", "NaN", "nan", "inf", "-Infinity", "0x1p3", "٣"],
)  # fmt: skip
def test_whatever_some_reader_takes_for_a_number_is_recognised(text: str) -> None:
    assert may_be_number(text)


@pytest.mark.parametrize("text", ["", "a", "1a", "1 2", "2024-01-01", "e5", "-", ".", "0x10", "infinite", "1_0"])
def test_what_no_reader_takes_for_a_number_is_a_text(text: str) -> None:
    assert not may_be_number(text)


# ---- soundness


def _code_points(text: str) -> bytes:
    return text.encode("utf-32-be")


def _utf16_units(text: str) -> bytes:
    return text.encode("utf-16-be")


_ORDERS = [_code_points, _utf16_units]
_alphabet = st.sampled_from("aab\ud7ff\ue000\uffff\U00010000\U0010ffffé1 ")
_texts = st.text(
    _alphabet.filter(str.isprintable) | st.sampled_from("a\ud7ff\ue000\uffff\U00010000\U0010ffff"), max_size=7
)


def _naively_kept(lower: str | None, upper: str | None, literal: str, order: Callable[[str], bytes]) -> set[str]:
    """The operators for which a reader that compares plain texts keeps a file with these bounds."""
    low, high, wanted = order(lower or ""), None if upper is None else order(upper), order(literal)
    kept = {
        "=": low <= wanted and (high is None or wanted <= high),
        "<": lower is None or low < wanted,
        "<=": lower is None or low <= wanted,
        ">": high is None or high > wanted,
        ">=": high is None or high >= wanted,
    }
    return {operator for operator, keep in kept.items() if keep}


def _matching(values: list[str], literal: str, order: Callable[[str], bytes]) -> set[str]:
    wanted = order(literal)
    keys = [order(value) for value in values]
    return {
        operator
        for operator, matches in {
            "=": any(key == wanted for key in keys),
            "<": any(key < wanted for key in keys),
            "<=": any(key <= wanted for key in keys),
            ">": any(key > wanted for key in keys),
            ">=": any(key >= wanted for key in keys),
        }.items()
        if matches
    }


@pytest.mark.parametrize("order", _ORDERS)
@given(values=st.lists(_texts, min_size=1, max_size=5), literal=_texts, length=st.integers(1, 3))
@example(values=["aaa\U0010ffff"], literal="aaa\U0010ffff", length=3)
@example(values=["\ud7ff\uffffb"], literal="\ud7ff\uffffa", length=2)
def test_shortened_bounds_never_lose_a_file_to_a_reader_of_their_own_order(
    order: Callable[[str], bytes], values: list[str], literal: str, length: int
) -> None:
    add = _add({"t": min(values, key=order)}, {"t": max(values, key=order)})
    result = truncate_statistics(add, (), max_length=length)
    lower, upper = (result.min_values or {}).get("t"), (result.max_values or {}).get("t")
    assert _matching(values, literal, order) <= _naively_kept(lower, upper, literal, order)


@pytest.mark.parametrize("order", _ORDERS)
@given(values=st.lists(_texts, min_size=1, max_size=5), literal=_texts, length=st.integers(1, 4))
def test_bounds_of_texts_never_lose_a_file_to_a_reader_of_either_order(
    order: Callable[[str], bytes], values: list[str], literal: str, length: int
) -> None:
    bounds = text_bounds(min(values, key=_code_points), max(values, key=_code_points), length)
    lower, upper = bounds if bounds else (None, None)
    assert _matching(values, literal, order) <= _naively_kept(lower, upper, literal, order)


@given(st.lists(_texts, min_size=1, max_size=5), st.integers(1, 4))
def test_bounds_of_texts_never_look_like_numbers_and_keep_the_length(values: list[str], length: int) -> None:
    bounds = text_bounds(min(values), max(values), length)
    if bounds is not None:
        assert not any(may_be_number(bound) for bound in bounds)
        assert max(map(len, bounds)) <= length


def test_ordinary_texts_get_their_own_bounds() -> None:
    assert text_bounds("apple", "zebra") == ("apple", "zebra")


def test_a_bound_stops_before_a_character_that_readers_order_differently() -> None:
    assert text_bounds("ab\ue000c", "xy\U0001f600z") == ("ab", "xz")


@pytest.mark.parametrize(("low", "high"), [("10", "abc"), ("abc", "nan"), ("1" * 40 + "x", "z")])
def test_texts_that_readers_could_take_for_numbers_have_no_bounds(low: str, high: str) -> None:
    assert text_bounds(low, high) is None


# ---- the first columns


def test_only_the_first_columns_keep_bounds() -> None:
    add = _add({"a": "1", "b": "1", "c": "1"}, {"a": "2", "b": "2", "c": "2"})
    result = limit_columns(add, ["c", "a", "b"], 2)
    assert (result.min_values, result.max_values) == ({"a": "1", "c": "1"}, {"a": "2", "c": "2"})


def test_thirty_two_columns_are_the_default() -> None:
    columns = [f"c{number}" for number in range(40)]
    add = _add(dict.fromkeys(columns, "1"), dict.fromkeys(columns, "2"))
    assert list(limit_columns(add, columns).min_values or ()) == columns[:32]


def test_bounds_of_partition_columns_stay() -> None:
    add = _add({"a": "1", "p": "1"}, {"a": "2", "p": "1"}, p="1")
    assert limit_columns(add, ["a", "p"], 0).min_values == {"p": "1"}


@pytest.mark.parametrize(("columns", "limit"), [(["x"], -1), ([], 32)])
def test_no_limit_and_no_schema_keep_every_bound(columns: list[str], limit: int) -> None:
    add = _add({"a": "1"}, {"a": "2"})
    assert limit_columns(add, columns, limit) is add


def test_bounds_of_columns_that_the_schema_doesnt_have_are_dropped() -> None:
    result = limit_columns(_add({"s.x": "1"}, {"s.x": "2"}), ["s"])
    assert (result.min_values, result.max_values) == (None, None)


def test_a_file_without_bounds_is_handed_through() -> None:
    add = _add(None, None)
    assert limit_columns(add, ["a"]) is add
    assert truncate_statistics(add, ()) is add
