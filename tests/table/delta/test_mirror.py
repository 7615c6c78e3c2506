"""Publishing a mirror: in order, once each, whoever does it and wherever it dies; and what stops it."""

import json
from collections.abc import Callable

import pytest

from headgate_schemas.messages.operations import Alter, Committed
from headgate_table.delta.mirror import HISTORY, DeltaMirror, MirrorStopped
from headgate_table.delta.names import FOLDER, LAST_CHECKPOINT, checkpoint_key, commit_key
from headgate_table.delta.schema import Unmirrorable
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import World, copied, one_thread
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore

MIRRORED = {"mirror__formats": "delta", "mirror__checkpointInterval": "4"}


def world_of(appends: int = 3, **settings: str) -> World:
    world = World(store=None, interval=3, **{**MIRRORED, **settings})
    world.appends(appends)
    return world


def mirror_of(table: Table) -> DeltaMirror:
    return DeltaMirror(table.reader, table.options)


def commits(store: Store) -> dict[int, bytes]:
    keys = [info.key for info in store.list(f"{FOLDER}/") if info.key.endswith(".json")]
    return {int(key[-25:-5]): store.get(key) for key in keys}


def replayed(store: Store, version: int) -> set[str]:
    """The live files of a version, by the commits alone."""
    live: set[str] = set()
    for number, data in sorted(commits(store).items()):
        for line in data.splitlines():
            action = json.loads(line)
            if number <= version and "add" in action:
                live.add(action["add"]["path"])
            if number <= version and "remove" in action:
                live.discard(action["remove"]["path"])
    return live


def is_mirrored(world: World) -> None:
    for version in range(world.table.version + 1):
        assert replayed(world.store, version) == set(world.table.snapshot(version).paths()), version


def test_every_version_has_a_commit_of_its_number() -> None:
    world = world_of(3)
    world.accepted(world.table.delete(paths=[world.table.snapshot().paths()[0]]))
    published = world.table.mirror()
    assert (published.first, published.version, published.commits) == (0, 4, 5)
    assert list(commits(world.store)) == [0, 1, 2, 3, 4]
    is_mirrored(world)
    assert world.table.mirror().commits == 0
    world.append()
    world.accepted(world.table.compact())
    world.accepted(world.table.restore(3))
    assert world.table.mirror().first == 5
    is_mirrored(world)


def test_a_table_without_the_setting_is_mirrored_by_hand_as_well() -> None:
    world = World(store=None)
    world.appends(2)
    assert world.table.mirror().version == 2
    assert world.table.describe().mirror_version is None


def test_describe_says_how_far_the_mirror_is() -> None:
    world = world_of(2)
    assert (world.table.describe().mirror_version, world.table.describe().mirror_problem) == (-1, "")
    world.table.mirror()
    world.append()
    assert world.table.describe().mirror_version == 2
    world.store.put(commit_key(3), b'{"commitInfo":{}}\n')
    assert "no mirror wrote its version 3" in world.table.describe().mirror_problem


def test_checkpoints_come_every_so_many_commits() -> None:
    world = world_of(3)
    assert world.table.mirror().checkpoint is None
    world.append()
    assert world.table.mirror().checkpoint == 4
    hint = json.loads(world.store.get(LAST_CHECKPOINT))
    assert (hint["version"], hint["numOfAddFiles"]) == (4, 4)
    world.appends(3)
    assert world.table.mirror().checkpoint is None
    world.append()
    assert world.table.mirror().checkpoint == 8


def test_schemas_evolve_along() -> None:
    world = world_of(1)
    world.table.mirror()
    schema = json.loads(world.table.metadata.schema_string)
    schema["fields"].append({"name": "more", "type": "timestamp_ntz", "nullable": True, "metadata": {}})
    receipt = world.table.commit(Alter(based_on=1, schema_string=json.dumps(schema)))
    assert isinstance(receipt, Committed)
    world.append()
    world.table.mirror()
    names = [[next(iter(json.loads(line))) for line in data.splitlines()] for data in commits(world.store).values()]
    assert ["metaData" in each and "protocol" in each for each in names] == [True, False, True, False]


