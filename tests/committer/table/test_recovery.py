"""A committer that died leaves nothing undone: its successor knows what was decided, and tells it again."""

import itertools
from collections.abc import Callable

import pytest

from headgate_bus.interface import Topic
from headgate_committer.committer import Committer
from headgate_committer.errors import Overtaken
from headgate_committer.limits import CommitterLimits
from headgate_committer.partition.held_partition import HeldPartition
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Delete,
    Duplicate,
    Operation,
    Rejected,
    Restore,
    Writer,
)
from headgate_table.coordination.commit_info import Term
from headgate_table.errors import StoreError
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.version_file import decode_actions, encode_version
from headgate_table.store.interface import ObjectInfo
from support.committing.rig import TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, Plan, Step, at, on
from support.tables import add_file


class _Unpublished(Exception):
    """The committer ends here."""


def _dies_before_publishing(rig: Rig) -> None:
    """A committer that writes versions and dies before it announces them."""
    committer = rig.committer("first")
    committer._seat.publish = _die  # type: ignore[method-assign,assignment]
    committer.step(0.0)
    for _ in range(3):
        with pytest.raises(_Unpublished):
            committer.step(0.0)
    rig.depose(committer)


def _die(*_: object) -> None:
    raise _Unpublished


def test_what_was_committed_but_not_announced_is_announced_by_the_successor() -> None:
    rig = Rig()
    proposal = rig.append("a", writer=Writer("job", 1))
    missing = rig.propose(Delete(("nothing.parquet",)))
    _dies_before_publishing(rig)
    assert rig.table().version > 0
    rig.settle(rig.committer("second"))
    events = rig.receipts()
    assert events[f"create-{TABLE}"] == Committed(0, f"create-{TABLE}")
    assert events[proposal] == Committed(1, proposal)
    assert isinstance(events[missing], Rejected)
    assert rig.table().snapshot().num_files == 1


def test_versions_that_were_not_announced_are_announced_by_the_successor() -> None:
    rig = Rig()
    rig.append("a")
    _dies_before_publishing(rig)
    rig.settle(rig.committer("second"))
    assert [commit.version for commit in rig.commits()] == [0, 1]


def test_a_version_that_came_too_late_is_not_announced_by_the_successor() -> None:
    """Break: whatever lies below the newest versions is announced, though a late writer may have filled a number cleaned before."""
    rig = Rig(interval=1)
    rig.create_first()
    proposal = rig.append("a")
    _dies_before_publishing(rig)
    assert rig.table().version == 1
    late = decode_actions(rig.stores[TABLE].get(version_key(1)), version_key(1))
    rig.stores[TABLE].put(version_key(0), encode_version(0, late))
    rig.settle(rig.committer("second"))
    told = {
        event.to_receipt() for event in rig.events() if isinstance(event, ReceiptEvent) and event.proposal == proposal
    }
    assert told == {Committed(1, proposal)}


def test_a_replayed_id_after_a_restart_is_a_duplicate() -> None:
    rig = Rig()
    proposal = rig.proposal(Append((add_file("a"),)))
    rig.send(proposal)
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    rig.receipts()
    rig.send(proposal)
    rig.settle(rig.committer("second"))
    assert rig.receipts() == {proposal.id: Duplicate(1, proposal.id)}


@pytest.mark.parametrize("by_seq", [False, True])
def test_a_replay_after_a_state_and_the_end_of_its_version_file_is_a_duplicate(by_seq: bool) -> None:
    rig = Rig(interval=2)
    writer = Writer("job", 5) if by_seq else None
    proposal = rig.proposal(Append((add_file("a"),)), writer=writer)
    rig.send(proposal)
    first = rig.committer("first")
    rig.settle(first)
    for number in range(8):
        rig.append(f"more-{number}")
        rig.settle(first)
    first.close()
    rig.table().truncate_history()
    assert f"_transaction_log/{1:020d}.json" not in [info.key for info in rig.stores[TABLE].list("_transaction_log/")]
    rig.receipts()
    rig.send(proposal)
    rig.settle(rig.committer("second"))
    assert rig.receipts() == {proposal.id: Duplicate(1, proposal.id)}


def test_the_same_rejection_is_given_again_after_a_restart() -> None:
    rig = Rig()
    proposal = rig.proposal(Delete(("nothing.parquet",)))
    rig.send(proposal)
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    before = rig.receipts()[proposal.id]
    rig.append("nothing")
    rig.send(proposal)
    rig.settle(rig.committer("second"))
    assert rig.receipts()[proposal.id] == before


