"""Which manifests a predicate skips, by whose bounds."""

import pytest

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.text import parse_predicate
from headgate_schemas.predicates.tree import AlwaysFalse, AlwaysTrue
from headgate_table.indextables.format.bounds import Bounds
from headgate_table.indextables.manifests.pruning import may_contain

K = ColumnKind
MARKER = "__HIVE_DEFAULT_PARTITION__"
KINDS = {"n": K.INTEGER, "s": K.STRING, "d": K.DATE, "t": K.TIMESTAMP, "b": K.BOOLEAN, "f": K.DOUBLE, "m": K.DECIMAL}


Pair = tuple[str | None, str | None]


def kept(where: str, trusted: bool = False, **bounds: Pair) -> bool:
    by_column = {column: Bounds(*pair) for column, pair in bounds.items()}
    return may_contain(parse_predicate(where), by_column, KINDS, trusted)


@pytest.mark.parametrize(
    ("where", "untrusted", "trusted"),
    [
        ("n = 12", True, False),  # in text order "1".."9" holds "12"
        ("n = 95", False, False),  # "95" sorts after "9" as well
        ("n = 5", True, True),
        ("n = 0", False, False),
        ("n = -1", False, False),
        ("n > 9", True, False),
        ("n >= 9", True, True),
        ("n < 1", True, False),
        ("n IN (12, 3)", True, True),
        ("n IN (0, -4)", False, False),
        ("n IN ()", False, False),
        ("NOT n = 5", True, True),
        ("n IS NULL", True, True),
        ("n IS NOT NULL", True, True),
        ("n = 5.5", True, True),
        ("other = 5", True, True),
    ],
)
def test_integers_from_1_to_9(where: str, untrusted: bool, trusted: bool) -> None:
    assert kept(where, n=("1", "9")) is untrusted
    assert kept(where, trusted=True, n=("1", "9")) is trusted


@pytest.mark.parametrize("trusted", [False, True])
@pytest.mark.parametrize(
    "where", ["f = 'NaN'", "f < 'NaN'", "f <= 'NaN'", "f >= 'NaN'", "f <> 'NaN'", "f IN ('NaN', 2)"]
)
def test_bounds_of_numbers_say_nothing_about_nan(where: str, trusted: bool) -> None:
    assert kept(where, trusted=trusted, f=("7", "7"))
    assert kept(where, trusted=trusted, f=("7", "9"))


@pytest.mark.spec("testPruneByEqualityFilter")
@pytest.mark.parametrize(
    ("where", "bounds", "expected"),
    [
        ("s = 'eu'", ("ap", "us"), True),
        ("s = 'zz'", ("ap", "us"), False),
        ("s = '5'", ("ap", "us"), False),
        ("s = 'a:b'", ("a%3Aa", "a%3Ac"), True),
        ("s = 'a:b'", ("a:a", "a:c"), True),
        ("s <> 'eu'", ("eu", "eu"), False),
        ("s <> 'eu'", ("ap", "us"), True),
        ("s <> 'eu'", ("eu", "us"), True),
        ("s LIKE 'a:%'", ("a%3Aa", "a%3Ac"), True),
        ("s NOT IN ('eu', 'us')", ("eu", "eu"), False),
    ],
)
def test_equality_of_strings_skips_what_is_outside(where: str, bounds: tuple[str, str], expected: bool) -> None:
    assert kept(where, s=bounds) is expected


@pytest.mark.spec("testPruneByEqualityFilter")
def test_equality_of_dates_skips_what_is_outside() -> None:
    assert kept("d = DATE '2024-01-05'", d=("2024-01-01", "2024-01-31"))
    assert not kept("d = DATE '2024-02-05'", d=("2024-01-01", "2024-01-31"))


@pytest.mark.spec("testPruneByRangeFilter")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("d > DATE '2024-01-31'", False),
        ("d >= DATE '2024-01-31'", True),
        ("d < DATE '2024-01-01'", False),
        ("d <= DATE '2024-01-01'", True),
        ("d BETWEEN '2023-12-01' AND '2023-12-31'", False),
        ("d BETWEEN '2023-12-01' AND '2024-01-01'", True),
        ("d LIKE '2024-02%'", False),
        ("d LIKE '2024%'", True),
        ("d NOT LIKE '2024-01%'", False),
    ],
)
def test_ranges_of_dates_skip_what_does_not_overlap(where: str, expected: bool) -> None:
    assert kept(where, d=("2024-01-01", "2024-01-31")) is expected


