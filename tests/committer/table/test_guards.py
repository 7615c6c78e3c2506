"""A bus that was rebuilt, trimmed or restored from a copy is not believed, and a rebind is an operator's way on."""

from dataclasses import replace

import pytest

from headgate_bus.interface import Extent, Message, Topic
from headgate_committer.committer import DEFAULT_GROUP
from headgate_committer.feed.guards import feed_mismatch
from headgate_committer.feed.tail import log_truncated_reason
from headgate_committer.rebind.rebind import rebind
from headgate_schemas.messages.operations import Append, Committed, Duplicate, Writer
from headgate_schemas.messages.proposals import Proposal, new_proposal
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import CommitRecord, Decision, Settled
from headgate_table.coordination.memory import TableMemory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import table_options
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.committing.rig import NO_LINGER, TABLE, Rig, as_message
from support.tables import add_file, fresh_resources

HERE = Source("cluster", "topic", 0)


def _memory(source: Source | None = HERE, position: int | None = 50) -> TableMemory:
    memory = TableMemory(source=source)
    if source is not None and position is not None:
        memory.positions[source] = position
    return memory


@pytest.mark.parametrize(
    ("memory", "extent", "committed"),
    [
        (_memory(), Extent(0, 100), 60),
        (_memory(), Extent(50, 50), None),
        (_memory(position=10), Extent(40, 100), 40),  # a quiet table behind a trimmed log
        (_memory(None), Extent(7, 100), None),  # a table that nobody fed before
    ],
)
def test_a_table_is_fed_from_where_it_stands(memory: TableMemory, extent: Extent, committed: int | None) -> None:
    assert feed_mismatch("t", memory, HERE, extent, committed) is None


@pytest.mark.parametrize(
    ("memory", "extent", "committed", "said"),
    [
        (_memory(Source("other", "topic", 0)), Extent(0, 100), None, "not this bus"),
        (_memory(Source("cluster", "again", 0)), Extent(0, 100), None, "not this bus"),
        (_memory(Source("cluster", "topic", 3)), Extent(0, 100), None, "came on partition 0"),
        (_memory(position=10), Extent(40, 100), 30, "may have been lost"),
        (_memory(position=10), Extent(40, 100), None, "may have been lost"),
        (_memory(None), Extent(40, 100), 30, "may have been lost"),
    ],
)
def test_a_log_that_can_not_be_the_one_is_refused(
    memory: TableMemory, extent: Extent, committed: int | None, said: str
) -> None:
    reason = feed_mismatch("t", memory, HERE, extent, committed)
    assert reason is not None
    assert said in reason


def _rebind(rig: Rig) -> object:
    return rebind(rig.bus, LogReader(rig.stores[TABLE], fresh_resources()), rig.ambient, table_options)


def _steps(rig: Rig, committer: object, count: int = 6) -> None:
    for _ in range(count):
        committer.step(0.0)  # type: ignore[attr-defined]
        rig.ambient.advance(seconds=20)


