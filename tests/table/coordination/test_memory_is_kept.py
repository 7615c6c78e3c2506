"""What recovery needs is never cleaned, and a state that took too long never refers to what cleaning may have taken."""

from dataclasses import replace

import pytest

from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import kept_memory
from headgate_table.errors import StoreError
from headgate_table.indextables.cleaning.plan import MIN_MANIFEST_AGE_MS, Protected
from headgate_table.indextables.cleaning.survey import survey_log
from headgate_table.indextables.format.names import state_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.indextables.write.state_writer import MAX_ATTEMPT_S, StateWriter
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import CreateOutcome, Unknown
from support.ambient import FakeAmbient
from support.cleaning import World
from support.logs.decided_logs import fresh_reader
from support.stores.memory import MemoryStore


def forgetful(world: World, *versions: int) -> None:
    """As if these states were a stranger's, who dropped the field."""
    for version in versions:
        state = decode_state(world.store.get(state_key(version)), "state")
        world.store.put(state_key(version), encode_state(replace(state, coordinator=None), bytes(16)))


def remembered(world: World) -> TableMemory:
    reader = fresh_reader(world.store)
    return recover(reader, reader.latest(), MemoryLimits())


def test_cleaning_keeps_the_newest_state_that_remembers_and_all_versions_after_it() -> None:
    """Break: cleaning counts states, whatever they hold."""
    world = World(interval=2, state__retention__versions="2")
    world.appends(12, hours=24)
    forgetful(world, 6, 8, 10, 12)
    before = remembered(world)
    world.clock.advance(hours=24 * 90)
    world.table.purge(log_retention_hours=0)
    assert 4 in world.states()
    assert set(range(5, 13)) <= set(world.versions())
    assert 2 not in world.states()
    assert remembered(world) == before


def test_a_field_that_cannot_be_read_keeps_no_state() -> None:
    """Break: garbage in the newest states lets the one go that recovery really needs."""
    world = World(interval=2)
    world.appends(6)
    forgetful(world, 6)
    state = decode_state(world.store.get(state_key(4)), "state")
    world.store.put(state_key(4), encode_state(replace(state, coordinator="{broken"), bytes(16)))
    facts = survey_log(fresh_reader(world.store), Protected()).roots.states
    assert {version: each.has_coordinator for version, each in facts.items() if each} == {2: True, 4: False, 6: False}


def test_truncating_the_history_keeps_the_memory() -> None:
    world = World(interval=2)
    world.appends(7)
    before = remembered(world)
    world.table.truncate_history()
    assert remembered(world) == before


class Slow(MemoryStore):
    """Manifests take their time; the first creations of a state get no answer and don't happen."""

    def __init__(self, clock: FakeAmbient, manifest_s: float, unanswered: int, pause_s: float) -> None:
        super().__init__(clock)
        self._clock = clock
        self._manifest_s = manifest_s
        self._unanswered = unanswered
        self._pause_s = pause_s

    def put(self, key: str, data: bytes) -> None:
        if "/manifests/" in key:
            self._clock.advance(seconds=self._manifest_s)
        super().put(key, data)

    def create(self, key: str, data: bytes) -> CreateOutcome:
        if key.endswith("_manifest.avro") and self._unanswered:
            self._unanswered -= 1
            self._clock.advance(seconds=self._pause_s)
            return Unknown("nobody answered")
        if "/manifests/" in key:
            self._clock.advance(seconds=self._manifest_s)
        return super().create(key, data)


def state_of(world: World) -> str:
    """The name of the only manifest of the state that is written now."""
    reader = fresh_reader(world.store)
    log = reader.latest()
    memory = recover(reader, log, MemoryLimits())
    options = TableOptions()
    written = StateWriter(reader, world.clock, options).write(log, reader.metadata(log), kept_memory(memory))
    (info,) = written.state.manifests
    return info.path


def a_world(*, manifest_s: float = 0, unanswered: int = 0, pause_s: float = 0) -> World:
    world = World(interval=100)
    slow = Slow(world.clock, manifest_s, unanswered, pause_s)
    for info in world.store.list():
        slow.put(info.key, world.store.get(info.key))
    world.store = slow
    world.table = world.reopened()
    world.append(hours=0)
    return world


def manifests(world: World) -> list[str]:
    return sorted(name for name in world.names() if name.startswith("manifests/"))


def test_a_state_attempt_older_than_ten_minutes_starts_again_under_new_names() -> None:
    """Break: the retry goes on with the manifests of before, which cleaning may have taken for orphans by now."""
    world = a_world(unanswered=1, pause_s=MAX_ATTEMPT_S + 1)
    path = state_of(world)
    assert len(manifests(world)) == 2
    assert path in manifests(world)


def test_a_state_attempt_that_is_quick_goes_on_under_its_names() -> None:
    world = a_world(unanswered=1, pause_s=1)
    assert [state_of(world)] == manifests(world)


def test_a_state_whose_manifests_always_take_too_long_is_given_up() -> None:
    world = a_world(manifest_s=MAX_ATTEMPT_S + 1)
    with pytest.raises(StoreError, match="given up"):
        state_of(world)


class Stopped(MemoryStore):
    """The process stands still right before it creates a state; meanwhile, or not, its new manifest is cleaned up."""

    def __init__(self, clock: FakeAmbient, *, cleaned: bool, answered: bool) -> None:
        super().__init__(clock)
        self._clock = clock
        self._cleaned = cleaned
        self._answered = answered

    def create(self, key: str, data: bytes) -> CreateOutcome:
        if key.endswith("_manifest.avro"):
            self._clock.advance(seconds=MAX_ATTEMPT_S + 1)
            if self._cleaned:
                self.delete([info.key for info in self.list() if "/manifests/" in info.key])
            if not self._answered:
                super().create(key, data)
                return Unknown("no answer")
        return super().create(key, data)


def a_stopped_world(*, cleaned: bool, answered: bool = True) -> World:
    world = World(interval=100)
    stopped = Stopped(world.clock, cleaned=cleaned, answered=answered)
    for info in world.store.list():
        stopped.put(info.key, world.store.get(info.key))
    world.store = stopped
    world.table = world.reopened()
    world.append(hours=0)
    return world


@pytest.mark.parametrize("answered", [True, False])
def test_a_state_whose_manifest_was_cleaned_up_before_it_is_taken_back(answered: bool) -> None:
    """Break: believe a state that is there already, since another attempt's answer was lost, or another's."""
    world = a_stopped_world(cleaned=True, answered=answered)
    with pytest.raises(StoreError, match="taken back"):
        state_of(world)
    assert [name for name in world.names() if name.endswith("_manifest.avro")] == []


def test_a_state_that_came_late_stands_if_its_manifests_do() -> None:
    world = a_stopped_world(cleaned=False)
    assert [state_of(world)] == manifests(world)


def test_an_attempt_ends_well_before_cleaning_takes_its_manifests() -> None:
    assert MAX_ATTEMPT_S * 1000 * 2 <= MIN_MANIFEST_AGE_MS
