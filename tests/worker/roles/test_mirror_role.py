"""The mirror as a role of a worker: versions that a real committer wrote, published in order, and what it says when it can't."""

import json

import pytest

from headgate_schemas.messages.operations import Append, Delete
from headgate_schemas.metrics import MIRROR_BEHIND, MIRROR_STOPPED, MIRROR_VERSIONS
from headgate_table.delta.mirror import MirrorStopped
from headgate_table.delta.names import FOLDER, commit_key
from headgate_worker.roles.interface import Abandoned, MirrorTask
from headgate_worker.roles.mirror import MirrorRole
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.recorded import Recorded
from support.tables import add_file


def mirrored() -> Coordinated:
    return Coordinated(interval=3, mirror__formats="delta")


def versions(world: Coordinated) -> list[int]:
    return [int(info.key[-25:-5]) for info in world.table.store.list(f"{FOLDER}/") if info.key.endswith(".json")]


def test_each_committed_version_is_published() -> None:
    world = mirrored()
    world.appended("a", "b")
    world.worked(MirrorRole(world.tables.open))
    assert versions(world) == [*range(world.table.version + 1)]
    world.done(Append((add_file("c"),)), Delete(("a.parquet",)))
    world.worked(MirrorRole(world.tables.open))
    assert versions(world) == [*range(world.table.version + 1)]
    last = world.table.store.get(commit_key(world.table.version))
    assert [next(iter(json.loads(line))) for line in last.splitlines()] == ["commitInfo", "remove"]
    assert world.operations == [], "a mirror proposes nothing"


def test_a_table_that_asks_for_no_mirror_has_none() -> None:
    world = Coordinated()
    world.appended("a")
    world.worked(MirrorRole(world.tables.open))
    assert versions(world) == []


def test_two_workers_publish_each_version_once() -> None:
    world = mirrored()
    world.appended("a", "b", "c")
    one, other = MirrorRole(world.tables.open), MirrorRole(world.tables.open)
    tasks = [role.look(world.tables.open(TABLE), 0).tasks for role in (one, other)]
    assert tasks == [(MirrorTask(TABLE),)] * 2
    one.run(MirrorTask(TABLE))
    assert other.run(MirrorTask(TABLE)).summary.startswith("0 versions")
    assert versions(world) == [*range(world.table.version + 1)]


def test_a_foreign_commit_is_told_at_each_look_and_nothing_is_overwritten() -> None:
    world = mirrored()
    world.appended("a")
    world.worked(MirrorRole(world.tables.open))
    foreign = b'{"commitInfo":{"engineInfo":"somebody"}}\n'
    number = world.table.version + 1
    world.table.store.put(commit_key(number), foreign)
    world.appended("b")
    recorded = Recorded()
    role = MirrorRole(world.tables.open, measures=recorded)
    assert role.look(world.tables.open(TABLE), 0).tasks == (MirrorTask(TABLE),)
    with pytest.raises(MirrorStopped, match=f"no mirror wrote its version {number}"):
        role.run(MirrorTask(TABLE))
    assert recorded.value(MIRROR_STOPPED) == 1
    assert world.table.store.get(commit_key(number)) == foreign


def test_it_says_how_far_behind_it_is_and_what_it_has_published() -> None:
    world = mirrored()
    world.appended("a", "b")
    recorded = Recorded()
    role = MirrorRole(world.tables.open, measures=recorded)
    role.look(world.tables.open(TABLE), 0)
    assert recorded.value(MIRROR_BEHIND) == world.table.version + 1
    role.run(MirrorTask(TABLE))
    assert (recorded.value(MIRROR_BEHIND), recorded.value(MIRROR_VERSIONS)) == (0, world.table.version + 1)


def test_a_stopping_worker_leaves_the_rest_to_the_next() -> None:
    world = mirrored()
    world.appended("a", "b", "c")
    asked: list[int] = []

    def give_up() -> None:
        asked.append(1)
        if len(asked) > 2:
            raise Abandoned("stopping")

    with pytest.raises(Abandoned):
        MirrorRole(world.tables.open, give_up).run(MirrorTask(TABLE))
    assert versions(world) == [0, 1]
    world.worked(MirrorRole(world.tables.open))
    assert versions(world) == [*range(world.table.version + 1)]
