"""SQL text in, predicate out, and back; every refusal points at its place."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.text import MAX_PREDICATE_LENGTH, check_columns, format_predicate, parse_predicate
from headgate_schemas.predicates.tree import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    between,
)
from support.pruning.strategies import any_predicates

A1, B2 = Comparison("a", Op.EQ, 1), Comparison("b", Op.EQ, 2)


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("a = 1", A1),
        ("a == 1", A1),
        ("1 = a", A1),
        ("(a) = (1)", A1),
        ("a <> 1", Comparison("a", Op.NE, 1)),
        ("a != 1", Comparison("a", Op.NE, 1)),
        ("1 < a", Comparison("a", Op.GT, 1)),
        ("1 >= a", Comparison("a", Op.LE, 1)),
        ("a <=> 1", And((IsNotNull("a"), A1))),
        ("a <=> NULL", IsNull("a")),
        ("a IN (1, 'x')", In("a", (1, "x"))),
        ("a NOT IN (1)", NotIn("a", (1,))),
        ("NOT (a IN (1))", Not(In("a", (1,)))),
        ("a IN ()", AlwaysFalse()),
        ("a NOT IN ()", AlwaysTrue()),
        ("a BETWEEN 1 AND 2", between("a", 1, 2)),
        ("a NOT BETWEEN 1 AND 2", Not(between("a", 1, 2))),
        ("a IS NULL", IsNull("a")),
        ("a IS NOT NULL", IsNotNull("a")),
        ("a = 1 OR a = 1 AND b = 2", Or((A1, And((A1, B2))))),
        ("(a = 1 OR b = 2) AND NOT a = 1", And((Or((A1, B2)), Not(A1)))),
        ("a LIKE 'x%'", StartsWith("a", "x")),
        ("a LIKE '%'", StartsWith("a", "")),
        ("a LIKE 'x'", Comparison("a", Op.EQ, "x")),
        ("a NOT LIKE 'x%'", NotStartsWith("a", "x")),
        ("a NOT LIKE 'x'", Comparison("a", Op.NE, "x")),
        (r"a LIKE '10\%%'", StartsWith("a", "10%")),
        (r"a LIKE 'a\_b'", Comparison("a", Op.EQ, "a_b")),
        ("a LIKE '10!%%' ESCAPE '!'", StartsWith("a", "10%")),
        ("TRUE", AlwaysTrue()),
        ("false", AlwaysFalse()),
        ("`a b` = 1", Comparison("a b", Op.EQ, 1)),
        ("`a.b``c` = 1", Comparison("a.b`c", Op.EQ, 1)),
        ("date = 1 AND timestamp = 1", And((Comparison("date", Op.EQ, 1), Comparison("timestamp", Op.EQ, 1)))),
        ("case = 1 AND order = 1", And((Comparison("case", Op.EQ, 1), Comparison("order", Op.EQ, 1)))),
        ("a = 1 -- the first", A1),
    ],
)
def test_a_text_means_this_predicate(text: str, predicate: Predicate) -> None:
    assert parse_predicate(text) == predicate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-5", -5),
        ("+5", 5),
        ("5L", 5),
        ("2.50", Decimal("2.50")),
        (".5", Decimal("0.5")),
        ("-2.5BD", Decimal("-2.5")),
        ("2.5D", 2.5),
        ("1e3", 1000.0),
        ("TRUE", True),
        ("'it\\'s'", "it's"),
        ('"it\'s"', "it's"),
        ("''", ""),
        ("DATE '2024-02-29'", date(2024, 2, 29)),
        ("TIMESTAMP '2024-02-29 10:00'", datetime(2024, 2, 29, 10)),  # noqa: DTZ001  # no zone in the text
        ("TIMESTAMP '2024-02-29T10:00:00.25+02:00'", datetime(2024, 2, 29, 8, 0, 0, 250_000, tzinfo=UTC)),
    ],
)
def test_a_literal_means_this_value(text: str, value: Literal) -> None:
    assert parse_predicate(f"a = {text}") == Comparison("a", Op.EQ, value)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("a = 1 AND lower(b) = 'x'", "lower", "functions"),
        ("a IN (SELECT 1)", "1)", "missing"),
        ("a = 1 AND b = c", "c", "another column"),
        ("a = 1 b = 2", "b", "missing before"),
        ("a = 1; b = 2", ";", "can't be used"),
        ("a = 1 AND b = 'x", "'x", "never closed"),
        ("a = `b", "`b", "never closed"),
        ("a = /* b", "/*", "never closed"),
        ("(a = 1", "(", "never closed"),
        ("a = 1)", ")", "closes nothing"),
        ("a = 1 AND", "AND", "complete"),
        ("a.b = 1", ".", "backquotes"),
        ("a = 'it''s'", "'s'", "two strings"),
        ("a = 1 AND flag", "flag", "flag = TRUE"),
        ("1 = 2", "1", "column's name"),
        ("a = 1 AND b = NULL", "b", "IS NULL"),
        ("a = 1 AND b IS TRUE", "b", "IS goes with"),
        ("a LIKE '%x'", "'%x'", "LIKE 'prefix%'"),
        ("a LIKE 'x_'", "'x_'", "LIKE 'prefix%'"),
        ("a LIKE 'x%y'", "'x%y'", "LIKE 'prefix%'"),
        (r"a LIKE 'x\y%' ESCAPE 'xx'", "'xx'", "one character"),
        ("a LIKE 5", "5", "in quotes"),
        ("a RLIKE 'x'", "RLIKE", "missing before"),
        ("d = DATE '2024-02-30'", "'2024-02-30'", "no date"),
        ("d = TIMESTAMP 'noon'", "'noon'", "no time"),
        ("a = X'1F'", "X'1F'", "kind of literal"),
        ("a = ?", "?", "can't be used"),
        ("a = 1::bigint", "::", "can't be used"),
        ("a = - 'x'", "'x'", "minus"),
        ("a IN 5", "a", "list of values"),
        ("CASE WHEN a = 1 THEN TRUE END", "WHEN", "missing before"),
        ("`` = 1", "``", "missing between"),
    ],
)
def test_a_refusal_points_at_the_place(text: str, place: str, hint: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse_predicate(text)
    assert hint in str(caught.value)
    assert caught.value.position == text.index(place)


def test_a_refusal_shows_a_long_text_around_the_place_on_one_line() -> None:
    text = "a = 1\nAND " * 1000 + "b = c"
    with pytest.raises(PredicateError) as caught:
        parse_predicate(text)
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^") :] == "c"
    assert len(shown) < 120


@pytest.mark.parametrize("text", ["", "   ", "-- nothing"])
def test_an_empty_text_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(PredicateError, match="empty; a predicate compares columns"):
        parse_predicate(text)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 60_000,
        "(" * 30 + "a = 1" + ")" * 30,
        "NOT " * 15_000 + "a = 1",
        "a = " + "- " * 30_000 + "1",
        "a = NOT " * 8_000,
    ],
)
def test_hostile_nesting_is_refused_before_the_parser_runs(text: str) -> None:
    with pytest.raises(PredicateError, match="nests deeper than 24 levels"):
        parse_predicate(text)


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(PredicateError, match="65536 are allowed"):
        parse_predicate("a" * (MAX_PREDICATE_LENGTH + 1))


@pytest.mark.parametrize("number", ["1e999", "9" * 401, "0." + "1" * 500])
def test_a_number_beyond_all_columns_is_refused(number: str) -> None:
    with pytest.raises(PredicateError):
        parse_predicate(f"a = {number}")


def test_thousands_of_conditions_side_by_side_are_fine() -> None:
    predicate = parse_predicate(" AND ".join(["a = 1"] * 5000))
    assert predicate == And((A1,) * 5000)


@settings(max_examples=150, deadline=None)
@given(any_predicates)
@example(Comparison("a`b", Op.EQ, "\\'\n\x00"))
@example(StartsWith("select", "100%\\_"))
@example(Comparison("a", Op.EQ, 1e-300))
@example(Comparison("a", Op.EQ, Decimal("-2.9577142465048660566712387833E-21")))
@example(And((Or((A1, B2)), Not(Not(And((A1, B2)))))))
def test_every_predicate_survives_its_own_text(predicate: Predicate) -> None:
    assert parse_predicate(format_predicate(predicate)) == predicate


_fragments = st.sampled_from(
    [
        "a",
        "b",
        "`c`",
        "'x'",
        "'%'",
        "1",
        "-",
        "+",
        ".5",
        "5L",
        "(",
        ")",
        ",",
        "=",
        "<>",
        "<=>",
        "<",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS",
        "NULL",
        "LIKE",
        "ESCAPE",
        "TRUE",
        "DATE",
        "'2024-01-01'",
        "CASE",
        "WHEN",
        "INTERVAL",
        "SELECT",
        "EXISTS",
        "ANY",
        "ARRAY",
        "CAST",
        ".",
        ";",
        "?",
        ":",
        "::",
        "[",
        "]",
        "{",
        "@",
        "||",
        "/",
        "*",
        "FROM",
        "!",
        "~",
        "->",
        "/*",
        "--",
        "DISTINCT",
        "OVER",
        "\\",
        "'",
        '"',
        "`",
    ]
)


@settings(max_examples=250, deadline=None)
@given(st.one_of(st.lists(_fragments, max_size=10).map(" ".join), st.text(max_size=30)))
def test_any_text_is_a_predicate_or_a_predicate_error(text: str) -> None:
    try:
        predicate = parse_predicate(text)
    except PredicateError:
        return
    assert parse_predicate(format_predicate(predicate)) == predicate


def test_an_unknown_column_is_refused_with_the_nearest_name() -> None:
    text = "date = 1 AND regoin = 'eu'"
    with pytest.raises(PredicateError, match="did you mean 'region'") as caught:
        check_columns(parse_predicate(text), text, ["date", "region", "id"])
    assert caught.value.position == text.index("regoin")


def test_a_column_in_other_case_is_refused_with_its_name() -> None:
    with pytest.raises(PredicateError, match="did you mean 'Region'"):
        check_columns(parse_predicate("region = 1"), "region = 1", ["Region"])


def test_an_unknown_column_like_no_other_is_refused_with_the_known_names() -> None:
    with pytest.raises(PredicateError, match="known are: date, id"):
        check_columns(parse_predicate("zzz = 1"), "zzz = 1", ["id", "date"])


def test_known_columns_pass() -> None:
    check_columns(parse_predicate("a = 1"), "a = 1", ["a", "b"])
