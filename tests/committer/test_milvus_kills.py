"""A committer of a Milvus table is killed at every step that it takes with store and bus; its successor brings the same end."""

from collections.abc import Sequence

import pytest

from headgate_schemas.events import ReceiptEvent
from headgate_schemas.operations import Committed, Duplicate, Receipt, Rejected, Writer
from headgate_table.indextables.memory import MemoryLimits
from headgate_table.milvus.recorded_log import recover_memory
from support.committing.kills import Publishing, survives
from support.committing.rig import TABLE, Rig
from support.committing.transactions import (
    adding,
    deleting,
    fail,
    foreign_commit,
    manifest_of,
    merge,
    names_in,
    newest,
    overwrite,
    record_of,
    recorded,
)
from support.stores.faulty import Fault, FaultyStore, Step, at, no_faults


def _proposed() -> tuple[Rig, list[str]]:
    """Foreign versions lie under what is proposed, so that a committer seals them, and one comes in between."""
    rig = Rig(create=False)
    for name in ("x", "y", "z"):
        foreign_commit(rig.stores[TABLE], adding(name))
    ids = [
        rig.propose(merge(adding("a"))),
        rig.propose(fail(adding("never"), 1)),
        rig.propose(merge(deleting("d")), writer=Writer("job", 1)),
        rig.propose(overwrite(adding("b"), 3)),
        rig.propose(merge(adding("c")), writer=Writer("job", 2)),
        rig.propose(merge(adding("again")), writer=Writer("job", 2)),
        rig.propose(overwrite(adding("last"), 5)),
    ]
    return rig, ids


def _meaning(receipt: Receipt) -> object:
    """A duplicate names the version that the first receipt named."""
    match receipt:
        case Committed(version) | Duplicate(version):
            return version
        case Rejected(code):
            return code


def _check(rig: Rig, ids: Sequence[str]) -> None:
    told: dict[str, list[Receipt]] = {}
    for event in rig.events():
        if isinstance(event, ReceiptEvent):
            told.setdefault(event.proposal, []).append(event.to_receipt())
    assert set(ids) == told.keys()
    assert all(len(set(map(_meaning, receipts))) == 1 for receipts in told.values()), told
    store = rig.stores[TABLE]
    assert names_in(manifest_of(store)) == ["x", "y", "z", "b", "c", "last"]
    accepted: list[tuple[str, int]] = []
    for version in range(4, newest(store) + 1):
        record = record_of(store, version)
        assert record is not None
        assert record.commit is not None
        accepted += [(decision.id, version) for decision in record.commit.decisions if decision.accepted]
        if version == 4:
            assert names_in(manifest_of(store, 4)) == ["x", "y", "z", "a", "d"]
    assert [identity for identity, _ in accepted] == [ids[0], *ids[2:5], ids[6]]
    assert dict(accepted) == {identity: _meaning(told[identity][0]) for identity, _ in accepted}
    standing = recorded(store).stand()
    assert standing is not None
    memory, _ = recover_memory(recorded(store), standing.record, MemoryLimits())
    assert memory.writers["job"][-1] == (2, dict(accepted)[ids[4]])


def _rehearsal() -> tuple[list[Step], int]:
    """The steps of a committer that nothing happens to: with the store, and of announcing."""
    rig, ids = _proposed()
    store = FaultyStore(rig.stores[TABLE], no_faults)
    committer = rig.committer("whole", stores={TABLE: store})
    publishing = Publishing.of(committer)
    assert survives(rig, committer)
    _check(rig, ids)
    return store.steps, publishing.count


STEPS, PUBLISHED = _rehearsal()
DEATHS = [(step.number, Fault.KILL_BEFORE) for step in STEPS]
DEATHS += [(step.number, Fault.KILL_AFTER) for step in STEPS if step.writes]  # a read has no effect to die after


def test_records_and_manifests_are_among_the_steps() -> None:
    written = {step.key.rpartition("/")[0] for step in STEPS if step.writes}
    assert written == {"_headgate/commits", "_metadata"}


@pytest.mark.parametrize(("step", "fault"), DEATHS)
def test_a_committer_killed_at_a_step_of_the_store_loses_and_doubles_nothing(step: int, fault: Fault) -> None:
    rig, ids = _proposed()
    store = FaultyStore(rig.stores[TABLE], at(step, fault))
    assert not survives(rig, rig.committer("first", stores={TABLE: store})), "this step was never killed"
    assert survives(rig, rig.committer("second"))
    _check(rig, ids)


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
@pytest.mark.parametrize("step", [step.number for step in STEPS if step.operation == "create"])
def test_a_committer_that_gets_no_answer_to_a_write_loses_and_doubles_nothing(step: int, fault: Fault) -> None:
    rig, ids = _proposed()
    store = FaultyStore(rig.stores[TABLE], at(step, fault))
    assert survives(rig, rig.committer("first", stores={TABLE: store}))
    _check(rig, ids)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("number", range(1, PUBLISHED + 1))
def test_a_committer_killed_while_it_announces_leaves_nothing_undone(number: int, after: bool) -> None:
    rig, ids = _proposed()
    first = rig.committer("first")
    Publishing.of(first, number, after=after)
    assert not survives(rig, first), "this step was never killed"
    assert survives(rig, rig.committer("second"))
    _check(rig, ids)


@pytest.mark.parametrize("step", [step.number for step in STEPS if step.writes])
def test_foreign_versions_after_a_kill_change_nothing_of_what_was_decided(step: int) -> None:
    rig, ids = _proposed()
    store = FaultyStore(rig.stores[TABLE], at(step, Fault.KILL_AFTER))
    survives(rig, rig.committer("first", stores={TABLE: store}))
    foreign_commit(rig.stores[TABLE], deleting("theirs"))
    assert survives(rig, rig.committer("second"))
    told: dict[str, set[object]] = {}
    for event in rig.events():
        if isinstance(event, ReceiptEvent):
            told.setdefault(event.proposal, set()).add(_meaning(event.to_receipt()))
    assert told.keys() == set(ids)
    assert all(len(meanings) == 1 for meanings in told.values()), told
    accepted: list[str] = []
    for version in range(1, newest(rig.stores[TABLE]) + 1):
        record = record_of(rig.stores[TABLE], version)
        if record is not None and record.commit is not None:
            accepted += [decision.id for decision in record.commit.decisions if decision.accepted]
    assert sorted(accepted) == sorted(
        identity for identity in ids if all(isinstance(m, int) for m in told[identity]) and identity != ids[5]
    )
