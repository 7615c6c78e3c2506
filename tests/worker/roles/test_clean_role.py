"""Cleaning by a worker: what undecided proposals and their committer need is left alone, and the rest goes in time."""

import pytest

from headgate_bus.claims import put_claim
from headgate_bus.interface import Message, Topic
from headgate_schemas.messages.message_shape import FORMAT
from headgate_schemas.messages.operation_bodies import body_of
from headgate_schemas.messages.operations import Append, CompactState, NewManifest, Operation, Overwrite, Purge, Rewrite
from headgate_schemas.messages.proposals import Proposal, encode_claimed
from headgate_table.indextables.format.names import log_key, version_key
from headgate_worker.loop.worker import COMMITTER_GROUP
from headgate_worker.roles import undecided
from headgate_worker.roles.clean import CleanRole
from headgate_worker.roles.interface import CleanTask
from headgate_worker.roles.undecided import TooMuchUndecided, protected_by
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.tables import add_file


def role(world: Coordinated) -> CleanRole:
    return CleanRole(world.tables.open, world.rig.bus, world.rig.ambient, COMMITTER_GROUP)


def cleaned(world: Coordinated) -> str:
    return role(world).run(CleanTask(TABLE)).summary


def orphan(world: Coordinated, name: str) -> str:
    """A file that no version names, three weeks old."""
    key = f"{name}.parquet"
    world.rig.stores[TABLE].put(key, b"rows")
    world.rig.ambient.advance(hours=24 * 21)
    return key


def protected(world: Coordinated) -> frozenset[str]:
    return protected_by(world.rig.bus, COMMITTER_GROUP, world.table.reader, world.rig.ambient).files


def is_there(world: Coordinated, key: str) -> bool:
    return world.rig.stores[TABLE].head(key) is not None


def test_an_orphan_is_deleted_after_an_accepted_purge() -> None:
    world = Coordinated()
    key = orphan(world, "old")
    cleaned(world)
    assert world.operations == [Purge((key,))]
    assert not is_there(world, key)


def test_a_worker_cleans_a_table_once_a_day() -> None:
    world = Coordinated()
    found = role(world)
    world.worked(found)
    assert [task.table for task in found.plan(world.tables.open(TABLE), 0)] == [TABLE]


@pytest.mark.parametrize(
    "operation",
    [
        Append((add_file("old"),)),
        Overwrite((add_file("old"),)),
        Rewrite(("a.parquet",), (add_file("old"),)),
    ],
)
def test_a_file_that_an_undecided_proposal_adds_is_left_alone(operation: Operation) -> None:
    world = Coordinated()
    key = orphan(world, "old")
    world.rig.propose(operation)
    assert protected(world) == {key}


def test_what_an_undecided_proposal_adds_is_not_even_proposed_for_purge() -> None:
    world = Coordinated()
    key = orphan(world, "old")
    world.rig.append("old")
    cleaned(world)
    assert world.operations == []
    assert is_there(world, key)


def test_what_was_decided_protects_nothing() -> None:
    world = Coordinated()
    world.appended("a")
    assert protected(world) == frozenset()


def test_proposals_of_other_tables_protect_nothing_here() -> None:
    world = Coordinated()
    world.rig.append("old", table="memory://other")
    assert protected(world) == frozenset()


def test_manifests_of_an_undecided_compaction_are_left_alone() -> None:
    world = Coordinated()
    manifest = NewManifest("manifests/manifest-new.avro", 1, 0, 1, 10)
    world.rig.propose(CompactState(1, (), (manifest,)))
    found = protected_by(world.rig.bus, COMMITTER_GROUP, world.table.reader, world.rig.ambient)
    assert found.manifests == {log_key("manifests/manifest-new.avro")}


def claimed(world: Coordinated, operation: Operation) -> Proposal:
    body = encode_claimed(body_of(operation))
    claim = put_claim(world.rig.stores[TABLE], "big", body, files=1, now_ms=world.rig.ambient.now_ms())
    return Proposal(
        format=FORMAT, id="big", table=TABLE, created=world.rig.ambient.now_ms(), author="test", claim=claim
    )


def test_files_behind_a_claim_are_left_alone() -> None:
    world = Coordinated()
    key = orphan(world, "old")
    world.rig.send(claimed(world, Append((add_file("old"),))))
    assert protected(world) == {key}


def test_a_claim_that_is_lost_protects_nothing() -> None:
    """Its proposal will be set aside."""
    world = Coordinated()
    proposal = claimed(world, Append((add_file("old"),)))
    assert proposal.claim is not None
    world.rig.stores[TABLE].delete([proposal.claim.key])
    world.rig.send(proposal)
    assert protected(world) == frozenset()