def test_a_successor_claims_a_later_epoch_with_its_first_version() -> None:
    rig = Rig()
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    rig.append("a")
    rig.settle(rig.committer("second"))
    terms = [rig.record(version).term for version in (0, 1)]
    assert terms[0] is not None
    assert terms[1] is not None
    assert terms[1].epoch > terms[0].epoch


def test_a_committer_stops_when_another_works_in_a_later_term() -> None:
    rig = Rig()
    old = rig.committer("old")
    rig.settle(old)
    rig.append("a")
    rig.settle(old)
    rig.depose(old)
    new = rig.committer("new")
    rig.append("b")
    rig.settle(new)
    zombie = next(iter(old._lanes.values()))
    zombie.take(rig.bus.reader(Topic.PROPOSALS, {0: 2}).read(0.0))
    zombie.work()
    with pytest.raises(Overtaken, match="new"):
        zombie.collect()


def test_a_late_version_of_the_predecessor_is_folded_in_and_announced() -> None:
    rig = Rig()
    old = rig.committer("old")
    rig.settle(old)
    late = rig.append("late", writer=Writer("job", 1))
    lane = next(iter(old._lanes.values()))
    lane.take(rig.bus.reader(Topic.PROPOSALS, {0: 1}).read(0.0))
    rig.depose(old)
    # The new committer has read the log; then, before it writes, the old one's version lands.
    store = FaultyStore(rig.stores[TABLE], lambda step: lane.work() if step.key.endswith(f"{1:020d}.json") else None)
    new = rig.committer("new", stores={TABLE: store})
    other = rig.append("other")
    rig.settle(new)
    receipts = rig.receipts()
    assert (receipts[late], receipts[other]) == (Committed(1, late), Committed(2, other))


@pytest.mark.parametrize("late", [Append((add_file("late"),)), Restore(1)], ids=["an append", "a restore"])
def test_a_late_version_may_land_at_any_moment_and_is_decided_once(late: Operation) -> None:
    """Break: what had to be sorted out before the newest version was looked for is decided as it was sorted then."""
    landings = 0
    for step in itertools.count(1):
        rig = Rig(interval=2)
        rig.stores[TABLE].put("a.parquet", b"rows")
        old = rig.committer("old")
        for name in ("a", "b"):
            rig.append(name)
            rig.settle(old)
        proposals = [rig.propose(late), rig.append("other")]
        lane = next(iter(old._lanes.values()))
        lane.take(rig.bus.reader(Topic.PROPOSALS, {0: 3}).read(0.0, 1))
        rig.depose(old)
        store = FaultyStore(rig.stores[TABLE], _working_at(step, lane))
        rig.settle(rig.committer("new", stores={TABLE: store}))
        if step > len(store.steps):
            break
        decided: dict[str, list[int]] = {}
        for version in range(1, rig.table().version + 1):
            for decision in rig.record(version).decisions:
                decided.setdefault(decision.id, []).append(version)
        events = [event for event in rig.events() if isinstance(event, ReceiptEvent)]
        for identity in proposals:
            told = {event.to_receipt() for event in events if event.proposal == identity}
            assert told == {Committed(decided[identity][0], identity)}, (
                f"landed before step {step}, {store.steps[step - 1]}"
            )
        assert all(len(versions) == 1 for versions in decided.values()), decided
        landings += any(rig.record(version).term == Term(1, "old") for version in decided[proposals[0]])
    assert landings > 3, "the late version should often have been first"


def _working_at(step: int, lane: HeldPartition) -> Plan:
    return lambda taken: lane.work() if taken.number == step else None


def test_an_answer_that_was_lost_after_the_write_is_found_out() -> None:
    rig = Rig()
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.LOST_ANSWER, key=f"{1:020d}"))
    committer = rig.committer("second", stores={TABLE: store})
    proposal = rig.append("a")
    rig.settle(committer)
    assert rig.receipts()[proposal] == Committed(1, proposal)
    assert rig.table().version == 1


def test_a_table_whose_store_fails_is_tried_again_and_loses_nothing() -> None:
    rig = Rig()
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, times=3))
    committer = rig.committer(stores={TABLE: store})
    proposal = rig.append("a")
    for _ in range(20):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.receipts()[proposal] == Committed(1, proposal)


def test_a_failing_store_delays_only_its_own_table() -> None:
    rig = Rig("memory://sick", "memory://well")
    store = FaultyStore(rig.stores["memory://sick"], on("create", Fault.REFUSED, times=10_000))
    committer = rig.committer(stores={"memory://sick": store})
    proposal = rig.propose(Append((add_file("a"),)), table="memory://well")
    for _ in range(10):
        committer.step(0.0)
    assert rig.receipts()[proposal] == Committed(1, proposal)
    assert rig.bus.committed("headgate-committer", 0) is None


