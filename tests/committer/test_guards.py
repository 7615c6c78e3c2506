"""A bus that was rebuilt, trimmed or restored from a copy is not believed, and a rebind is an operator's way on."""

import pytest

from headgate_bus.interface import Extent, Topic
from headgate_committer.committer import DEFAULT_GROUP
from headgate_committer.guards import refusal
from headgate_committer.rebind import rebind
from headgate_schemas.operations import Append, Committed, Duplicate, Writer
from headgate_schemas.sources import Source
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.memory import TableMemory
from headgate_table.indextables.options import table_options
from support.committing.rig import TABLE, Rig
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
    assert refusal("t", memory, HERE, extent, committed) is None


@pytest.mark.parametrize(
    ("memory", "extent", "committed", "said"),
    [
        (_memory(Source("other", "topic", 0)), Extent(0, 100), None, "not this bus"),
        (_memory(Source("cluster", "again", 0)), Extent(0, 100), None, "not this bus"),
        (_memory(Source("cluster", "topic", 3)), Extent(0, 100), None, "came on partition 0"),
        (_memory(position=101), Extent(0, 100), 60, "truncated"),
        (_memory(position=10), Extent(40, 100), 30, "may have been lost"),
        (_memory(position=10), Extent(40, 100), None, "may have been lost"),
        (_memory(None), Extent(40, 100), 30, "may have been lost"),
    ],
)
def test_a_log_that_can_not_be_the_one_is_refused(
    memory: TableMemory, extent: Extent, committed: int | None, said: str
) -> None:
    reason = refusal("t", memory, HERE, extent, committed)
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
