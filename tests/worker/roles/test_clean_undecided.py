"""What undecided proposals need of earlier versions outlives every cleaning: they are decided as if there had been none."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.messages.operations import Append, Committed, Delete, Isolation, Operation, Restore
from headgate_schemas.messages.proposals import new_proposal
from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.cleaning.plan import Category, Protected
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.table import Table
from headgate_worker.loop.worker import COMMITTER_GROUP
from headgate_worker.roles.undecided import protected_by
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.tables import add_file, opened

LONG_HOURS = 24 * 400
NO_AGE = {"purge.retentionCheckEnabled": "false", "state.retention.versions": "1", "state.retention.hours": "0"}


def purged(world: Coordinated) -> None:
    table = a_table(world)
    protected = protected_by(world.rig.bus, COMMITTER_GROUP, table.reader, world.rig.ambient)
    cleaner = Cleaner(table.reader, world.rig.ambient, table.options, table.commit, protected)
    cleaner.purge(0, 0)


def truncated(world: Coordinated) -> None:
    table = a_table(world)
    table.truncate_history(protected=protected_by(world.rig.bus, COMMITTER_GROUP, table.reader, world.rig.ambient))


def a_table(world: Coordinated) -> Table:
    """Purges are committed directly, so that what waits on the bus stays undecided."""
    return opened(world.rig.stores[TABLE], ambient=world.rig.ambient, settings=NO_AGE)


CLEANINGS = (purged, truncated)


def a_world(interval: int) -> Coordinated:
    """Each file of version n is gone in version n + 2, and lies on the store."""
    world = Coordinated(interval=interval)
    for number in range(6):
        world.rig.stores[TABLE].put(add_file(f"f{number}").path, b"rows")
        world.appended(f"f{number}")
        world.done(Delete((add_file(f"f{number}").path,)))
    world.rig.ambient.advance(hours=LONG_HOURS)
    world.rig.stores[TABLE].put(add_file("newest").path, b"rows")
    world.appended("newest")
    return world


@pytest.mark.parametrize("interval", [1, 2, 3, 100])
@pytest.mark.parametrize("cleaning", CLEANINGS)
def test_a_restore_that_waits_on_the_bus_finds_its_version(
    cleaning: Callable[[Coordinated], None], interval: int
) -> None:
    for version in (0, 1, 3, 7, 11):
        world = a_world(interval)
        paths = sorted(opened(world.rig.stores[TABLE]).snapshot(version=version).paths())
        identity = world.rig.propose(Restore(version))
        cleaning(world)
        world.rig.ambient.advance(hours=LONG_HOURS)
        cleaning(world)
        world.rig.settle(world.committer)
        assert isinstance(world.rig.receipts()[identity], Committed)
        assert world.paths() == paths


@pytest.mark.parametrize("cleaning", CLEANINGS)
def test_what_a_serializable_proposal_has_read_can_still_be_compared(cleaning: Callable[[Coordinated], None]) -> None:
    world = Coordinated(interval=2)
    world.appended(*(f"f{number}" for number in range(8)))
    based_on = 4
    world.rig.send(
        new_proposal(
            Append((add_file("late"),)),
            proposal_id="reader",
            table=TABLE,
            created_ms=world.rig.ambient.now_ms(),
            author="test",
            isolation=Isolation.SERIALIZABLE,
            based_on=based_on,
            reads="region = 'eu'",
        )
    )
    world.rig.ambient.advance(hours=LONG_HOURS)
    cleaning(world)
    versions = world.table.reader.full_listing().versions
    assert set(range(based_on, 9)) <= set(versions)
    assert versions[0] == based_on


@pytest.mark.parametrize("cleaning", CLEANINGS)
def test_the_state_that_an_undecided_swap_is_based_on_stays(cleaning: Callable[[Coordinated], None]) -> None:
    world = a_world(2)
    table = opened(world.rig.stores[TABLE], ambient=world.rig.ambient)
    state = table.reader.latest().state
    assert state is not None
    work = Compactor(table.reader, world.rig.ambient, table.options)
    swap = work.prepare(state, work.plan(state, full=True), table.metadata)
    world.rig.propose(swap)
    for number in range(4):
        opened(world.rig.stores[TABLE], ambient=world.rig.ambient).append([add_file(f"direct{number}")])
        world.table.checkpoint()
    world.rig.ambient.advance(hours=LONG_HOURS)
    cleaning(world)
    assert state.version in world.table.reader.full_listing().states


@settings(max_examples=40, deadline=None)
@given(
    interval=st.integers(1, 5),
    rounds=st.lists(
        st.tuples(st.lists(st.integers(0, 30), max_size=3), st.sampled_from(CLEANINGS), st.integers(1, 4)),
        min_size=1,
        max_size=4,
    ),
)
def test_every_readable_version_that_is_to_be_restored_is_restored(
    interval: int, rounds: list[tuple[list[int], Callable[[Coordinated], None], int]]
) -> None:
    world = a_world(interval)
    for number, (wanted, cleaning, commits) in enumerate(rounds):
        reader = opened(world.rig.stores[TABLE]).reader
        readable = [version for low, high in reader.retained(reader.full_listing()) for version in range(low, high + 1)]
        operations: list[Operation] = [Restore(readable[each % len(readable)]) for each in wanted]
        asked = [world.rig.propose(operation) for operation in operations]
        cleaning(world)
        world.rig.settle(world.committer)
        receipts = world.rig.receipts()
        for identity, operation in zip(asked, operations, strict=True):
            receipt = receipts[identity]
            assert isinstance(receipt, Committed), (operation, receipt)
        for commit in range(commits):
            path = f"r{number}-{commit}"
            world.rig.stores[TABLE].put(add_file(path).path, b"rows")
            world.appended(path)
        world.rig.ambient.advance(hours=LONG_HOURS)


def test_a_direct_purge_that_does_not_know_the_bus_leaves_the_data_files_of_a_table_that_is_fed() -> None:
    """Break: an append of an old file waits, and a purge past the bus deletes the file."""
    world = a_world(2)
    waits = add_file("waits")
    world.rig.stores[TABLE].put(waits.path, b"rows")
    world.rig.ambient.advance(hours=LONG_HOURS)
    identity = world.rig.propose(Append((waits,)))
    report = a_table(world).purge(0, 0)
    assert report.status == "PARTIAL_SUCCESS"
    assert "proposals may wait" in report.message
    assert not [deletion for deletion in report.deletions if deletion.category is Category.DATA_FILE]
    world.rig.settle(world.committer)
    assert isinstance(world.rig.receipts()[identity], Committed)
    assert world.rig.stores[TABLE].head(waits.path) is not None


def test_who_says_that_nothing_waits_is_believed() -> None:
    world = a_world(2)
    report = a_table(world).purge(0, 0, protected=Protected())
    assert report.status == "SUCCESS", report.message
    assert [deletion for deletion in report.deletions if deletion.category is Category.DATA_FILE]