def test_a_topic_made_anew_is_refused_until_the_table_is_rebound(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    kept = rig.proposal(Append((add_file("a"),)), writer=Writer("job", 1))
    rig.send(kept)
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    rig.bus.cluster.recreate(Topic.PROPOSALS)
    rig.receipts()
    second = rig.committer("second")
    fresh = rig.append("b")
    rig.send(kept)
    with caplog.at_level("WARNING"):
        _steps(rig, second)
    assert "headgate table rebind" in caplog.text
    assert "headgate table rebind" in second.refused[TABLE]
    assert rig.receipts() == {}
    assert rig.table().version == 1
    _rebind(rig)
    _steps(rig, second)
    assert second.refused == {}
    assert rig.receipts() == {fresh: Committed(3, fresh), kept.id: Duplicate(1, kept.id)}


def test_a_running_committer_notices_that_the_topic_was_made_anew() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.append("a")
    rig.settle(committer)
    rig.bus.cluster.recreate(Topic.PROPOSALS)
    for number in range(5):
        rig.append(f"new-{number}")
    rig.ambient.advance(seconds=20)
    _steps(rig, committer)
    assert rig.table().version == 1


def test_proposals_lost_to_truncation_are_refused_until_the_table_is_rebound() -> None:
    rig = Rig()
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    lost = rig.append("lost")
    kept = rig.append("kept")
    rig.bus.cluster.truncate(Topic.PROPOSALS, 0, rig.bus.extent(Topic.PROPOSALS, 0).next_offset - 1)
    rig.receipts()
    second = rig.committer("second")
    _steps(rig, second)
    assert rig.receipts() == {}
    _rebind(rig)
    _steps(rig, second)
    assert rig.receipts() == {kept: Committed(2, kept)}
    assert lost not in rig.receipts()


def test_a_rebind_of_a_table_that_is_fed_rightly_writes_nothing() -> None:
    rig = Rig()
    rig.settle(rig.committer())
    report = rebind(rig.bus, LogReader(rig.stores[TABLE], fresh_resources()), rig.ambient, table_options)
    assert report.version is None
    assert "nothing to do" in report.reason
    assert rig.table().version == 0


def test_an_offset_that_was_committed_beyond_the_end_of_the_log_ends_no_committer() -> None:
    rig = Rig()
    rig.bus.cluster.group(DEFAULT_GROUP).committed[0] = (
        1_000  # the broker lost the end of the topic, and not the offset
    )
    committer = rig.committer()
    proposal = rig.append("a")
    rig.settle(committer)
    assert rig.receipts()[proposal] == Committed(1, proposal)


def test_a_committer_that_is_behind_a_late_one_refuses_nothing() -> None:
    """Break: refuse positions beyond what was read of the log; a zombie may have read on and decided."""
    rig = Rig()
    old = rig.committer("old")
    rig.settle(old)
    lane = next(iter(old._lanes.values()))
    rig.depose(old)
    new = rig.committer("new", limits=replace(NO_LINGER, poll_records=1))
    rig.settle(new)
    late = [rig.append("a"), rig.append("b")]
    lane.take(rig.bus.reader(Topic.PROPOSALS, {0: 1}).read(0.0))
    lane.work()
    for _ in range(4):
        new.step(0.0)
        assert new.refused == {}
    assert rig.receipts() == {
        f"create-{TABLE}": Committed(0, f"create-{TABLE}"),
        **{proposal: Committed(1, proposal) for proposal in late},
    }


def _tail(record: Message | None = None, *, first: int = 0, end: int = 0) -> str | None:
    """Whether a log that holds this, from there to there, can be the one in which proposal `p1` was decided at offset 1."""
    bus = MemoryBus(FakeAmbient())
    bus.prepare()
    log = bus.cluster.partition(Topic.PROPOSALS, 0)
    bus.append(Topic.PROPOSALS, [as_message(_proposal("p0"))])
    if record is not None:
        bus.append(Topic.PROPOSALS, [record])
    log.next_offset = end
    log.trim(first)
    source = bus.source(0)
    decided = CommitRecord(
        settled=Settled(source, 0, 2, 0),
        decisions=(Decision("p1", accepted=True, offset=1), Decision("p0", accepted=False, offset=0)),
    )
    foreign = CommitRecord(settled=Settled(HERE, 0, 9, 0), decisions=(Decision("p7", accepted=True, offset=1),))
    return log_truncated_reason(TABLE, bus, source, 2, [None, foreign, decided])


def _proposal(identity: str, table: str = TABLE) -> Proposal:
    append = Append((add_file(identity),))
    return new_proposal(append, proposal_id=identity, table=table, created_ms=0, author="test", writer=None)


def test_a_log_that_holds_what_was_decided_last_is_believed() -> None:
    assert _tail(as_message(_proposal("p1")), end=2) is None


def test_a_table_that_was_moved_to_another_address_is_known_by_what_it_decided_at_the_old_one() -> None:
    assert _tail(as_message(_proposal("p1", "memory://old-address")), end=2) is None


def test_a_log_of_which_that_was_trimmed_is_believed() -> None:
    assert _tail(as_message(_proposal("p1")), first=2, end=2) is None


@pytest.mark.parametrize(
    ("record", "end", "said"),
    [
        (None, 1, "ends at 1: it was truncated"),
        (None, 5, "holds nothing there"),
        (as_message(_proposal("p2")), 5, "holds something else there"),
        (Message(TABLE, {}, b"rubbish"), 5, "holds something else there"),
    ],
)
def test_a_log_that_holds_something_else_where_it_was_decided_is_refused(
    record: Message | None, end: int, said: str
) -> None:
    reason = _tail(record, end=end)
    assert reason is not None
    assert said in reason


def test_a_table_that_was_bound_anew_compares_nothing_from_before() -> None:
    bus = MemoryBus(FakeAmbient())
    bus.prepare()
    source = bus.source(0)
    before = CommitRecord(settled=Settled(source, 0, 1, 0), decisions=(Decision("p0", accepted=True, offset=0),))
    bound = CommitRecord(settled=Settled(source, 0, 0, 0), rebound=True)
    assert log_truncated_reason(TABLE, bus, source, 0, [bound, before]) is None


def test_a_file_that_was_restored_from_a_copy_is_refused_until_the_table_is_rebound() -> None:
    rig = Rig()
    first = rig.committer("first")
    rig.settle(first)
    group = rig.bus.cluster.group(DEFAULT_GROUP)
    copied = dict(group.committed)
    for name in ("a", "b"):
        rig.append(name)
        rig.settle(first)
    first.close()
    rig.receipts()
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, 1)
    group.committed = copied
    fresh = [rig.append(f"new-{number}") for number in range(3)]
    second = rig.committer("second")
    _steps(rig, second)
    assert "holds something else" in second.refused[TABLE]
    assert (rig.receipts(), rig.dead_letters()) == ({}, [])
    _rebind(rig)
    _steps(rig, second)
    assert second.refused == {}
    assert rig.receipts() == {proposal: Committed(4, proposal) for proposal in fresh}
