"""Proposals for a table that isn't there yet: what their authors were told stays true once the table is made."""

from dataclasses import replace

from headgate_bus.interface import Topic
from headgate_committer.committer import Committer
from headgate_committer.tables import OutsideRoots
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Create, Milvus, RejectCode, Rejected
from headgate_schemas.milvus import DeltaLog, Updates
from headgate_table.indextables.log.reader import LogReader
from support.committing.rig import TABLE, Rig, Stores
from support.tables import COLUMNS, add_file

CREATE = Create(schema_string_of(COLUMNS), ())


def second_group(rig: Rig, name: str = "second") -> Committer:
    """Reads the same proposals from their beginning, beside the first: it is of a release that doesn't look around."""
    rig.bus.cluster.announces = False
    return rig.committer(name, group=name)


def made_directly(rig: Rig) -> None:
    reader = rig.table().reader
    from headgate_table.indextables.write.create import create_table

    create_table(reader, rig.ambient, CREATE)


def codes(rig: Rig, identity: str) -> list[str]:
    """What everybody has been told of the proposal, ever."""
    rig._read[Topic.EVENTS] = 0
    told = [event.to_receipt() for event in rig.events() if getattr(event, "proposal", None) == identity]
    return [each.code.value if isinstance(each, Rejected) else type(each).__name__ for each in told]


def test_what_was_told_before_the_table_was_made_directly_is_told_by_a_second_group() -> None:
    rig = Rig(create=False)
    early = rig.append("early")
    first = rig.committer()
    rig.settle(first)
    made_directly(rig)
    second = second_group(rig)
    rig.settle(second)
    rig.append("late")
    rig.settle(second)
    second.close()
    third = second_group(rig, "third")
    rig.settle(third)
    assert set(codes(rig, early)) == {"unknown_table"}
    assert rig.table().snapshot().paths() == ["late.parquet"]


def test_what_was_told_before_a_proposal_made_the_table_is_told_by_a_second_group() -> None:
    rig = Rig(create=False)
    early = rig.append("early")
    rig.propose(CREATE, proposal_id="create")
    first = rig.committer()
    rig.settle(first)
    rig.append("late")
    rig.settle(first)
    rig.settle(second_group(rig))
    assert set(codes(rig, early)) == {"unknown_table"}
    assert len(codes(rig, early)) == 2


def test_the_same_proposal_once_more_after_the_table_was_made_stays_refused() -> None:
    for make in (made_directly, lambda rig: rig.propose(CREATE)):
        rig = Rig(create=False)
        early = rig.proposal(Append((add_file("early"),)))
        rig.send(early)
        first = rig.committer()
        rig.settle(first)
        make(rig)
        rig.settle(first)
        other = rig.append("other")
        rig.settle(first)
        first.close()
        rig.send(early)
        rig.settle(rig.committer("after"))
        assert set(codes(rig, early.id)) == {"unknown_table"}
        assert codes(rig, other) == ["Committed"]


def test_a_create_that_was_refused_without_a_table_stays_refused() -> None:
    rig = Rig(create=False)
    bad = rig.proposal(Create(schema_string_of(COLUMNS), (), {"indextables.checkpoint.interval": "no number"}))
    rig.send(bad)
    first = rig.committer()
    rig.settle(first)
    made_directly(rig)
    rig.settle(second_group(rig))
    assert set(codes(rig, bad.id)) == {"invalid"}


def test_a_milvus_table_remembers_what_was_told_before_it() -> None:
    rig = Rig(create=False)
    early = rig.proposal(Append((add_file("early"),)))
    rig.send(early)
    first = rig.committer()
    rig.settle(first)
    rig.propose(Milvus(Updates(added_delta_logs=(DeltaLog("a.log", 0, 1),))), proposal_id="begins")
    rig.settle(first)
    rig.send(early)
    rig.settle(first)
    rig.settle(second_group(rig))
    assert set(codes(rig, early.id)) == {"unknown_table"}
    assert codes(rig, "begins")[0] == "Committed"


def test_a_version_records_what_was_told_before_the_table() -> None:
    rig = Rig(create=False)
    early = rig.append("early")
    first = rig.committer()
    rig.settle(first)
    made_directly(rig)
    rig.append("late")
    rig.settle(first)
    decisions = rig.record(1).decisions
    assert (decisions[0].id, decisions[0].code) == (early, RejectCode.UNKNOWN_TABLE)
    assert decisions[1].accepted


def test_what_nobody_was_told_while_the_table_was_fed_from_no_bus_is_decided_where_it_belongs() -> None:
    """Break: take every dead letter for an answer."""
    rig = Rig(partitions=2, create=False)
    made_directly(rig)
    proposal = rig.proposal(Append((add_file("early"),)))
    rig.misplace(proposal, 1 - rig.bus.partition_of(TABLE))
    committer = rig.committer()
    rig.settle(committer)
    assert [letter.code for letter in rig.dead_letters()] == ["misplaced"]
    rig.send(proposal)
    rig.settle(committer)
    assert codes(rig, proposal.id) == ["Committed"]
    assert rig.table().snapshot().paths() == ["early.parquet"]


def test_what_a_committer_with_other_roots_set_aside_is_decided_by_one_that_serves_the_table() -> None:
    """Break: take every dead letter for an answer."""
    rig = Rig(create=False)
    made_directly(rig)
    proposal = rig.proposal(Append((add_file("early"),)))
    rig.send(proposal)
    narrow = rig.committer("narrow", tables=_Nowhere(rig.stores, rig.settings))
    rig.settle(narrow)
    narrow.close()
    assert [letter.code for letter in rig.dead_letters()] == ["unknown_table"]
    assert codes(rig, proposal.id) == []
    rig.send(proposal)
    rig.settle(rig.committer())
    assert codes(rig, proposal.id) == ["Committed"]


class _Nowhere(Stores):
    """Of a committer with other roots."""

    def reader(self, uri: str) -> LogReader:
        raise OutsideRoots(f"{uri} lies outside of the roots")


def test_a_misplaced_letter_of_an_earlier_release_is_no_answer() -> None:
    """Break: believe the field that such a letter hasn't got."""
    rig = Rig(partitions=2, create=False)
    proposal = rig.proposal(Append((add_file("early"),)))
    rig.misplace(proposal, 1 - rig.bus.partition_of(TABLE))
    made_directly(rig)
    committer = rig.committer()
    rig.settle(committer)
    (log,) = [log for log in rig.bus.cluster.topic(Topic.DEAD_LETTERS) if log.records]
    (record,) = log.records
    log.records[0] = replace(record, body=record.body.replace(b'"told":false,', b""))
    assert log.records[0] != record
    rig.send(proposal)
    rig.settle(committer)
    assert codes(rig, proposal.id) == ["Committed"]