def test_a_proposal_that_can_not_be_read_here_stops_cleaning() -> None:
    world = Coordinated()
    key = orphan(world, "old")
    world.rig.bus.append(Topic.PROPOSALS, [Message(TABLE, {}, b'{"format": 9}')])
    with pytest.raises(TooMuchUndecided, match="can't be read here"):
        cleaned(world)
    assert is_there(world, key)


def test_a_long_queue_of_proposals_stops_cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undecided, "MAX_PROPOSALS", 2)
    world = Coordinated()
    world.rig.append("a")
    world.rig.append("b")
    assert len(protected(world)) == 2
    world.rig.append("c")
    with pytest.raises(TooMuchUndecided, match="MAX_PROPOSALS"):
        protected(world)


def test_too_many_names_in_proposals_stop_cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undecided, "MAX_PATHS", 1)
    world = Coordinated()
    world.rig.append("a", "b")
    with pytest.raises(TooMuchUndecided, match="MAX_PATHS"):
        protected(world)


# Versions that may have to be announced again


def first_kept(world: Coordinated) -> int | None:
    return protected_by(world.rig.bus, COMMITTER_GROUP, world.table.reader, world.rig.ambient).versions_from


def test_versions_that_were_announced_need_not_stay_but_those_that_come_next_do() -> None:
    world = Coordinated()
    world.appended("a", "b")
    assert first_kept(world) == world.table.version + 1


def committed_at(world: Coordinated, offset: int) -> None:
    world.rig.bus.cluster.group(COMMITTER_GROUP).committed[0] = offset


def test_versions_above_the_committed_offset_stay() -> None:
    """The committer died after it wrote them and before it told anybody."""
    world = Coordinated()
    world.appended("a", "b", "c")
    committed_at(world, 2)
    assert first_kept(world) == 2


def test_with_nothing_committed_every_version_of_the_source_stays() -> None:
    world = Coordinated()
    world.appended("a", "b")
    del world.rig.bus.cluster.group(COMMITTER_GROUP).committed[0]
    assert first_kept(world) == 0


def test_direct_commits_are_not_announced_again() -> None:
    world = Coordinated()
    world.appended("a")
    world.table.append([add_file("direct")])
    assert first_kept(world) == world.table.version + 1


def test_direct_commits_do_not_hide_the_versions_below_them() -> None:
    world = Coordinated()
    world.appended("a", "b", "c")
    world.table.append([add_file("direct")])
    committed_at(world, 2)
    assert first_kept(world) == 2


def damaged(world: Coordinated, version: int) -> None:
    world.rig.stores[TABLE].put(version_key(version), b"\x01\x01 damaged")


def test_a_damaged_version_below_one_that_was_announced_was_announced_as_well() -> None:
    """Break: `_first_unsettled` reads sixteen versions at a time, and takes any damage for the table's."""
    world = Coordinated()
    world.appended("a", "b", "c")
    damaged(world, 2)
    assert first_kept(world) == 4


def test_a_damaged_version_above_all_that_were_announced_may_have_to_be() -> None:
    world = Coordinated()
    world.appended("a", "b", "c")
    committed_at(world, 2)
    damaged(world, 2)
    damaged(world, 3)
    assert first_kept(world) == 2


def test_a_damaged_version_stops_all_cleaning_even_where_no_reader_needs_it() -> None:
    """What it says nobody knows, and a repair may need all that is left. Break: only what can't be read is left."""
    world = Coordinated(interval=2)
    world.appended(*(f"f{number}" for number in range(12)))
    world.rig.ambient.advance(hours=24 * 60)
    world.appended("newest", "and", "more")
    damaged(world, 11)
    before = [info.key for info in world.rig.stores[TABLE].list()]
    cleaned(world)
    assert [info.key for info in world.rig.stores[TABLE].list()] == before


def test_versions_that_may_be_announced_again_are_not_deleted() -> None:
    world = Coordinated(interval=2)
    world.appended(*(f"f{number}" for number in range(12)))
    world.rig.ambient.advance(hours=24 * 60)
    world.appended("newest", "and", "more")
    committed_at(world, 3)
    cleaned(world)
    assert is_there(world, version_key(3))


def test_without_such_need_they_are_deleted() -> None:
    world = Coordinated(interval=2)
    world.appended(*(f"f{number}" for number in range(12)))
    world.rig.ambient.advance(hours=24 * 60)
    world.appended("newest", "and", "more")
    cleaned(world)
    assert not is_there(world, version_key(3))
    assert world.table.verify(data_files=False).ok
