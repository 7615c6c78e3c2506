"""Cooldowns of files that could not be merged."""

import pytest

from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_table.indextables.rules.skips import cooldown_ms, holds
from headgate_worker.merge.skips import MAX_REASON_CHARS, skip_of

NOW_MS = 1_780_000_000_000
DAY_MS = 24 * 3_600_000
SOURCE = AddFile("a.parquet", {"day": "1"}, 1000, NOW_MS)


@pytest.mark.parametrize(("count", "days"), [(0, 1), (1, 1), (2, 2), (3, 4), (4, 7), (5, 7), (2**31, 7)])
def test_a_cooldown_doubles_up_to_a_week(count: int, days: int) -> None:
    assert cooldown_ms(count) == days * DAY_MS


def test_the_first_skip_of_a_file_says_what_and_why_for_a_day() -> None:
    assert skip_of(SOURCE, "damaged", {}, NOW_MS) == SkipFile(
        path="a.parquet",
        skip_timestamp=NOW_MS,
        reason="damaged",
        operation="merge",
        partition_values={"day": "1"},
        size=1000,
        retry_after=NOW_MS + DAY_MS,
        skip_count=1,
    )


def test_a_further_skip_counts_on_and_lasts_longer() -> None:
    earlier = skip_of(SOURCE, "damaged", {}, NOW_MS - DAY_MS)
    again = skip_of(SOURCE, "damaged", {"a.parquet": earlier}, NOW_MS)
    assert (again.skip_count, again.retry_after) == (2, NOW_MS + 2 * DAY_MS)


def test_a_long_reason_is_cut() -> None:
    reason = skip_of(SOURCE, "x" * 10_000, {}, NOW_MS).reason
    assert len(reason) == MAX_REASON_CHARS
    assert reason.endswith("…")


def test_no_skip_holds_for_longer_than_its_readers_look_back() -> None:
    skip = SkipFile("a.parquet", NOW_MS - 7 * DAY_MS - 1, "damaged", "merge", retry_after=NOW_MS + DAY_MS)
    assert not holds(skip, NOW_MS)
