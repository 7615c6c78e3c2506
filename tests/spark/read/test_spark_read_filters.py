"""Filters that Spark pushes, as predicates; what they select is compared with Spark itself in `test_spark_read`."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import datasource as spark

from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.predicates.format import format_predicate
from pyspark_headgate.read.pushed_filters import pushed_predicate

TYPES = {
    "n": "integer",
    "x": "double",
    "f": "float",
    "s": "string",
    "ok": "boolean",
    "day": "date",
    "at": "timestamp",
    "price": "decimal(10,2)",
    "raw": "binary",
}


def said(*filters: spark.Filter) -> str | None:
    predicate = pushed_predicate(filters, kinds_of(TYPES))
    return None if predicate is None else format_predicate(predicate)


@pytest.mark.parametrize(
    ("pushed", "text"),
    [
        (spark.EqualTo(("n",), 1), "n = 1"),
        (spark.Not(spark.EqualTo(("n",), 1)), "n <> 1"),
        (spark.GreaterThan(("n",), 1), "n > 1"),
        (spark.GreaterThanOrEqual(("n",), 1), "n >= 1"),
        (spark.LessThan(("n",), 1), "n < 1"),
        (spark.LessThanOrEqual(("n",), 1), "n <= 1"),
        (spark.Not(spark.LessThanOrEqual(("n",), 1)), "n > 1"),
        (spark.EqualNullSafe(("n",), 1), "n = 1"),
        (spark.Not(spark.EqualNullSafe(("n",), 1)), "n <> 1 OR n IS NULL"),
        (spark.EqualNullSafe(("n",), None), "n IS NULL"),
        (spark.Not(spark.EqualNullSafe(("n",), None)), "n IS NOT NULL"),
        (spark.In(("n",), (1, None, 3)), "n IN (1, 3)"),
        (spark.Not(spark.In(("n",), (1, 3))), "n NOT IN (1, 3)"),
        (spark.Not(spark.In(("n",), (1, None))), "FALSE"),
        (spark.In(("n",), (None,)), "FALSE"),
        (spark.IsNull(("n",)), "n IS NULL"),
        (spark.Not(spark.IsNull(("n",))), "n IS NOT NULL"),
        (spark.IsNotNull(("n",)), "n IS NOT NULL"),
        (spark.StringStartsWith(("s",), "a%"), r"s LIKE 'a\\%%'"),
        (spark.Not(spark.StringStartsWith(("s",), "a")), "s NOT LIKE 'a%'"),
        (spark.EqualTo(("ok",), True), "ok = TRUE"),
        (spark.EqualTo(("day",), date(2024, 1, 31)), "`day` = DATE '2024-01-31'"),
        (spark.EqualTo(("price",), Decimal("1.50")), "price = 1.50"),
        (spark.GreaterThan(("x",), math.nan), "x > 'NaN'"),
        (spark.LessThan(("x",), -math.inf), "x < '-Infinity'"),
        (spark.GreaterThanOrEqual(("f",), 0.10000000149011612), "f >= 0.10000000149011612D"),
    ],
)
def test_a_filter_keeps_its_meaning(pushed: spark.Filter, text: str) -> None:
    predicate = pushed_predicate([pushed], kinds_of(TYPES))
    from headgate_schemas.predicates.text import parse_predicate

    assert predicate == parse_predicate(text)


def test_a_time_with_a_zone_is_a_moment() -> None:
    assert said(spark.EqualTo(("at",), datetime(2024, 1, 1, 12, tzinfo=UTC))) is not None


@pytest.mark.parametrize(
    "pushed",
    [
        spark.StringContains(("s",), "a"),
        spark.StringEndsWith(("s",), "a"),
        spark.EqualTo(("raw",), b"a"),
        spark.EqualTo(("struct", "field"), 1),
        spark.EqualTo(("unheard of",), 1),
        spark.EqualTo(("n",), "one"),
    ],
)
def test_what_cannot_be_said_is_left_to_spark(pushed: spark.Filter) -> None:
    assert said(pushed) is None


def test_a_filter_that_is_not_understood_leaves_the_others_alone() -> None:
    assert said(spark.StringContains(("s",), "a"), spark.EqualTo(("n",), 1)) == "n = 1"


def test_filters_all_hold_together() -> None:
    assert said(spark.IsNotNull(("n",)), spark.EqualTo(("n",), 1)) == "n IS NOT NULL AND n = 1"
