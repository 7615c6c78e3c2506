"""States beside commits: written every interval, never in the way, and enough to recover from."""

from headgate_committer.committer import Committer
from headgate_committer.versions.known_versions import OwnVersions
from headgate_committer.versions.version_log import LoadedVersions
from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Delete,
    Operation,
    Purge,
    Receipt,
    RejectCode,
    Rejected,
    Restore,
    Writer,
)
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.version_file import encode_actions
from support.committing.by_hand import ByHand
from support.committing.rig import TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, on
from support.tables import add_file


def _appended(rig: Rig, count: int, *, interval: int = 3) -> None:
    committer = rig.committer()
    for number in range(count):
        rig.append(f"f{number}", writer=Writer("job", number))
        rig.settle(committer)
    committer.close()


def test_a_state_is_written_every_interval() -> None:
    rig = Rig(interval=3)
    _appended(rig, 7)
    assert [version for version in range(9) if rig.stores[TABLE].head(state_key(version)) is not None] == [3, 6]


def test_a_state_that_can_not_be_written_delays_no_commit() -> None:
    rig = Rig(interval=2)
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, key="state-v", times=1_000))
    committer = rig.committer(stores={TABLE: store})
    ids = []
    for number in range(6):
        ids.append(rig.append(f"f{number}"))
        rig.settle(committer)
    receipts = rig.receipts()
    assert [receipts[proposal] for proposal in ids] == [
        Committed(number + 1, proposal) for number, proposal in enumerate(ids)
    ]
    assert rig.table().snapshot().num_files == 6


def test_what_came_while_a_state_was_written_stays_on_top_of_it() -> None:
    rig = Rig(interval=2)
    _appended(rig, 9)
    assert rig.table().snapshot().num_files == 9
    assert rig.table().verify(data_files=False).ok


def test_a_restore_is_followed_at_once_by_a_state() -> None:
    rig = Rig(interval=100)
    committer = rig.committer()
    rig.settle(committer)
    for name in ("a", "b"):
        rig.append(name)
        rig.settle(committer)
        rig.stores[TABLE].put(f"{name}.parquet", b"rows")
    rig.propose(Delete(("a.parquet",)))
    rig.settle(committer)
    back = rig.propose(Restore(2))
    rig.settle(committer)
    assert rig.receipts()[back] == Committed(4, back)
    assert rig.stores[TABLE].head(state_key(4)) is not None
    assert sorted(rig.table().snapshot().paths()) == ["a.parquet", "b.parquet"]


def test_a_compaction_that_was_planned_on_an_older_state_keeps_what_came_since() -> None:
    rig = Rig(interval=2)
    committer = rig.committer()
    rig.settle(committer)
    for number in range(4):
        rig.append(f"f{number}")
        rig.settle(committer)
    for operation in (Delete(("f1.parquet",)), Append((add_file("f4"),))):
        rig.propose(operation)
        rig.settle(committer)
    operations: list[Operation] = []

    def proposed(operation: Operation) -> Receipt:
        operations.append(operation)
        return Committed(0, "later")

    rig.table(commit=proposed).compact()
    (swap,) = operations
    rig.propose(Delete(("f0.parquet",)))
    rig.append("later")
    rig.settle(committer)
    compacted = rig.propose(swap)
    rig.settle(committer)
    assert isinstance(rig.receipts()[compacted], Committed)
    assert sorted(rig.table().snapshot().paths()) == ["f2.parquet", "f3.parquet", "f4.parquet", "later.parquet"]
    assert rig.table().verify(data_files=False).ok


def test_a_purged_path_can_not_be_added_behind_the_purge() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.propose(Purge(("orphan.parquet",)))
    late = rig.append("orphan")
    rig.settle(committer)
    refused = rig.receipts()[late]
    assert isinstance(refused, Rejected)
    assert refused.code is RejectCode.PATH_IN_USE


def test_a_path_that_is_proposed_before_the_purge_is_not_purged() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    first = rig.append("file")
    purge = rig.propose(Purge(("file.parquet",)))
    rig.settle(committer)
    receipts = rig.receipts()
    assert receipts[first] == Committed(1, first)
    refused = receipts[purge]
    assert isinstance(refused, Rejected)
    assert refused.code is RejectCode.STILL_NEEDED


def test_direct_commits_and_coordinated_ones_share_a_table() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.table().append([add_file("direct")])
    proposal = rig.append("proposed")
    rig.settle(committer)
    assert rig.receipts()[proposal] == Committed(2, proposal)
    assert sorted(rig.table().snapshot().paths()) == ["direct.parquet", "proposed.parquet"]


def test_a_version_that_came_meanwhile_is_announced_too() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.table().append([add_file("direct")])
    rig.propose(Append((add_file("proposed"),)))
    rig.settle(committer)
    assert [commit.version for commit in rig.commits()] == [0, 1, 2]


