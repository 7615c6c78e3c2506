"""Cleaning at any moment of any history: it removes no root, and a dry run says exactly what it would do."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.cleaning import copied
from support.drawn.cleaning_histories import CLEANINGS, SCHEDULES, Act, CleanedTable, Cleaning
from support.stores.memory import MemoryStore


def race(moment: str) -> list[Act | Cleaning]:
    """A file that lies there for a day is adopted at that moment of a cleaning."""
    cleaning = Cleaning(False, 0, 720, {"state.retention.hours": "168"}, 1, moment, "adopt")
    return [Act("append"), Act("orphan", hours=24), cleaning]


@settings(max_examples=70)
@given(SCHEDULES)
@example(race("delete"))
@example(race("create"))
@example(race("list"))
def test_cleaning_with_any_schedule_never_removes_a_root(schedule: list[Act | Cleaning]) -> None:
    CleanedTable().play(schedule)


def keys(store: MemoryStore) -> set[str]:
    return {info.key for info in store.list() if not info.key.startswith("_headgate/quarantine/")}


REPLACED = [Act("overwrite"), Act("compact"), *(Act("append", hours=30) for _ in range(5))]
"""Leaves files that only versions and states name which the next cleaning may delete: then they are orphans in the same run."""


@settings(max_examples=40)
@given(SCHEDULES, CLEANINGS, st.sampled_from([[], REPLACED]))
def test_a_dry_run_lists_exactly_what_the_same_run_then_takes_away(
    history: list[Act | Cleaning], cleaning: Cleaning, last: list[Act]
) -> None:
    table = CleanedTable()
    table.play([*history, *last])
    real = copied(table.world.store, table.world.clock)
    planned = table.run(table.opened(settings=cleaning.settings), cleaning, dry_run=True)
    before = keys(real)
    done = table.run(table.opened(real, cleaning.settings), cleaning)
    assert planned == done
    assert before - keys(real) == {key for key, _ in planned if key in before}
