"""Proposals on a partition that isn't their table's: set aside without a receipt, and nothing waits for them."""

import pytest

from headgate_bus.interface import Topic
from headgate_committer.committer import DEFAULT_GROUP, Committer
from headgate_committer.rebind.rebind import rebind
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Committed, Create, Duplicate, Writer
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import table_options
from support.committing.rig import TABLE, Rig
from support.tables import COLUMNS, add_file, fresh_resources


def _home(rig: Rig) -> int:
    return rig.bus.partition_of(TABLE)


def _table_on(rig: Rig, partition: int) -> str:
    """The address of a table without a log, whose proposals belong on that partition."""
    return next(uri for number in range(100) if rig.bus.partition_of(uri := f"memory://other-{number}") == partition)


def _committed(rig: Rig, partition: int) -> int | None:
    return rig.bus.committed(DEFAULT_GROUP, partition)


def _end(rig: Rig, partition: int) -> int:
    return rig.bus.extent(Topic.PROPOSALS, partition).next_offset


def _steps(rig: Rig, committer: Committer, count: int = 8) -> None:
    for _ in range(count):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)


def _decided_table(*, partitions: int = 2) -> tuple[Rig, Committer]:
    rig = Rig(partitions=partitions)
    committer = rig.committer()
    rig.append("first")
    rig.settle(committer)
    rig.receipts()
    return rig, committer


def test_a_proposal_on_the_wrong_partition_is_set_aside_without_a_receipt() -> None:
    rig, committer = _decided_table()
    wrong = 1 - _home(rig)
    lost = rig.misplace(rig.proposal(Append((add_file("lost"),))), wrong)
    _steps(rig, committer)
    assert committer.refused == {}
    assert rig.receipts() == {}
    (letter,) = rig.dead_letters()
    assert (letter.proposal, letter.table, letter.partition, letter.code) == (lost, TABLE, wrong, "misplaced")
    assert f"belong on partition {_home(rig)}" in letter.reason
    assert "headgate dead-letters replay" in letter.reason


def test_other_tables_of_the_partition_go_on_and_its_offset_too() -> None:
    rig, committer = _decided_table()
    wrong = 1 - _home(rig)
    rig.misplace(rig.proposal(Append((add_file("lost"),))), wrong)
    uri = _table_on(rig, wrong)
    rig.propose(Create(schema_string_of(COLUMNS)), table=uri)
    _steps(rig, committer)
    assert _committed(rig, wrong) == _end(rig, wrong)


def test_sent_again_to_its_own_partition_it_is_decided_and_nothing_contradicts_that() -> None:
    rig, committer = _decided_table()
    proposal = rig.proposal(Append((add_file("late"),)))
    rig.misplace(proposal, 1 - _home(rig))
    _steps(rig, committer)
    rig.send(proposal)
    _steps(rig, committer)
    assert rig.receipts() == {proposal.id: Committed(2, proposal.id)}


@pytest.mark.parametrize("writer", [None, Writer("job", 1)])
def test_what_was_decided_already_gets_its_receipt_on_any_partition(writer: Writer | None) -> None:
    rig, committer = _decided_table()
    proposal = rig.proposal(Append((add_file("once"),)), writer=writer)
    rig.send(proposal)
    _steps(rig, committer)
    rig.receipts()
    rig.misplace(proposal, 1 - _home(rig))
    _steps(rig, committer)
    assert rig.receipts() == {proposal.id: Duplicate(2, proposal.id)}
    assert rig.dead_letters() == []
    assert rig.table().version == 2


def test_a_table_that_nobody_fed_yet_is_not_bound_to_the_wrong_partition() -> None:
    rig = Rig(partitions=2, create=False)
    rig.table(commit=None)
    home = _home(rig)
    committer = rig.committer()
    rig.misplace(rig.proposal(Create(schema_string_of(COLUMNS)), proposal_id="early"), 1 - home)
    _steps(rig, committer)
    assert [letter.code for letter in rig.dead_letters()] == ["misplaced"]
    created = rig.propose(Create(schema_string_of(COLUMNS)))
    _steps(rig, committer)
    assert rig.receipts() == {created: Committed(0, created)}
    assert rig.record(0).settled is not None
    assert rig.record(0).settled.source.partition == home  # type: ignore[union-attr]


def _grown_topic() -> tuple[Rig, Committer, int]:
    """A table whose proposals belong on another partition since the topic has more of them."""
    rig = Rig(partitions=1)
    committer = rig.committer()
    rig.append("first")
    rig.settle(committer)
    rig.receipts()
    count = next(number for number in range(2, 50) if rig.bus.cluster.home_among(TABLE, number) != 0)
    rig.bus.cluster.add_partitions(Topic.PROPOSALS, count)
    return rig, committer, _home(rig)


def test_partitions_that_were_added_hold_their_tables_until_a_rebind_and_set_nothing_aside() -> None:
    rig, committer, home = _grown_topic()
    assert home != 0
    moved = rig.append("moved")
    _steps(rig, committer)
    assert "Partitions may have been added" in committer.refused[TABLE]
    assert (rig.receipts(), rig.dead_letters()) == ({}, [])
    rebind(rig.bus, LogReader(rig.stores[TABLE], fresh_resources()), rig.ambient, table_options)
    _steps(rig, committer)
    assert rig.receipts() == {moved: Committed(3, moved)}


def test_before_that_rebind_the_old_partition_goes_on_feeding_its_table() -> None:
    rig, committer, _ = _grown_topic()
    old = rig.misplace(rig.proposal(Append((add_file("old"),))), 0)
    _steps(rig, committer)
    assert rig.receipts() == {old: Committed(2, old)}


def test_after_that_rebind_what_comes_on_the_old_partition_is_set_aside() -> None:
    rig, committer, _ = _grown_topic()
    rig.append("moved")
    _steps(rig, committer)
    rebind(rig.bus, LogReader(rig.stores[TABLE], fresh_resources()), rig.ambient, table_options)
    _steps(rig, committer)
    rig.receipts()
    committer.close()
    late = rig.misplace(rig.proposal(Append((add_file("late"),))), 0)
    _steps(rig, rig.committer("next"))
    assert rig.receipts() == {}
    assert [letter.proposal for letter in rig.dead_letters()] == [late]
    assert _committed(rig, 0) == _end(rig, 0)
