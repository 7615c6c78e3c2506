"""By which clock cleaning tells how old an object is: the store's, where it tells one."""

import pytest

from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.cleaning.plan import Protected
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World

MONTH_H = 720.0
DAY_H = 24.0


def by_another_clock(world: World, hours: float) -> tuple[Table, FakeAmbient]:
    """The table as a machine sees it whose clock differs from the store's."""
    clock = FakeAmbient(time_ms=world.clock.time_ms + int(hours * 3_600_000))
    return Table(world.store, clock, world.table.reader.resources), clock


def young_objects(store: Store) -> dict[str, bytes]:
    """What writers that are at work have just written, and nothing names yet."""
    young = {"young.parquet": b"rows", "_transaction_log/manifests/manifest-0123456789abcdef.avro": b"entries"}
    for key, data in young.items():
        store.put(key, data)
    return young


@pytest.mark.parametrize("operation", ["purge", "truncate_history", "purge dry run"])
def test_a_machine_whose_clock_is_ahead_deletes_nothing_young(operation: str) -> None:
    """Break: the machine's own clock makes files of a minute a month old."""
    world = World()
    world.appends(4)
    young = young_objects(world.store)
    table, _ = by_another_clock(world, MONTH_H)
    if operation == "truncate_history":
        table.truncate_history()
    else:
        report = table.purge(dry_run=operation.endswith("dry run"))
        assert report.orphaned_files_found == 0
    assert {key: world.store.get(key) for key in young} == young


def test_a_machine_whose_clock_is_behind_keeps_more() -> None:
    world = World()
    world.write()
    world.clock.advance(hours=20 * DAY_H)
    assert by_another_clock(world, -MONTH_H)[0].purge().orphaned_files_found == 0
    assert by_another_clock(world, 0)[0].purge().orphaned_files_found == 1


def test_what_was_proposed_after_the_look_at_the_bus_is_young_by_any_clock() -> None:
    """Break: the time of the look, by a clock that is ahead, protects nothing."""
    world = World()
    world.write()
    world.clock.advance(hours=8 * DAY_H)
    table, clock = by_another_clock(world, MONTH_H)
    looked_ms = clock.now_ms()
    clock.advance(hours=2 * DAY_H)
    world.clock.advance(hours=2 * DAY_H)
    for ago_h, found in ((2 * DAY_H, 1), (4 * DAY_H, 0)):
        protected = Protected(looked_ms=looked_ms + int((2 * DAY_H - ago_h) * 3_600_000))
        cleaner = Cleaner(table.reader, clock, table.options, table.commit, protected)
        assert cleaner.purge(dry_run=True).orphaned_files_found == found
