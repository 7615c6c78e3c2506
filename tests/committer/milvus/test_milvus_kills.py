"""A committer of a Milvus table is killed at every step that it takes with store and bus; its successor brings the same end."""

import pytest

from support.committing.kills import Publishing, survives
from support.committing.milvus_play import PROPOSED, check_end, check_receipts, lay_foreign_versions
from support.committing.rig import TABLE, Rig
from support.committing.transactions import deleting, foreign_commit, newest, record_of
from support.stores.faulty import Fault, FaultyStore, Step, at, no_faults

SUCCESSOR = "a successor"
"""Terms that are equal go by name, and this is the earlier one."""


def _proposed() -> tuple[Rig, list[str]]:
    rig = Rig(create=False)
    lay_foreign_versions(rig.stores[TABLE])
    return rig, [rig.propose(operation, writer=writer) for operation, writer in PROPOSED]


def _check(rig: Rig, ids: list[str]) -> None:
    check_end(rig.stores[TABLE], rig.events(), ids)


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
    assert survives(rig, rig.committer(SUCCESSOR))
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
    assert survives(rig, rig.committer(SUCCESSOR))
    _check(rig, ids)


@pytest.mark.parametrize("step", [step.number for step in STEPS if step.writes])
def test_foreign_versions_after_a_kill_change_nothing_of_what_was_decided(step: int) -> None:
    rig, ids = _proposed()
    store = FaultyStore(rig.stores[TABLE], at(step, Fault.KILL_AFTER))
    survives(rig, rig.committer("first", stores={TABLE: store}))
    foreign_commit(rig.stores[TABLE], deleting("theirs"))
    assert survives(rig, rig.committer(SUCCESSOR))
    told = check_receipts(rig.events(), ids)
    accepted: list[str] = []
    for version in range(1, newest(rig.stores[TABLE]) + 1):
        record = record_of(rig.stores[TABLE], version)
        if record is not None and record.commit is not None:
            accepted += [decision.id for decision in record.commit.decisions if decision.accepted]
    assert sorted(accepted) == sorted(
        identity for identity in ids if isinstance(told[identity], int) and identity != ids[5]
    )