def test_a_mirror_begins_with_a_checkpoint_where_the_first_versions_are_gone() -> None:
    world = world_of(9)
    world.table.truncate_history()
    first = min(world.versions())
    assert first > 0
    published = world.table.mirror()
    assert published.first > 0
    assert [*commits(world.store)] == [*range(published.first, 10)]
    assert world.store.head(checkpoint_key(published.first)) is not None
    assert json.loads(world.store.get(LAST_CHECKPOINT))["version"] >= published.first


def test_a_mirror_that_was_left_behind_begins_anew() -> None:
    """Version files that it lacks were cleaned, as while the setting was off."""
    world = World(store=None)
    world.appends(2)
    world.table.mirror()
    world.appends(8)
    world.table.truncate_history()
    published = world.table.mirror()
    assert min(commits(world.store)) == published.first > 3
    assert world.table.mirror().commits == 0


def test_of_a_long_history_the_newest_part_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.delta.mirror.HISTORY", 4)
    assert HISTORY == 1_000
    world = world_of(12)
    published = world.table.mirror()
    assert published.first >= 8
    assert [*commits(world.store)] == [*range(published.first, 13)]


# ---- others, and deaths


def test_mirrors_side_by_side_write_the_same_bytes() -> None:
    world = world_of(5)
    other = world.reopened()
    alone = copied(world.store, world.clock)
    Table(alone, world.clock, other.reader.resources, world.settings).mirror()
    # The other one publishes everything in the middle of the first one's run.
    asked: list[int] = []

    def overtaken() -> None:
        asked.append(1)
        if len(asked) == 3:
            other.mirror()

    DeltaMirror(world.table.reader, world.table.options, overtaken).publish()
    assert commits(world.store) == commits(alone)
    is_mirrored(world)


def prepared() -> MemoryStore:
    world = world_of(3)
    world.table.mirror()
    world.appends(2)
    store = world.store
    assert isinstance(store, MemoryStore)
    return store


@pytest.mark.parametrize(
    "make", [prepared, lambda: world_of(5).store, lambda: _left_behind().store], ids=["on", "new", "gap"]
)
def test_a_mirror_killed_at_any_step_is_finished_by_the_next(make: Callable[[], Store]) -> None:
    settings = {"mirror.formats": "delta", "mirror.checkpointInterval": "4"}

    def publish(store: Store) -> object:
        return Table(store, FakeAmbient(), one_thread(), settings).mirror()

    whole = make()
    publish(whole)
    for death in deaths(make, publish):
        publish(death.store)
        assert commits(death.store) == commits(whole), death.step


def _left_behind() -> World:
    world = World(store=None)
    world.appends(2)
    world.table.mirror()
    world.appends(8)
    world.table.truncate_history()
    return world


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_a_lost_answer_is_looked_up(fault: Fault) -> None:
    world = world_of(2)
    store = FaultyStore(world.store, on("create", fault, key=FOLDER))
    table = world.reopened(store)
    assert table.mirror().commits == 3
    is_mirrored(world)


# ---- what stops it


def foreign(version: int) -> bytes:
    return (
        json.dumps({"commitInfo": {"timestamp": version, "operation": "WRITE", "engineInfo": "Apache-Spark"}}).encode()
        + b"\n"
    )


@pytest.mark.parametrize("when", ["before the table's next version", "after it"])
def test_a_foreign_commit_stops_the_mirror_until_it_is_made_anew(when: str) -> None:
    world = world_of(2)
    world.table.mirror()
    world.store.put(commit_key(3), foreign(3))
    if when == "after it":
        world.append()
    before = commits(world.store)
    with pytest.raises(MirrorStopped, match=r"--rebuild"):
        world.table.mirror()
    assert commits(world.store) == before
    published = world.table.mirror(rebuild=True)
    assert (published.first, published.version) == (0, world.table.version)
    is_mirrored(world)


