"""A committer is killed at every step that it takes with store and bus; its successor brings the same end."""

from collections.abc import Sequence

import pytest

from headgate_schemas.messages.events import ReceiptEvent
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Delete,
    Duplicate,
    Overwrite,
    Receipt,
    Rejected,
    Writer,
)
from headgate_table.coordination.commit_info import commit_record
from headgate_table.indextables.log.reader import LogReader
from support.committing.kills import Publishing, survives
from support.committing.rig import TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, Step, at, no_faults
from support.tables import add_file, fresh_resources


def _proposed() -> tuple[Rig, list[str]]:
    rig = Rig(interval=2)
    ids = [
        rig.append("a"),
        rig.append("b", writer=Writer("job", 1)),
        rig.propose(Delete(("a.parquet",))),
        rig.propose(Delete(("missing.parquet",))),
        rig.propose(Overwrite((add_file("c"),))),
        rig.append("again", writer=Writer("job", 1)),
        rig.propose(Append((add_file("d"), add_file("e")))),
    ]
    return rig, ids


def _agree(receipts: Sequence[Receipt]) -> bool:
    """A duplicate names the version that the first receipt named."""
    return len({_meaning(receipt) for receipt in receipts}) == 1


def _meaning(receipt: Receipt) -> object:
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
    assert set(ids) <= told.keys()
    assert all(_agree(receipts) for receipts in told.values()), told
    assert sorted(rig.table().snapshot().paths()) == ["c.parquet", "d.parquet", "e.parquet"]
    reader = LogReader(rig.stores[TABLE], fresh_resources())
    listed = reader.full_listing().versions
    assert list(listed) == list(range(len(listed)))
    accepted: list[str] = []
    for version in listed:
        record = commit_record(reader.actions(version))
        assert record is not None
        accepted += [decision.id for decision in record.decisions if decision.accepted]
    assert sorted(accepted) == sorted({*ids, f"create-{TABLE}"} - {ids[3], ids[5]})
    assert rig.table().verify(data_files=False).ok


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


@pytest.mark.parametrize(("step", "fault"), DEATHS)
def test_a_committer_killed_at_a_step_of_the_store_leaves_nothing_undone(step: int, fault: Fault) -> None:
    rig, ids = _proposed()
    store = FaultyStore(rig.stores[TABLE], at(step, fault))
    assert not survives(rig, rig.committer("first", stores={TABLE: store})), "this step was never killed"
    assert survives(rig, rig.committer("second"))
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
