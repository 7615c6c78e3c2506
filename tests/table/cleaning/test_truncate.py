"""TRUNCATE TIME TRAVEL: what it forgets, what it keeps although other implementations don't, and deaths in the middle."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_table.errors import CorruptTable, VersionNotRetained
from headgate_table.indextables.format.names import POINTER, version_key
from headgate_table.indextables.format.pointer import Pointer
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, copied, one_thread
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.logs.foreign_log import build_on
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore
from support.tables import new_table, opened
from support.writers.handmade import HandMade
from support.writers.handmade import file as foreign_file


@pytest.fixture
def world() -> World:
    """Ten commits, states 3, 6 and 9, and version 10 without one."""
    world = World()
    world.appends(10, hours=0.1)
    return world


def test_versions_and_states_before_the_newest_two_states_are_deleted(world: World) -> None:
    report = world.table.truncate_history()
    assert (report.status, report.checkpoint_version) == ("SUCCESS", 10)
    assert (world.versions(), world.states()) == ([10], [9, 10])


def test_the_report_counts_what_was_deleted_and_the_live_files(world: World) -> None:
    report = world.table.truncate_history()
    assert (report.versions_deleted, report.checkpoints_deleted, report.files_preserved) == (10, 2, 10)


def test_the_table_shows_the_same_files_and_takes_commits_afterwards(world: World) -> None:
    before = world.table.snapshot().paths()
    world.table.truncate_history()
    file = world.append()
    assert world.reopened().snapshot().paths() == sorted([*before, file.path])


def test_no_data_file_is_touched(world: World) -> None:
    orphan = world.write()
    before = [name for name in world.names("") if name.endswith(".parquet")]
    world.table.truncate_history()
    assert [name for name in world.names("") if name.endswith(".parquet")] == before
    assert orphan.path in before


def test_the_reasons_tell_of_no_age_which_is_none(world: World) -> None:
    reasons = {deletion.key.split("/")[1]: deletion.reason for deletion in world.table.truncate_history().deletions}
    assert reasons["00000000000000000000.json"] == "version 0 is covered by the state or checkpoint at 9"
    assert reasons["state-v00000000000000000003"] == "state 3 is not among those that are kept"


def test_an_earlier_version_can_not_be_read_any_more(world: World) -> None:
    world.table.truncate_history()
    with pytest.raises(VersionNotRetained, match="9 to 10"):
        world.reopened().snapshot(5)


def test_with_one_state_alone_every_other_version_goes() -> None:
    world = World(interval=100)
    world.appends(4, hours=0.1)
    world.table.truncate_history()
    assert (world.versions(), world.states()) == ([4], [4])


def test_a_second_truncation_finds_nothing(world: World) -> None:
    world.table.truncate_history()
    report = world.table.truncate_history()
    assert (report.versions_deleted, report.checkpoints_deleted) == (0, 0)


def test_a_dry_run_writes_and_deletes_nothing(world: World) -> None:
    before = world.names()
    report = world.table.truncate_history(dry_run=True)
    assert (report.status, world.names()) == ("DRY_RUN", before)


def test_a_dry_run_counts_what_a_truncation_then_deletes(world: World) -> None:
    planned = world.table.truncate_history(dry_run=True)
    done = world.table.truncate_history()
    assert (planned.versions_deleted, planned.checkpoints_deleted) == (done.versions_deleted, done.checkpoints_deleted)


@pytest.mark.parametrize("appends", [1, 3, 12])
@pytest.mark.parametrize("then", ["avro", "json"])
@pytest.mark.parametrize("before", ["avro", "json"])
def test_a_dry_run_of_a_committers_table_lists_what_a_truncation_then_deletes(
    before: str, then: str, appends: int
) -> None:
    """Also where the state that a truncation writes first is the first one, or of another format than those before it."""
    coordinated = Coordinated(interval=4, state__format=before)
    coordinated.appended(*map(str, range(appends)))
    coordinated.rig.settings["state.format"] = then
    table = coordinated.table
    planned = table.truncate_history(dry_run=True)
    assert set(planned.deletions) == set(table.truncate_history().deletions)
    assert planned.versions_deleted or appends == 12


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(
        st.tuples(st.sampled_from(("append", "append", "format", "compact", "truncate")), st.integers(1, 5)),
        min_size=1,
        max_size=7,
    ),
)
def test_a_dry_run_is_the_run_after_any_history_of_a_committers_table(
    interval: int, history: list[tuple[str, int]]
) -> None:
    coordinated = Coordinated(interval=interval)
    for number, (kind, count) in enumerate(history):
        match kind:
            case "append":
                coordinated.appended(*(f"{number}-{each}" for each in range(count)))
            case "format":
                coordinated.rig.settings["state.format"] = ("avro", "json")[count % 2]
            case "compact":
                coordinated.table.compact()
            case _:
                _judge_dry_run(coordinated)
    _judge_dry_run(coordinated)


def _judge_dry_run(coordinated: Coordinated) -> None:
    """What it lists, and what a comparison of the store before and after shows."""
    store = coordinated.rig.stores[TABLE]
    table = coordinated.table
    planned = table.truncate_history(dry_run=True)
    before = {info.key for info in store.list()}
    done = table.truncate_history()
    assert set(planned.deletions) == set(done.deletions)
    gone = before - {info.key for info in store.list()}
    assert gone == {deletion.key for deletion in planned.deletions} & before


def test_manifests_that_only_deleted_states_refer_to_go_with_them(world: World) -> None:
    world.accepted(world.table.compact())
    world.appends(4, hours=0.1)
    world.table.truncate_history()
    assert [item.object for item in world.reopened().verify().findings if "manifest" in item.object] == []


def test_old_checkpoints_in_json_and_their_parts_go() -> None:
    store = MemoryStore(FakeAmbient())
    build_on(store, lambda made: made.version(1, {"txn": {}}))
    store.put("_transaction_log/00000000000000000001.checkpoint.json", store.get(version_key(0)))
    store.put("_transaction_log/00000000000000000001.checkpoint.0123456789ab.00001.json", store.get(version_key(0)))
    for number in (2, 3):
        store.put(version_key(number), store.get(version_key(1)))
    table = Table(store, FakeAmbient(), one_thread(), {"checkpoint.interval": "1"})
    table.checkpoint()
    table.append([])
    table.append([])
    report = table.truncate_history()
    assert (report.status, [info.key for info in store.list() if "checkpoint." in info.key]) == ("SUCCESS", [])


def test_a_state_without_a_pointer_gets_one_before_anything_is_deleted() -> None:
    store = MemoryStore(FakeAmbient())

    def build(made: HandMade) -> None:
        for number in (1, 2, 3):
            made.state(number, [made.manifest([foreign_file("a")])])

    build_on(store, build)
    table = Table(store, FakeAmbient(), one_thread())
    table.truncate_history()
    pointer = table.reader.pointer()
    assert isinstance(pointer, Pointer)
    assert pointer.version == 3


def test_the_only_source_of_the_metadata_stays() -> None:
    store = MemoryStore(FakeAmbient())

    def build(made: HandMade) -> None:
        for number in (1, 2, 3):
            made.state(number, [made.manifest([foreign_file("a")])])
        made.pointer(3)

    build_on(store, build)
    Table(store, FakeAmbient(), one_thread()).truncate_history()
    assert Table(store, FakeAmbient(), one_thread()).metadata.id == "table-at-0"


def test_a_damaged_newest_state_stops_it_before_what_could_replace_it_goes(world: World) -> None:
    world.table.checkpoint()
    before = world.names()
    victim = world.reopened().snapshot().log.state
    assert victim is not None
    world.store.put(f"_transaction_log/{victim.manifests[-1].path}", b"damaged")
    with pytest.raises(CorruptTable):
        world.reopened().truncate_history()
    assert world.names() == before


def test_a_failed_delete_is_an_error_that_says_what_is_left(world: World) -> None:
    store = FaultyStore(world.store, on("delete", Fault.REFUSED, key=version_key(4)))
    report = world.reopened(store).truncate_history()
    assert (report.status, report.versions_deleted) == ("ERROR", 4)
    assert "left for the next run" in report.message


def test_after_a_kill_at_any_step_the_table_reads_as_before_and_has_no_error(world: World) -> None:
    before = world.table.snapshot().paths()

    def work(store: Store) -> None:
        world.reopened(store).truncate_history()

    killed = set()
    for death in deaths(lambda: copied(world.store, world.clock), work):
        after = world.reopened(death.store, seed="after")
        assert after.snapshot().paths() == before, death.step
        assert after.verify().of(Severity.ERROR) == [], death.step
        killed.add(death.step.operation)
    assert {"create", "swap", "delete", "list"} <= killed


def test_the_pointer_is_the_last_thing_read_before_the_first_delete(world: World) -> None:
    """It only moves forward, so what lies below it then stays below."""
    store = FaultyStore(world.store)
    world.reopened(store).truncate_history()
    first_delete = next(place for place, step in enumerate(store.steps) if step.operation == "delete")
    assert store.steps[first_delete - 1].key == POINTER


def test_a_clock_that_is_a_month_ahead_makes_no_manifest_old() -> None:
    """Break: tell ages by this machine's clock alone. Another process may be about to name the manifest in its state."""
    clock = FakeAmbient()
    store = MemoryStore(clock)
    new_table(store, ambient=clock)
    store.put("_transaction_log/manifests/manifest-0123456789abcdef.avro", b"of a state that is being made")
    ahead = FakeAmbient("ahead")
    ahead.advance(hours=30 * 24)
    opened(store, ambient=ahead).truncate_history()
    assert store.head("_transaction_log/manifests/manifest-0123456789abcdef.avro") is not None