def test_a_foreign_commit_under_the_newest_is_found_when_it_is_reached() -> None:
    """Somebody's program took the number that the mirror was about to write."""
    world = world_of(2)

    def overtaken() -> None:
        if commit_key(1) in {info.key for info in world.store.list(f"{FOLDER}/")}:
            world.store.put(commit_key(2), foreign(2))

    with pytest.raises(MirrorStopped, match="no mirror wrote its version 2"):
        DeltaMirror(world.table.reader, world.table.options, overtaken).publish()
    assert commits(world.store)[2] == foreign(2)


def test_a_table_that_was_put_back_to_an_earlier_copy_stops_the_mirror() -> None:
    world = world_of(2)
    copy = copied(world.store, world.clock)
    world.append()
    world.table.mirror()
    for key, data in ((info.key, world.store.get(info.key)) for info in world.store.list(f"{FOLDER}/")):
        copy.put(key, data)
    table = world.reopened(copy)
    with pytest.raises(MirrorStopped, match="it has version 3, and the table is at version 2"):
        table.mirror()
    table.append([world.write()])
    with pytest.raises(MirrorStopped, match="put back to an earlier copy"):
        table.mirror()
    assert table.mirror(rebuild=True).version == 3


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_delta_table_of_its_own_is_never_touched(rebuild: bool) -> None:
    world = world_of(2)
    world.store.put(commit_key(0), foreign(0))
    with pytest.raises(MirrorStopped):
        world.table.mirror(rebuild=rebuild)
    assert commits(world.store) == {0: foreign(0)}


def test_a_mirror_that_was_deleted_is_made_anew() -> None:
    world = world_of(5)
    world.table.mirror()
    before = commits(world.store)
    world.store.delete([info.key for info in world.store.list(f"{FOLDER}/")])
    world.table.mirror()
    assert commits(world.store) == before


def test_a_table_of_split_files_is_refused_by_name() -> None:
    world = world_of(0)
    file = world.write()
    world.accepted(world.table.append([type(file)("a.split", {}, 1, 1)]))
    with pytest.raises(Unmirrorable, match=r"a\.split is a \.split file"):
        world.table.mirror()


# ---- cleaning


def test_cleaning_leaves_what_the_mirror_has_not_published() -> None:
    world = world_of(3, mirror__retention__hours="48", purge__txLogRetentionHours="1", state__retention__hours="1")
    world.table.mirror()
    file = world.append(hours=0)
    world.accepted(world.table.delete(paths=[file.path]))
    world.clock.advance(hours=24 * 60)
    world.appends(6, hours=24 * 20)
    assert world.table.purge(older_than_hours=24).status == "SUCCESS"
    assert world.store.head(file.path) is not None
    assert set(range(4, 12)) <= set(world.versions())
    world.table.mirror()
    world.table.purge(older_than_hours=24)
    assert world.store.head(file.path) is not None, "the mirror has just published its removal"
    world.table.truncate_history()
    assert set(range(4, 12)) <= set(world.versions())
    world.clock.advance(hours=50)
    world.table.purge(older_than_hours=24)
    assert world.store.head(file.path) is None
    is_readable = set(world.table.snapshot().paths())
    assert all(world.store.head(path) for path in is_readable)


def test_old_commits_of_the_mirror_go_with_the_tables_versions() -> None:
    world = world_of(9, purge__txLogRetentionHours="1", state__retention__hours="1", mirror__retention__hours="24")
    for _ in range(3):
        world.table.mirror()
        world.appends(5)
    world.table.mirror()
    world.clock.advance(hours=24 * 60)
    report = world.table.purge(older_than_hours=24)
    left = commits(world.store)
    base = min(left)
    assert 0 < base <= min(world.versions())
    assert world.store.head(checkpoint_key(base)) is not None
    assert "objects of a mirror" in report.message
    assert world.table.mirror().commits == 0
