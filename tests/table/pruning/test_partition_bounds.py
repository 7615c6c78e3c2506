"""The bounds that we write: right for every known reader's comparison, or not written."""

import pyarrow as pa
import pytest

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_table.indextables.format.bounds import Bounds, compute_partition_bounds

MARKER = "__HIVE_DEFAULT_PARTITION__"


def entries(*rows: dict[str, str | None]) -> pa.Table:
    maps = pa.array([list(row.items()) for row in rows], pa.map_(pa.string(), pa.string()))
    return pa.table({"partition_values": maps})


def bounds_of(*texts: str | None, kind: ColumnKind | None = None) -> Bounds | None:
    found = compute_partition_bounds(entries(*({"p": text} for text in texts)), ["p"], {"p": kind} if kind else None)
    assert found is not None
    return found.get("p")


@pytest.mark.spec("testPartitionBoundsComputation")
def test_texts_are_bounded_in_text_order() -> None:
    assert bounds_of("eu", "us", "ap") == Bounds("ap", "us")


@pytest.mark.spec("testPartitionBoundsComputation")
def test_integers_are_bounded_in_number_order() -> None:
    assert bounds_of("9", "10", "-2", "1") == Bounds("-2", "10")


@pytest.mark.spec("testPartitionBoundsComputation")
def test_fractions_are_bounded_in_number_order() -> None:
    assert bounds_of("9.5", "10.25", "-0.5") == Bounds("-0.5", "10.25")


@pytest.mark.spec("testPartitionBoundsComputation")
def test_dates_are_bounded_in_text_order() -> None:
    assert bounds_of("2024-01-10", "2024-01-09") == Bounds("2024-01-09", "2024-01-10")


@pytest.mark.spec("testPartitionBoundsWithNulls")
def test_missing_and_empty_values_are_left_out() -> None:
    assert bounds_of(None, "b", "", "a") == Bounds("a", "b")


@pytest.mark.spec("testPartitionBoundsWithNulls")
def test_bounds_are_null_when_every_value_is_missing_or_empty() -> None:
    assert bounds_of(None, "") == Bounds(None, None)


@pytest.mark.spec("testPartitionBoundsWithNulls")
def test_the_marker_of_null_is_within_the_bounds_of_texts() -> None:
    assert bounds_of("A", MARKER, "B") == Bounds("A", MARKER)


@pytest.mark.spec("testPartitionBoundsWithNulls")
def test_the_marker_of_null_is_above_all_numbers() -> None:
    assert bounds_of("9", MARKER, "10") == Bounds("9", MARKER)


def test_only_markers_are_bounded_by_the_marker() -> None:
    assert bounds_of(MARKER) == Bounds(MARKER, MARKER)


@pytest.mark.spec("testPartitionBoundsMultipleColumns")
def test_every_partition_column_gets_its_own_bounds() -> None:
    table = entries({"day": "2024-01-02", "hour": "9"}, {"day": "2024-01-01", "hour": "10"})
    assert compute_partition_bounds(table, ["day", "hour"]) == {
        "day": Bounds("2024-01-01", "2024-01-02"),
        "hour": Bounds("9", "10"),
    }


def test_an_unpartitioned_table_has_no_bounds() -> None:
    assert compute_partition_bounds(entries({}), []) is None


def test_no_entries_have_null_bounds() -> None:
    assert compute_partition_bounds(entries(), ["p"]) == {"p": Bounds(None, None)}


@pytest.mark.parametrize(
    "texts",
    [
        ("9", "10", "1a"),
        ("01", "1"),
        ("+1", "2"),
        ("1e5", "2"),
        ("-0", "1"),
        ("-0.0", "0.0"),
        ("1d", "2d"),
        ("x", "NaN"),
        ("x", "infinity"),
        ("x", "0x1p3"),
        ("9223372036854775808", "1"),
        ("12345678901.5", "1"),
        (" 5", "a"),
        ("\ue000", "\U0001f600"),
    ],
)
def test_a_column_that_readers_may_order_in_two_ways_gets_no_bounds(texts: tuple[str, ...]) -> None:
    assert bounds_of(*texts) is None


def test_a_column_of_strings_gets_bounds_of_numbers_only_if_text_order_agrees() -> None:
    assert bounds_of("9", "10", kind=ColumnKind.STRING) is None
    assert bounds_of("2023", "2024", kind=ColumnKind.STRING) == Bounds("2023", "2024")
