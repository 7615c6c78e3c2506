"""Reading a table while somebody cleans it: what is still retained reads, what isn't says so, and nothing reads as another."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from headgate_table.errors import CorruptTable, ManifestMissing, VersionNotRetained
from headgate_table.indextables.format.names import resolve_manifest, state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.read.snapshot import LogSnapshot
from support.cleaning import World
from support.logs.foreign_log import as_anothers
from support.stores.faulty import Fault, FaultyStore, Plan, Step
from support.tables import fresh_resources, new_table

MANIFESTS = "_transaction_log/manifests/"


def just_before(operation: str, key: str, act: Callable[[], object]) -> Plan:
    """Somebody does it, once, just before that object is asked for."""
    left = [act]

    def plan(step: Step) -> Fault | None:
        if left and (step.operation, step.key) == (operation, key):
            left.pop()()
        return None

    return plan


def without_states(world: World) -> None:
    """As cleaning leaves a log whose version files are retained for longer."""
    world.store.delete([state_key(number) for number in world.states()])
    world.store.delete([MANIFESTS + name for name in world.names(MANIFESTS)])


def test_the_newest_version_reads_though_a_version_file_goes_that_was_listed_a_moment_ago() -> None:
    world = World(interval=100)
    paths = [file.path for file in world.appends(4)]
    store = FaultyStore(world.store, just_before("get", version_key(0), world.table.truncate_history))
    assert world.reopened(store).snapshot().paths() == paths
    assert world.versions() == [4]


def test_a_log_that_is_followed_reads_though_versions_go_that_were_listed_a_moment_ago() -> None:
    world = World(interval=100)
    first = world.append()
    store = FaultyStore(world.store, just_before("get", version_key(2), world.table.truncate_history))
    reader = LogReader(store, fresh_resources())
    log = reader.latest()
    more = world.appends(3)
    assert LogSnapshot(reader, reader.advance(log)).paths() == [first.path, *(file.path for file in more)]
    assert world.versions() == [4]


def test_an_earlier_version_that_goes_while_it_is_read_is_no_longer_retained() -> None:
    world = World(interval=100)
    world.appends(4)
    store = FaultyStore(world.store, just_before("get", version_key(2), world.table.truncate_history))
    with pytest.raises(VersionNotRetained, match="version 3"):
        world.reopened(store).snapshot(3)


def test_a_version_file_that_is_listed_and_never_there_is_an_error_in_the_end() -> None:
    world = World(interval=100)
    world.appends(2)
    store = FaultyStore(world.store)
    info = next(info for info in world.store.list() if info.key == version_key(1))
    world.store.delete([info.key])
    store.reorder = lambda infos: sorted({*infos, info}, key=lambda listed: listed.key)
    with pytest.raises(CorruptTable, match=r"1\.json doesn't exist\. It was listed a moment ago"):
        world.reopened(store).snapshot()


def test_a_snapshot_whose_state_is_cleaned_reads_from_the_version_files_that_are_left() -> None:
    world = World(interval=3)
    paths = [file.path for file in world.appends(4)]
    held = world.reopened().snapshot()
    without_states(world)
    assert (held.paths(), held.version) == (paths, 4)


def test_a_snapshot_whose_version_is_cleaned_says_what_is_retained() -> None:
    world = World(interval=2)
    world.appends(4)
    held = world.reopened().snapshot(2)
    world.appends(4)
    without_states(world)
    world.table.checkpoint()
    world.store.delete([version_key(number) for number in range(8)])
    with pytest.raises(VersionNotRetained, match="version 2"):
        held.paths()


@pytest.mark.parametrize("knows_file", [True, False])
def test_a_snapshot_never_reads_as_the_table_that_took_the_place_of_its_own(knows_file: bool) -> None:
    world = World(interval=2)
    world.appends(4)
    if not knows_file:
        world.store.delete([version_key(number) for number in world.versions()])
    held = world.reopened().snapshot()
    assert (held.log.seen is not None) is knows_file
    world.store.delete([info.key for info in list(world.store.list())])
    world.clock.advance(hours=1)
    world.table = new_table(world.store, interval=3, ambient=world.clock)
    world.appends(4)
    with pytest.raises(ManifestMissing):
        held.paths()


def test_the_newest_version_is_looked_for_again_where_its_state_goes_before_it_is_read() -> None:
    world = World(interval=3)
    world.appends(4)

    def go_on_and_clean() -> None:
        world.appends(9)
        world.table.truncate_history()

    store = FaultyStore(world.store, just_before("get", state_key(3), go_on_and_clean))
    assert world.reopened(store).snapshot().version == 13
    assert world.states() == [12, 13]


def test_changes_are_told_by_states_where_version_files_go_that_were_listed_a_moment_ago() -> None:
    world = World(interval=3)
    files = world.appends(7)
    cleaned = [version_key(number) for number in range(6)]
    store = FaultyStore(world.store, just_before("get", version_key(4), lambda: world.store.delete(cleaned)))
    told = world.reopened(store).changes(3, 6)
    assert told.added.column("path").to_pylist() == [file.path for file in files[3:6]]


def test_changes_that_nothing_tells_any_more_name_what_is_retained() -> None:
    world = World(interval=100)
    world.appends(4)
    store = FaultyStore(world.store, just_before("get", version_key(2), world.table.truncate_history))
    with pytest.raises(VersionNotRetained):
        world.reopened(store).changes(1)


@pytest.mark.parametrize("gone", [2, 4])
def test_a_history_tells_by_states_or_not_at_all_what_goes_while_it_is_read(gone: int) -> None:
    world = World(interval=2)
    world.appends(4)
    store = FaultyStore(world.store, just_before("get", version_key(gone), world.table.truncate_history))
    told = [(entry.version, entry.source) for entry in world.reopened(store).history()]
    assert told == [(4, "version file"), (3, "version file"), (2, "state")]


def test_a_time_is_found_though_version_files_go_that_were_listed_a_moment_ago() -> None:
    world = World(interval=2)
    world.appends(4)
    store = FaultyStore(world.store, just_before("get", version_key(4), world.table.truncate_history))
    assert world.reopened(store).snapshot(timestamp=world.clock.now_ms()).version == 4


def test_a_snapshot_never_reads_as_another_state_that_took_its_number() -> None:
    world = World(interval=2)
    world.appends(4)
    world.store.delete([version_key(number) for number in world.versions()])
    held = world.reopened().snapshot()
    ours = decode_state(world.store.get(state_key(4)), "ours")
    first, *others = ours.manifests
    again = replace(first, path="manifests/manifest-0123456789abcdef.avro")
    copy = as_anothers(world.store.get(resolve_manifest(first.path, 4, "")))
    world.store.put(MANIFESTS + "manifest-0123456789abcdef.avro", copy)
    world.store.delete([resolve_manifest(info.path, 4, "") for info in ours.manifests])
    theirs = replace(ours, created_at=ours.created_at + 1, manifests=(again,), num_files=first.num_entries)
    world.store.put(state_key(4), encode_state(theirs, bytes(16)))
    assert others
    assert len(world.reopened().snapshot().paths()) == first.num_entries
    with pytest.raises(ManifestMissing):
        held.paths()