def test_the_committed_offset_waits_for_the_oldest_undecided_proposal() -> None:
    rig = Rig("memory://sick", "memory://well")
    store = FaultyStore(rig.stores["memory://sick"], on("create", Fault.REFUSED, times=2))
    committer = rig.committer(stores={"memory://sick": store})
    for _ in range(10):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.bus.committed("headgate-committer", 0) == 2


def test_proposals_beyond_the_bound_of_a_failing_table_are_read_again_from_the_bus() -> None:
    rig = Rig()
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, times=5))
    committer = rig.committer(
        "second", stores={TABLE: store}, limits=CommitterLimits(linger_ms=0, queue_proposals=4, poll_records=3)
    )
    ids = [rig.append(f"f{number}") for number in range(30)]
    for _ in range(80):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    receipts = rig.receipts()
    assert [type(receipts.get(proposal)) for proposal in ids] == [Committed] * 30
    assert rig.table().snapshot().num_files == 30
    assert rig.bus.committed("headgate-committer", 0) == rig.bus.extent(Topic.PROPOSALS, 0).next_offset


def test_the_unknown_outcome_of_a_version_is_asked_about_with_the_same_body() -> None:
    rig = Rig()
    rig.create_first()

    class Silent(FaultyStore):
        """The version lands, and then the store says nothing for a while."""

        refusals = 2

        def head(self, key: str) -> ObjectInfo | None:
            if self.refusals and self.count("create"):
                self.refusals -= 1
                raise StoreError("nobody answers")
            return super().head(key)

    store = Silent(rig.stores[TABLE])
    committer = rig.committer("second", stores={TABLE: store})
    proposal = rig.append("a")
    for _ in range(10):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.receipts()[proposal] == Committed(1, proposal)
    assert rig.table().version == 1


def _defect_at(call: int) -> Plan:
    """What is no failure of a store, at the call of that number."""

    def plan(step: Step) -> None:
        if step.number == call:
            raise ZeroDivisionError("a defect of ours")

    return plan


def _refused_at(call: int) -> Plan:
    return at(call, Fault.REFUSED)


def _settled_though_refused(
    rig: Rig, committer: Committer, store: FaultyStore, refused: int, fails: Callable[[int], Plan] = _refused_at
) -> bool:
    """The store refuses the committer one call, and then no more; whether there was such a call."""
    call = len(store.steps) + refused
    store.plan = fails(call)
    for _ in range(8):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    return len(store.steps) >= call


def _announced(rig: Rig) -> tuple[set[int], set[str]]:
    """Versions, and proposals with a receipt."""
    events = rig.events()
    return (
        {event.version for event in events if isinstance(event, CommitEvent)},
        {event.proposal for event in events if isinstance(event, ReceiptEvent)},
    )


@pytest.mark.parametrize("fails", [_refused_at, _defect_at])
def test_a_read_that_fails_once_hides_no_version_that_a_predecessor_left_unannounced(
    fails: Callable[[int], Plan],
) -> None:
    """Break: take a log for loaded although what it has to announce again could not be read."""
    refused = 1
    while True:
        rig = Rig(interval=1)  # so that loading needs no version's own file
        proposals = [rig.append("a"), rig.append("b"), rig.append("c")]
        _dies_before_publishing(rig)
        newest = rig.table().version
        another = rig.append("d")
        store = FaultyStore(rig.stores[TABLE])
        if not _settled_though_refused(rig, rig.committer("second", stores={TABLE: store}), store, refused, fails):
            break
        versions, answered = _announced(rig)
        assert versions == set(range(newest + 2)), f"call {refused} was refused"
        assert answered == {f"create-{TABLE}", *proposals, another}
        refused += 1
    assert refused > 5


def test_a_read_that_fails_once_hides_no_version_of_somebody_else() -> None:
    """Break: take versions in before what they say could be read."""
    refused = 1
    while True:
        rig = Rig()
        store = FaultyStore(rig.stores[TABLE])
        committer = rig.committer("first", stores={TABLE: store}, caches=False)
        rig.settle(committer)
        for name in ("theirs", "theirs, too"):
            rig.table().commit(Append((add_file(name),)))
        proposal = rig.append("ours")
        if not _settled_though_refused(rig, committer, store, refused):
            break
        versions, answered = _announced(rig)
        assert versions == {0, 1, 2, 3}, f"call {refused} was refused"
        assert answered == {f"create-{TABLE}", proposal}
        refused += 1
    assert refused > 3
