"""Skips: files that maintenance leaves alone for a while. They live in version files, and survive every state."""

import pytest

from headgate_schemas.actions.actions import SkipFile
from headgate_schemas.messages.operations import Committed, Skip
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.rules.skips import MAX_COOLDOWN_MS, known_skips, skips
from headgate_table.table import Table
from support.stores import FaultyStore, MemoryStore
from support.stores.faulty import Step
from support.tables import START_MS, add_file, new_table, opened

HOUR_MS = 3_600_000


def skip(
    path: str, *, at: int = START_MS, retry_after: int | None = START_MS + 24 * HOUR_MS, count: int = 1
) -> SkipFile:
    return SkipFile(
        path=path, skip_timestamp=at, reason="damaged", operation="merge", retry_after=retry_after, skip_count=count
    )


def found(table: Table, now_ms: int = START_MS + HOUR_MS) -> dict[str, SkipFile]:
    return skips(table.reader, table.snapshot().log, now_ms)


@pytest.mark.parametrize("settings", [{}, {"state.format": "json"}], ids=["states", "json"])
def test_a_skip_is_found_after_a_state(settings: dict[str, str]) -> None:
    """Break: `skips` reads `log.delta.skips`, which a new base empties."""
    table = new_table(interval=1, settings=settings)
    table.append([add_file("a")])
    assert isinstance(table.commit(Skip((skip("a.parquet"),))), Committed)
    table.append([add_file("b")])
    table.checkpoint()
    assert found(opened(table.store)) == {"a.parquet": skip("a.parquet")}


def test_the_newest_skip_of_a_file_counts() -> None:
    """Break: `found.setdefault` goes through the versions from the oldest."""
    table = new_table(interval=2)
    for count in (1, 2, 3):
        table.commit(Skip((skip("a.parquet", count=count),)))
    assert found(table)["a.parquet"].skip_count == 3


def test_a_skip_ends_with_its_cooldown() -> None:
    """Break: `holds` doesn't look at `retry_after`."""
    table = new_table()
    table.commit(Skip((skip("a.parquet"), skip("b.parquet", retry_after=START_MS + 48 * HOUR_MS))))
    assert sorted(found(table, START_MS + 24 * HOUR_MS)) == ["b.parquet"]


def test_a_newer_skip_that_is_over_hides_an_older_one() -> None:
    """Break: skips that are over are left out before the newest is chosen."""
    table = new_table()
    table.commit(Skip((skip("a.parquet", retry_after=START_MS + 48 * HOUR_MS),)))
    table.commit(Skip((skip("a.parquet", retry_after=START_MS),)))
    assert found(table) == {}


@pytest.mark.parametrize(("count", "days"), [(1, 1), (2, 2), (3, 4), (4, 7), (99, 7)])
def test_a_skip_without_an_end_is_over_after_the_cooldown_of_its_count(count: int, days: int) -> None:
    """Break: `holds` lets a skip without `retryAfter` hold for ever, beyond the versions that are looked at."""
    table = new_table()
    table.commit(Skip((skip("a.parquet", retry_after=None, count=count),)))
    assert sorted(found(table, START_MS + days * 24 * HOUR_MS - 1)) == ["a.parquet"]
    assert found(table, START_MS + days * 24 * HOUR_MS + 1) == {}


def test_a_skip_that_is_over_is_still_known_for_its_count() -> None:
    """Break: `known_skips` leaves out what no longer holds, so a cooldown never grows."""
    table = new_table()
    table.commit(Skip((skip("a.parquet", count=4),)))
    late = START_MS + MAX_COOLDOWN_MS + HOUR_MS
    assert known_skips(table.reader, table.snapshot().log, late)["a.parquet"].skip_count == 4


def test_versions_from_before_the_longest_cooldown_are_not_read() -> None:
    """Break: the loop goes on to version 0."""
    store = MemoryStore()
    table = new_table(store)
    for number in range(40):
        table.append([add_file(f"f{number}")])
    counting = FaultyStore(store)
    late = opened(counting, interval=100)
    late.checkpoint()
    log = opened(store).snapshot().log
    before = counting.count("get")
    late.reader.resources.invalidate()
    assert skips(late.reader, log, START_MS + 2 * MAX_COOLDOWN_MS) == {}
    assert counting.count("get") - before == 16


def three_skips() -> MemoryStore:
    """Of a, b and c in versions 1 to 3, below a state."""
    table = new_table()
    for name in "abc":
        table.commit(Skip((skip(f"{name}.parquet"),)))
    table.checkpoint()
    assert isinstance(table.store, MemoryStore)
    return table.store


def test_a_version_that_is_damaged_hides_its_own_skips_alone() -> None:
    """Break: `_newest` takes any damage for the table's."""
    store = three_skips()
    store.put(version_key(2), b"\x01\x01 damaged")
    assert sorted(found(opened(store))) == ["a.parquet", "c.parquet"]


def test_a_version_that_is_cleaned_after_it_was_listed_hides_its_own_skips_alone() -> None:
    """Break: `_newest` expects to find what was listed."""
    store = three_skips()

    def clean(step: Step) -> None:
        if step.operation == "get" and step.key == version_key(1):
            store.delete([version_key(1)])

    assert sorted(found(opened(FaultyStore(store, clean)))) == ["b.parquet", "c.parquet"]


def test_only_versions_up_to_the_loaded_one_count() -> None:
    """Break: `skips` takes every version that is listed."""
    table = new_table()
    table.append([add_file("a")])
    log = table.snapshot().log
    table.commit(Skip((skip("a.parquet"),)))
    assert skips(table.reader, log, START_MS) == {}
