"""Compaction by a worker, judged by a real committer."""

from typing import Any

import pytest

from headgate_schemas.messages.operations import (
    Append,
    CompactState,
    Delete,
    Operation,
    Receipt,
    RejectCode,
    Rejected,
    Rewrite,
)
from headgate_table.errors import CommitConflict, CorruptTable
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_worker.roles.compact import ROUNDS, CompactRole
from headgate_worker.roles.interface import CompactTask
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.tables import add_file


def role(world: Coordinated) -> CompactRole:
    return CompactRole(world.tables.open, world.rig.ambient)


def state(world: Coordinated) -> StateManifest:
    found = world.table.reader.latest().state
    assert found is not None
    return found


def deleted(*names: str) -> Delete:
    return Delete(tuple(f"{name}.parquet" for name in names))


def files(count: int, first: int = 0) -> list[str]:
    return [f"f{number:03d}" for number in range(first, first + count)]


def swaps(world: Coordinated) -> list[CompactState]:
    return [operation for operation in world.operations if isinstance(operation, CompactState)]


def with_tombstones(**settings: str) -> Coordinated:
    """Twelve files, of which four were deleted, and a state that says so."""
    world = Coordinated(interval=1, **settings)
    world.done(Append(tuple(add_file(name) for name in files(12))), deleted(*files(4)))
    return world


def test_tombstones_above_the_threshold_are_compacted() -> None:
    world = with_tombstones()
    assert len(state(world).tombstones) == 4
    world.worked(role(world))
    assert state(world).tombstones == ()
    assert world.paths() == [f"{name}.parquet" for name in files(8, 4)]


def test_tombstones_below_the_threshold_stay() -> None:
    world = with_tombstones(state__compaction__tombstoneThreshold="0.9")
    world.worked(role(world))
    assert world.operations == []


def test_too_many_manifests_are_compacted() -> None:
    world = Coordinated(interval=1)
    world.appended(*files(22))
    assert len(state(world).manifests) > 20
    world.worked(role(world))
    assert len(state(world).manifests) < 5
    assert world.paths() == [f"{name}.parquet" for name in files(22)]


def test_as_many_manifests_as_allowed_stay() -> None:
    world = Coordinated(interval=1)
    world.appended(*files(20))
    world.worked(role(world))
    assert world.operations == []


def test_a_merge_is_followed_by_a_compaction_however_small_it_was() -> None:
    world = Coordinated(interval=1)
    world.done(
        Append(tuple(add_file(name) for name in files(60))),
        Rewrite(("f000.parquet", "f001.parquet"), (add_file("merged", num_records=20),)),
    )
    world.worked(role(world))
    assert len(swaps(world)) == 1
    assert state(world).tombstones == ()
    assert len(world.paths()) == 59


def test_a_merge_before_the_last_compaction_counts_no_more() -> None:
    world = Coordinated(interval=1)
    world.done(
        Append(tuple(add_file(name) for name in files(60))),
        Rewrite(("f000.parquet", "f001.parquet"), (add_file("merged", num_records=20),)),
    )
    world.worked(role(world))
    world.done(deleted("f002"))
    world.worked(role(world))
    assert len(swaps(world)) == 1


def test_a_merge_that_was_decided_with_other_proposals_is_followed_by_a_compaction() -> None:
    """Break: `_due_by_versions` looks for a version whose only operation is a merge."""
    world = Coordinated(interval=1)
    world.done(Append(tuple(add_file(name) for name in files(60))))
    before = world.table.version
    world.rig.append("beside")
    world.rig.propose(Rewrite(("f000.parquet", "f001.parquet"), (add_file("merged", num_records=20),)))
    world.rig.settle(world.committer)
    assert world.table.version == before + 1
    world.worked(role(world))
    assert len(swaps(world)) == 1


def test_a_merge_is_followed_by_a_compaction_although_another_version_is_damaged() -> None:
    """Break: `_due_by_versions` takes any damage for the table's."""
    world = Coordinated(interval=1)
    world.done(
        Append(tuple(add_file(name) for name in files(60))),
        Rewrite(("f000.parquet", "f001.parquet"), (add_file("merged", num_records=20),)),
    )
    world.appended("beside", "late")
    world.rig.stores[TABLE].put(version_key(world.table.version - 1), b"\x01\x01 damaged")
    assert [type(task) for task in role(world).plan(world.tables.open(TABLE), 0)] == [CompactTask]


def test_after_a_merge_nothing_is_compacted_where_the_setting_says_so() -> None:
    world = Coordinated(interval=1, state__compaction__afterMerge="false")
    world.done(
        Append(tuple(add_file(name) for name in files(60))),
        Rewrite(("f000.parquet", "f001.parquet"), (add_file("merged", num_records=20),)),
    )
    world.worked(role(world))
    assert world.operations == []


def test_a_delete_of_few_files_is_no_merge() -> None:
    world = Coordinated(interval=1)
    world.done(Append(tuple(add_file(name) for name in files(60))), deleted("f000"))
    world.worked(role(world))
    assert world.operations == []


def test_one_large_remove_is_compacted_where_the_setting_says_so() -> None:
    world = Coordinated(interval=1, state__compaction__largeRemoveThreshold="2")
    world.done(Append(tuple(add_file(name) for name in files(60))), deleted(*files(3)))
    world.worked(role(world))
    assert len(swaps(world)) == 1


def test_what_was_compacted_is_not_compacted_again() -> None:
    world = with_tombstones()
    world.worked(role(world))
    world.worked(role(world))
    assert len(world.operations) == 1


def test_a_table_without_a_state_is_left_alone() -> None:
    world = Coordinated(interval=100)
    world.appended(*files(3))
    world.worked(role(world))
    assert world.operations == []