def test_a_table_is_compacted_through_the_bus_again_and_again() -> None:
    rig = Rig(interval=100)
    committer = rig.committer()
    rig.settle(committer)

    def proposed(operation: Operation) -> Receipt:
        proposal = rig.propose(operation)
        rig.settle(committer)
        return rig.receipts()[proposal]

    for turn in range(3):
        for number in range(4):
            rig.append(f"f{turn}-{number}")
            rig.settle(committer)
        rig.propose(Delete((f"f{turn}-0.parquet",)))
        rig.settle(committer)
        receipt = rig.table(commit=proposed).compact()
        assert isinstance(receipt, Committed), receipt
    assert rig.table().snapshot().num_files == 9
    assert rig.table().describe().num_tombstones == 0


def _states(rig: Rig) -> list[int]:
    return [version for version in range(20) if rig.stores[TABLE].head(state_key(version)) is not None]


def _behind(rig: Rig, background: ByHand, *, stores: dict[str, FaultyStore] | None = None) -> Committer:
    """A committer that has committed versions 1 to 5 while the state of version 2 waits to be written."""
    rig.create_first()
    committer = rig.committer(background=background, stores=stores)
    for number in range(5):
        rig.append(f"f{number}")
        rig.settle(committer)
    assert _states(rig) == []
    return committer


def test_a_state_that_was_due_meanwhile_does_not_wait_for_the_next_commit() -> None:
    rig, background = Rig(interval=2), ByHand()
    committer = _behind(rig, background)
    background.let_go()
    committer.step(0.0)
    background.let_go()
    assert _states(rig) == [2, 5]
    committer.step(0.0)
    assert background.waiting == []
    assert rig.table().snapshot().num_files == 5
    assert rig.table().verify(data_files=False).ok


def test_a_state_that_waits_for_a_failed_one_is_tried_once() -> None:
    rig, background = Rig(interval=2), ByHand()
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, key="state-v", times=1_000))
    committer = _behind(rig, background, stores={TABLE: store})
    for _ in range(3):
        background.let_go()
        committer.step(0.0)
    assert background.waiting == []
    rig.append("g")
    rig.settle(committer)
    assert len(background.waiting) == 1


def test_a_state_that_was_passed_over_is_begun_though_a_read_failed_at_first() -> None:
    rig, background = Rig(interval=2), ByHand()
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE])
    committer = rig.committer(background=background, stores={TABLE: store}, caches=False)
    for number in range(2):
        rig.append(f"f{number}")
        rig.settle(committer)
    rig.stores[TABLE].put(version_key(3), encode_actions([add_file("theirs"), CommitInfo({"operation": "WRITE"})]))
    for number in range(2):
        rig.append(f"g{number}")
        rig.settle(committer)
    background.let_go()
    store.plan = on("get", Fault.REFUSED, key=version_key(3))
    committer.step(0.0)
    committer.step(0.0)
    assert [lane.is_settled for lane in committer._lanes.values()] == [True]
    for _ in range(4):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
        background.let_go()
    assert _states(rig) == [2, 5]
    assert rig.table().snapshot().num_files == 5


def test_what_lies_below_a_state_of_somebody_else_is_held_no_longer() -> None:
    """Break: own versions are let go of only when a state of ours comes."""
    rig = Rig(interval=3)
    committer = rig.committer()
    rig.settle(committer)
    held: list[int] = []
    for number in range(6):
        rig.append(f"f{number}")
        rig.settle(committer)
        table = rig.table()
        table.append([add_file(f"theirs{number}")])
        table.checkpoint()
        (lane,) = committer._lanes.values()
        loaded = lane._committers[TABLE]._table
        assert isinstance(loaded, LoadedVersions)
        held.append(len(loaded.log._own._held))
    assert max(held) <= 2
    assert rig.table().snapshot().num_files == 12
    assert rig.table().verify(data_files=False).ok


def test_where_no_states_are_written_the_oldest_versions_are_read_again() -> None:
    """Break: all that was ever written is held."""
    own = OwnVersions(max_actions=5)
    for version in range(4):
        own.add(version, [add_file(f"f{version}"), CommitInfo({})])
    assert [version for version in range(4) if own.get(version) is not None] == [2, 3]
    own.base_on(2)
    own.add(4, [add_file("f4"), CommitInfo({})])
    assert [version for version in range(5) if own.get(version) is not None] == [3, 4]


def test_a_new_state_is_ready_to_be_searched_when_the_next_proposal_comes() -> None:
    rig = Rig(interval=3)
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE])
    committer = rig.committer(stores={TABLE: store})
    for number in range(3):
        rig.append(f"f{number}")
        rig.settle(committer)
    assert _states(rig) == [3]
    before = len(store.steps)
    rig.append("g")
    rig.settle(committer)
    assert [step.operation for step in store.steps[before:]] == ["create", "head"]


def test_files_of_unknown_size_stop_neither_commits_nor_states() -> None:
    """Break: `StateWriter._plan` writes a total that no long can say; what Avro raises then is none of our errors."""
    rig = Rig(interval=1)
    rig.create_first()
    committer = rig.committer()
    ids = []
    for number in range(3):
        ids.append(rig.propose(Append((add_file(f"f{number}", 2**63 - 1),))))
        rig.settle(committer)
    committer.close()
    receipts = rig.receipts()
    assert all(isinstance(receipts[proposal], Committed) for proposal in ids)
    assert [version for version in range(5) if rig.stores[TABLE].head(state_key(version)) is not None] == [1, 2, 3]
