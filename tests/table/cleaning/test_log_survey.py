"""Cleaning looks at a log that others write meanwhile: what is newer than its listing is no damage, and no reason to stop."""

from collections.abc import Callable, Iterator

from headgate_schemas.ambient import Ambient
from headgate_table.indextables.cleaning.plan import Category
from headgate_table.store.interface import ObjectInfo
from support.cleaning import World
from support.stores.memory import MemoryStore


class ListedThen(MemoryStore):
    """After each listing of the log, something happens, once."""

    then: Callable[[], object] | None = None

    def tell_time_by(self, clock: Ambient) -> None:
        self._ambient = clock

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        listed = list(super().list(prefix, after=after))
        then, self.then = self.then, None
        if then is not None:
            then()
        return iter(listed)


def world_of_old_states() -> tuple[World, ListedThen]:
    store = ListedThen()
    world = World(interval=3, store=store, state__retention__hours="1", purge__txLogRetentionHours="1")
    store.tell_time_by(world.clock)
    world.appends(12)
    return world, store


def test_a_state_that_is_written_after_the_listing_does_not_keep_old_ones_from_being_cleaned() -> None:
    world, store = world_of_old_states()
    before = world.states()
    store.then = lambda: world.appends(3)
    report = world.table.purge()
    assert report.status == "SUCCESS", report.message
    assert report.expired_states_deleted > 0
    assert min(world.states()) > min(before)


def test_what_the_listing_showed_as_newest_stays_although_the_pointer_has_passed_it() -> None:
    world, store = world_of_old_states()
    newest = world.states()[-2:]
    store.then = lambda: world.appends(9)
    world.table.purge()
    assert set(newest) <= set(world.states())


def test_a_pointer_to_a_state_that_is_nowhere_is_still_told_as_damage() -> None:
    world, store = world_of_old_states()
    gone = world.states()[-1]
    store.delete([f"_transaction_log/state-v{gone:020d}/_manifest.avro"])
    report = world.reopened().purge()
    assert f"names version {gone}, which has neither a state nor a checkpoint" in report.message
    assert not [deletion for deletion in report.deletions if deletion.category is Category.VERSION]
