"""What stored partition texts mean for a predicate: nulls, escapes, kinds of columns and of literals."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import ColumnKind, column_kind
from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.partition_text import (
    covering,
    escape_partition_text,
    meaning,
    spellings,
    stored_text,
    stored_value,
    unescape_partition_text,
)
from headgate_schemas.predicates.text import parse_predicate

K = ColumnKind
MARKER = "__HIVE_DEFAULT_PARTITION__"


def is_true(where: str, stored: str | None, kind: ColumnKind) -> bool:
    return covering(parse_predicate(where), {"p": kind})({} if stored is None else {"p": stored})


@pytest.mark.parametrize("kind", [kind for kind in ColumnKind if kind is not K.OTHER])
@pytest.mark.parametrize("stored", [None, "", MARKER])
def test_a_missing_an_empty_and_a_marked_value_are_null(stored: str | None, kind: ColumnKind) -> None:
    assert (is_true("p IS NULL", stored, kind), is_true("p IS NOT NULL", stored, kind)) == (True, False)


@pytest.mark.parametrize(
    "where", ["p = 'x'", "p <> 'x'", "p NOT IN ('x')", "NOT p LIKE 'x%'", "p <= 'x'", f"p = '{MARKER}'"]
)
def test_no_comparison_is_true_for_null(where: str) -> None:
    assert not is_true(where, MARKER, K.STRING)


def test_the_null_safe_comparison_is_false_for_null_so_that_its_negation_is_true() -> None:
    assert is_true("NOT p <=> 'x'", MARKER, K.STRING)


@pytest.mark.parametrize(
    ("where", "stored", "kind", "expected"),
    [
        ("p = 1", "1", K.INTEGER, True),
        ("p = 1", "01", K.INTEGER, True),
        ("p = 1", "+1", K.INTEGER, True),
        ("p = '1'", "1", K.INTEGER, True),
        ("p > 9", "10", K.INTEGER, True),
        ("p = 1000", "1_000", K.INTEGER, False),
        ("p = 1", " 1", K.INTEGER, False),
        ("p = 1", "\u0661", K.INTEGER, False),
        ("p IS NULL", "1_000", K.INTEGER, True),
        ("p IS NULL", "9223372036854775808", K.INTEGER, True),
        ("p < 2.5", "2", K.INTEGER, True),
        ("p = 2.5", "2", K.INTEGER, False),
        ("p = 1.5", "1.50", K.DECIMAL, True),
        ("p = 9007199254740993", "9007199254740992", K.DECIMAL, False),
        ("p = 0.1", "0.1", K.DOUBLE, True),
        ("p = 1000", "1.0E3", K.DOUBLE, True),
        ("p > 1e300", "NaN", K.DOUBLE, True),
        ("p <> 5", "NaN", K.DOUBLE, True),
        ("p = 0", "-0.0", K.DOUBLE, True),
        ("p < 0", "-Infinity", K.DOUBLE, True),
        ("p IS NULL", "1d", K.DOUBLE, True),
        ("p = TRUE", "true", K.BOOLEAN, True),
        ("p = 'false'", "False", K.BOOLEAN, True),
        ("p < TRUE", "false", K.BOOLEAN, True),
        ("p >= DATE '2024-01-02'", "2024-01-10", K.DATE, True),
        ("p = '2024-01-02'", "2024-01-02", K.DATE, True),
        ("p LIKE '2024-01%'", "2024-01-02", K.DATE, True),
        ("p = TIMESTAMP '2024-01-01 10:00:00'", "2024-01-01 10%3A00%3A00", K.TIMESTAMP, True),
        ("p = TIMESTAMP '2024-01-01 10:00:00'", "2024-01-01%2010%3A00%3A00", K.TIMESTAMP, True),
        ("p = TIMESTAMP '2024-01-01 10:00:00'", "2024-01-01T10:00:00.000000Z", K.TIMESTAMP, True),
        ("p < TIMESTAMP '2024-01-01 10:00:00.5'", "2024-01-01 10:00:00", K.TIMESTAMP, True),
        ("p = DATE '2024-01-01'", "2024-01-01 00:00:00", K.TIMESTAMP, True),
        ("p = TIMESTAMP '2024-01-01 10:00:00+02:00'", "2024-01-01 08:00:00", K.TIMESTAMP, True),
        ("p = 'a:b'", "a:b", K.STRING, True),
        ("p = 'a:b'", "a%3Ab", K.STRING, True),
        ("p = 'a%3Ab'", "a%3Ab", K.STRING, False),
        ("p <> 'a%3Ab'", "a%3Ab", K.STRING, True),
        ("p IN ('a%3Ab')", "a%3Ab", K.STRING, False),
        ("p LIKE 'a!%3%' ESCAPE '!'", "a%3Ab", K.STRING, False),
        ("p NOT LIKE 'a!%3%' ESCAPE '!'", "a%3Ab", K.STRING, True),
        ("p = 'a%3Ab'", "a%253Ab", K.STRING, True),
        ("p = 'a%253Ab'", "a%253Ab", K.STRING, False),
        ("p <> 'a:b'", "a%3Ab", K.STRING, False),
        ("p IN ('x', 'a b')", "a%20b", K.STRING, True),
        ("p LIKE 'a:%'", "a%3Ab", K.STRING, True),
        ("p NOT LIKE 'a:%'", "a%3Ab", K.STRING, False),
        ("p > 'a5'", "a%3Ab", K.STRING, True),
        ("p >= 'a:b' AND p <= 'a:b'", "a%3Ab", K.STRING, True),
        ("p = '100%'", "100%", K.STRING, True),
        ("p = '100%'", "100%25", K.STRING, True),
        ("p = 'a:b'", "a%3ab", K.STRING, False),
        ("p = '1'", "01", K.STRING, False),
        ("p > '9'", "10", K.STRING, False),
        ("p > '\uffff'", "\U0001f600", K.STRING, True),
    ],
)
def test_a_condition_on_a_stored_text(where: str, stored: str, kind: ColumnKind, expected: bool) -> None:
    assert is_true(where, stored, kind) is expected


@pytest.mark.parametrize(
    ("where", "kind", "hint"),
    [
        ("p = 5", K.DATE, "is a date, which can't be compared with 5; write a date"),
        ("p = 'soon'", K.DATE, "is a date"),
        ("p = TIMESTAMP '2024-01-01 10:00:00'", K.DATE, "is a date"),
        ("p = 5", K.STRING, "is a string, which can't be compared with 5; put the value in quotes"),
        ("p = 'x'", K.INTEGER, "is an integer"),
        ("p = TRUE", K.INTEGER, "is an integer"),
        ("p IN (1, 'x')", K.DECIMAL, "is a decimal"),
        ("p = 'x'", K.DOUBLE, "is a floating point number"),
        ("p = 1", K.BOOLEAN, "is a boolean"),
        ("p = 1704067200", K.TIMESTAMP, "is a timestamp"),
        ("p LIKE '1%'", K.INTEGER, "LIKE is for strings"),
        ("p IS NULL", K.OTHER, "can't be compared"),
    ],
)
def test_a_condition_that_does_not_fit_the_column_is_refused(where: str, kind: ColumnKind, hint: str) -> None:
    with pytest.raises(PredicateError) as caught:
        is_true(where, "x", kind)
    assert hint in str(caught.value)


def test_a_condition_on_an_unknown_column_is_refused_with_the_known_ones() -> None:
    with pytest.raises(PredicateError, match=r"no column 'q'; known are \['p'\]"):
        covering(parse_predicate("q = 1"), {"p": K.INTEGER})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("string", K.STRING),
        ("varchar(10)", K.STRING),
        ("bigint", K.INTEGER),
        ("byte", K.INTEGER),
        ("double", K.DOUBLE),
        ("decimal(10,2)", K.DECIMAL),
        ("timestamp_ntz", K.TIMESTAMP),
        ("date", K.DATE),
        ("boolean", K.BOOLEAN),
        ("binary", K.OTHER),
        ("struct<a:int>", K.OTHER),
    ],
)
def test_a_type_has_this_kind(name: str, kind: ColumnKind) -> None:
    assert column_kind(name) is kind


def test_a_directory_name_escapes_what_spark_escapes() -> None:
    assert escape_partition_text("a\x01\x1f\x7f\"#%'*/:=?\\{[]^ }é") == (
        "a%01%1F%7F%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E }é"
    )


@given(st.text())
def test_unescaping_undoes_escaping(text: str) -> None:
    assert [unescape_partition_text(each) for each in spellings(text)[1:]] == [text] * (len(spellings(text)) - 1)


@given(st.text())
def test_a_stored_text_means_the_text_that_it_spells(text: str) -> None:
    for stored in spellings(text)[1:]:
        assert stored_value(stored, K.STRING) == text


@given(st.lists(st.text("a:%235A0 é", max_size=8) | st.text(), min_size=2, max_size=2, unique=True))
def test_what_is_stored_means_the_text_and_no_two_texts_are_stored_alike(texts: list[str]) -> None:
    stored = [stored_text(text) for text in texts]
    assert [meaning(text) for text in stored] == texts
    assert stored[0] != stored[1]


def test_literals_of_a_program_work_like_those_of_a_text() -> None:
    assert is_true("p = DATE '2024-01-01'", date(2024, 1, 1).isoformat(), K.DATE)
    assert is_true("p = TIMESTAMP '2024-01-01 00:00:00'", str(datetime(2024, 1, 1)), K.TIMESTAMP)  # noqa: DTZ001
