"""How single values look in tables for people."""

from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.cli.terminal.cells import human_size, human_time, shown_cell


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (99_950, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (5 * 10**12, "5.0 TB"),
        (2**63 - 1, "9.2 EB"),
        (-1500, "-1.5 kB"),
    ],
)
def test_a_size_has_two_or_three_digits(count: int, shown: str) -> None:
    assert human_size(count) == shown


def test_a_time_is_utc_to_the_millisecond() -> None:
    assert human_time(1_700_000_000_123) == "2023-11-14 22:13:20.123Z"


@pytest.mark.parametrize("beyond", [-1, 253_402_300_800_000, 2**63 - 1])
def test_a_time_that_no_calendar_has_stays_a_number(beyond: int) -> None:
    assert human_time(beyond) == str(beyond)


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("path", None, "-"),
        ("needs_compaction", True, "yes"),
        ("num_files", 1_234_567, "1,234,567"),
        ("version", 1_234_567, "1234567"),
        ("total_bytes", 1_234_567, "1.2 MB"),
        ("tombstone_ratio", 0.1234, "12.34%"),
        ("size_mb_deleted", 1234.5, "1,234.5"),
        ("partition_values", {"date": "2024-01-01", "region": None}, "date=2024-01-01, region=null"),
        ("partition_values", {}, "-"),
        ("proposals", ["a", "b"], "a, b"),
        ("proposals", (), "-"),
        ("modification_time", datetime(2024, 1, 1, tzinfo=UTC), "2024-01-01 00:00:00.000Z"),
        ("appended", 1_704_067_200_000, "2024-01-01 00:00:00.000Z"),
        ("path", "a\tb\x1b[0m", r"a\tb\x1b[0m"),
        ("path", "Köln 東京", "Köln 東京"),
    ],
)
def test_a_value_is_shown_by_its_name_and_kind(name: str, value: Any, shown: str) -> None:
    assert shown_cell(name, value) == shown


def test_a_long_text_is_cut_unless_it_is_wanted_whole() -> None:
    assert shown_cell("stats", "x" * 500) == "x" * 199 + "…"
    assert shown_cell("stats", "x" * 500, whole=True) == "x" * 500