@pytest.mark.spec("testPruneByRangeFilter")
def test_ranges_of_strings_skip_what_does_not_overlap() -> None:
    assert kept("s > 'eu'", s=("ap", "us"))
    assert not kept("s > 'v'", s=("ap", "us"))
    assert not kept("s < 'ap'", s=("ap", "us"))


def test_a_range_keeps_bounds_between_which_an_escaped_text_may_mean_more() -> None:
    # "a%3Ab" stands for "a:b", which is above "a6"
    assert kept("s > 'a6'", s=("a", "a5"))


@pytest.mark.spec("testPruneByInFilter")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("s IN ('aa', 'zz')", False),
        ("s IN ('aa', 'eu')", True),
        ("d IN ('2023-01-01', '2025-01-01')", False),
        ("d IN ('2023-01-01', '2024-01-02')", True),
    ],
)
def test_a_list_skips_what_holds_none_of_it(where: str, expected: bool) -> None:
    assert kept(where, s=("ap", "us"), d=("2024-01-01", "2024-01-31")) is expected


@pytest.mark.spec("testPruneByAndFilter")
def test_and_skips_if_one_side_does() -> None:
    s, d = ("ap", "us"), ("2024-01-01", "2024-01-31")
    assert not kept("s = 'eu' AND d = '2025-01-01'", s=s, d=d)
    assert kept("s = 'eu' AND d = '2024-01-02'", s=s, d=d)


@pytest.mark.spec("testPruneByOrFilter")
def test_or_skips_only_if_both_sides_do() -> None:
    s, d = ("ap", "us"), ("2024-01-01", "2024-01-31")
    assert kept("s = 'eu' OR d = '2025-01-01'", s=s, d=d)
    assert not kept("s = 'zz' OR d = '2025-01-01'", s=s, d=d)


def test_not_goes_through_and_and_or() -> None:
    assert not kept("NOT (s <> 'zz' OR d IS NULL)", s=("ap", "us"))


@pytest.mark.spec("testNoPruningWithoutBounds")
@pytest.mark.parametrize("bounds", [(None, None), ("a", None), (None, "a")])
def test_null_bounds_skip_nothing(bounds: tuple[str | None, str | None]) -> None:
    assert kept("s = 'zz'", s=bounds)
    assert kept("s IS NOT NULL", s=bounds)


@pytest.mark.spec("testNoPruningWithoutBounds")
def test_a_manifest_without_bounds_is_kept() -> None:
    assert may_contain(parse_predicate("s = 'zz'"), None, KINDS, trusted_numeric=True)


@pytest.mark.spec("testNoPruningForUnknownColumn")
def test_a_column_without_bounds_skips_nothing() -> None:
    assert kept("other = 'zz' AND n = 5", n=("1", "9"))


@pytest.mark.spec("testNoPruningForUnknownColumn")
def test_a_column_of_unknown_kind_skips_nothing() -> None:
    assert kept("other = 'zz'", other=("a", "b"))


@pytest.mark.spec("testMixedBoundsAndNoBounds")
def test_of_manifests_with_and_without_bounds_only_the_former_are_skipped() -> None:
    manifests = [{"s": Bounds("a", "c")}, None, {}, {"s": Bounds("x", "z")}, {"s": Bounds(None, None)}]
    predicate = parse_predicate("s = 'b'")
    assert [may_contain(predicate, each, KINDS, False) for each in manifests] == [True, True, True, False, True]


def test_constants_decide_alone() -> None:
    assert may_contain(AlwaysTrue(), {"s": Bounds("a", "b")}, KINDS, False)
    assert not may_contain(AlwaysFalse(), {"s": Bounds("a", "b")}, KINDS, False)


def test_months_in_text_order_keep_all_their_months() -> None:
    # what 0.4.5 to 0.5.1 wrote for months 1 to 12
    assert all(kept(f"n = {month}", n=("1", "9")) for month in range(1, 13))
    assert kept("n > 9", n=("1", "9"))


def test_months_in_number_order_keep_all_their_months() -> None:
    assert all(kept(f"n = {month}", n=("1", "12")) for month in range(1, 13))


def test_bounds_that_only_text_order_explains_are_read_as_texts() -> None:
    # months 9 to 12, from a writer of texts
    assert all(kept(f"n = {month}", n=("10", "9")) for month in range(9, 13))
    assert not kept("n = 0", n=("10", "9"))


def test_one_text_for_all_entries_decides_ranges_of_numbers() -> None:
    assert not kept("n > 5", n=("5", "5"))
    assert kept("n >= 5", n=("5", "5"))
    assert not kept("n <> 5", n=("5", "5"))