def test_with_json_checkpoints_there_is_nothing_to_compact() -> None:
    world = with_tombstones(state__format="json")
    world.worked(role(world))
    assert world.operations == []


def test_what_is_removed_meanwhile_does_not_come_back() -> None:
    world = with_tombstones()
    world.before_deciding = [deleted("f005"), Append((add_file("late"),))]
    world.worked(role(world))
    assert swaps(world)
    assert world.paths() == sorted(["late.parquet", *(f"{name}.parquet" for name in files(8, 4) if name != "f005")])
    assert world.table.verify(data_files=False).ok


def test_a_compaction_that_was_overtaken_is_planned_again() -> None:
    """Another worker was faster: the manifests that this one would replace are no longer referred to."""
    world = with_tombstones()
    faster: list[Operation] = []

    def keep(operation: Operation) -> Receipt:
        faster.append(operation)
        return Rejected(RejectCode.INVALID, "it is proposed later", "none")

    world.rig.table(commit=keep).compact()
    world.before_deciding = faster
    assert role(world).run(CompactTask(TABLE, "due", 12)).version is None
    assert len(world.operations) == 1
    assert world.paths() == [f"{name}.parquet" for name in files(8, 4)]
    assert world.table.verify(data_files=False).ok


def test_a_compaction_that_was_overtaken_and_is_still_due_is_proposed_again() -> None:
    world = with_tombstones()
    faster: list[Operation] = []

    def keep(operation: Operation) -> Receipt:
        faster.append(operation)
        return Rejected(RejectCode.INVALID, "it is proposed later", "none")

    world.rig.table(commit=keep).compact()
    world.before_deciding = [*faster, deleted(*files(4, 4))]
    assert role(world).run(CompactTask(TABLE, "due", 12)).version is not None
    assert len(world.operations) == 2
    assert world.paths() == [f"{name}.parquet" for name in files(4, 8)]


def test_a_compaction_whose_manifests_were_cleaned_up_is_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `run` doesn't look whether the state is still the newest when a manifest is missing."""
    world = with_tombstones()
    late = CompactRole(world.tables.open, world.rig.ambient)
    state_before = world.tables.open(TABLE).reader.latest()
    slow = world.tables.open(TABLE)
    monkeypatch.setattr(slow.reader, "latest", lambda *_: state_before)
    world.worked(role(world))
    assert state_before.state is not None
    world.rig.stores[TABLE].delete([f"_transaction_log/{info.path}" for info in state_before.state.manifests])
    opened = iter([slow])
    monkeypatch.setattr(late, "_open_table", lambda uri: next(opened, None) or world.tables.open(uri))
    assert late.run(CompactTask(TABLE, "due", 12)).version is None
    assert world.paths() == [f"{name}.parquet" for name in files(8, 4)]


def test_a_manifest_that_is_missing_from_the_newest_state_is_told() -> None:
    """Break: `run` takes every damaged table for one that moved on."""
    world = with_tombstones()
    world.rig.stores[TABLE].delete([f"_transaction_log/{info.path}" for info in state(world).manifests])
    with pytest.raises(CorruptTable, match="is missing"):
        role(world).run(CompactTask(TABLE, "due", 12))
    assert world.operations == []


def refused(world: Coordinated, code: RejectCode) -> CompactRole:
    """A role whose proposals are all refused."""
    world.tables = type(world.tables)(
        world.rig.stores, lambda uri: noting(world, code), world.rig.settings, world.rig.ambient
    )
    return role(world)


def noting(world: Coordinated, code: RejectCode) -> Any:
    def commit(operation: Operation) -> Receipt:
        world.operations.append(operation)
        return Rejected(code, "of no use", "none")

    return commit


def test_a_compaction_that_is_overtaken_again_and_again_waits() -> None:
    world = with_tombstones()
    with pytest.raises(CommitConflict, match="of no use"):
        refused(world, RejectCode.BASE_GONE).run(CompactTask(TABLE, "due", 1))
    assert len(world.operations) == ROUNDS


def test_a_compaction_that_is_refused_for_another_reason_is_not_tried_again_at_once() -> None:
    world = with_tombstones()
    with pytest.raises(CommitConflict, match="of no use"):
        refused(world, RejectCode.INVALID).run(CompactTask(TABLE, "due", 1))
    assert len(world.operations) == 1


def test_a_task_that_is_not_needed_any_more_proposes_nothing() -> None:
    world = Coordinated(interval=1)
    world.appended("a")
    assert role(world).run(CompactTask(TABLE, "was due", 1)).version is None
    assert world.operations == []


def test_a_plan_writes_nothing() -> None:
    world = with_tombstones()
    before = {info.key for info in world.rig.stores[TABLE].list()}
    (task,) = role(world).plan(world.tables.open(TABLE), 0)
    assert {info.key for info in world.rig.stores[TABLE].list()} == before
    assert isinstance(task, CompactTask)
    assert task.entries == 12


def test_a_task_weighs_what_it_rewrites() -> None:
    """Break: all manifests of the state are counted, so that a part of a large one waits until nothing else runs."""
    world = Coordinated(interval=1, state__entriesPerManifest="1000")
    world.done(
        Append(tuple(add_file(name) for name in files(300))),
        Append(tuple(add_file(name) for name in files(60, 300))),
        deleted(*files(50, 300)),
    )
    (task,) = role(world).plan(world.tables.open(TABLE), 0)
    assert isinstance(task, CompactTask)
    assert task.entries == 60


def test_a_compaction_is_in_a_state_before_long() -> None:
    world = with_tombstones()
    world.worked(role(world))
    version = world.table.version
    world.appended("next")
    assert any(world.rig.stores[TABLE].head(state_key(number)) for number in (version, version + 1))