@pytest.mark.parametrize(
    ("where", "bounds"),
    [
        ("n = 7", ("+07", "+08")),
        ("n = 7", ("006", "008")),
        ("n = -7", ("-06", "-08")),
        ("n = 0", ("+00", "+01")),
        ("n = 0", ("-00", "-01")),
    ],
)
def test_an_unusual_spelling_of_an_integer_is_found_in_text_order(where: str, bounds: Pair) -> None:
    assert kept(where, n=bounds)


@pytest.mark.parametrize("bounds", [("x", "y"), ("1", "1.5"), ("1_0", "2_0"), ("9223372036854775808", "9"), ("", "x")])
def test_bounds_that_are_no_integers_skip_nothing(bounds: tuple[str, str]) -> None:
    assert kept("n = 5", trusted=True, n=bounds)


def test_trusted_bounds_upside_down_skip_nothing() -> None:
    assert kept("n = 50", trusted=True, n=("9", "1"))


def test_a_marker_leaves_integers_open_upwards() -> None:
    assert kept("n > 100", trusted=True, n=("5", MARKER))
    assert not kept("n < 5", trusted=True, n=("5", MARKER))


def test_an_empty_text_leaves_integers_open_downwards() -> None:
    assert kept("n < 5", trusted=True, n=("", "9"))
    assert not kept("n > 9", trusted=True, n=("", "9"))


@pytest.mark.parametrize("column", ["f", "m"])
def test_fractions_skip_only_if_the_writer_is_known(column: str) -> None:
    predicate = parse_predicate(f"{column} = 11")
    bounds = {column: Bounds("1.5", "10.5")}
    assert may_contain(predicate, bounds, KINDS, trusted_numeric=False)
    assert not may_contain(predicate, bounds, KINDS, trusted_numeric=True)


def test_nan_may_be_above_the_bounds_of_floats() -> None:
    assert kept("f > 11", trusted=True, f=("1.5", "10.5"))
    assert not kept("m > 11", trusted=True, m=("1.5", "10.5"))


def test_decimals_that_are_equal_as_doubles_are_not_told_apart() -> None:
    assert kept("m = 9007199254740992", trusted=True, m=("9007199254740993.0", "9007199254740993.0"))


def test_times_are_skipped_by_whole_days_with_a_day_to_spare() -> None:
    bounds = ("2024-01-10 10%3A00%3A00", "2024-01-11 10:00:00")
    assert kept("t = TIMESTAMP '2024-01-09 23:00:00'", t=bounds)
    assert not kept("t = TIMESTAMP '2024-01-08 23:00:00'", t=bounds)
    assert not kept("t > TIMESTAMP '2024-01-13 00:00:00'", t=bounds)
    assert not kept("t < TIMESTAMP '2024-01-08 00:00:00'", t=bounds)


def test_booleans_are_skipped_if_all_are_the_other_one() -> None:
    assert not kept("b = TRUE", b=("false", "false"))
    assert kept("b = TRUE", b=("false", "true"))


@pytest.mark.parametrize(
    "texts", [("10", "9", "1a"), ("10", "1a", "9f", "2b", "20"), ("10", "5a", "9", "7z"), ("9", "12")]
)
def test_strings_below_letters_are_kept_as_numbers_may_hide_among_them(texts: tuple[str, ...]) -> None:
    for low in texts:
        for high in texts:
            assert all(kept(f"s = '{text}'", s=(low, high)) for text in texts)


@pytest.mark.parametrize(
    ("where", "bounds", "expected"),
    [
        ("s = '2024-02-01'", ("2024-01-01", "2024-01-31"), False),
        ("s > '2024-02-01'", ("2024-01-01", MARKER), True),
        ("s < '2024-01-01'", ("2024-01-01", MARKER), False),
        ("s = '2025'", ("2023", "2024"), False),
        ("s = '2024'", ("2023", "2024"), True),
        ("s > '2025'", ("2023", "2024"), True),
        ("s = '25'", ("2023", "2024"), True),
        ("s LIKE '2024-02%'", ("2024-01-01", "2024-01-31"), False),
    ],
)
def test_strings_that_are_calendar_dates_are_in_text_order(where: str, bounds: tuple[str, str], expected: bool) -> None:
    assert kept(where, s=bounds) is expected


def test_prefixes_skip_what_starts_otherwise() -> None:
    assert not kept("s LIKE 'v%'", s=("ap", "us"))
    assert kept("s LIKE 'u%'", s=("ap", "us"))
    assert not kept("s NOT LIKE 'us%'", s=("us-a", "us-b"))


def test_a_value_that_utf_16_sorts_elsewhere_skips_nothing() -> None:
    assert kept("s = '\U0001f600'", s=("a", "\uffff"))
