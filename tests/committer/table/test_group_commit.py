"""Many proposals in one version, in the order of the bus, each seeing the one before."""

import pytest

from headgate_committer.limits import CommitterLimits
from headgate_schemas.actions.actions import Metadata
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    Committed,
    Create,
    Delete,
    Duplicate,
    Overwrite,
    RejectCode,
    Rejected,
    Rewrite,
    Writer,
)
from headgate_schemas.predicates.tree import Predicate
from headgate_table.indextables.log.reader import LoadedLog
from headgate_table.indextables.rules.decide import LiveFile
from headgate_table.indextables.rules.evidence import EvidenceReader
from support.committing.rig import TABLE, Rig
from support.tables import add_file


def test_a_proposed_table_is_created_and_announced() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    assert rig.receipts() == {f"create-{TABLE}": Committed(0, f"create-{TABLE}")}
    assert rig.table().version == 0


def test_what_has_queued_becomes_one_version() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    ids = [rig.append(f"f{number}") for number in range(20)]
    rig.settle(committer)
    receipts = rig.receipts()
    assert {receipts[proposal] for proposal in ids} == {Committed(1, proposal) for proposal in ids}
    assert rig.table().snapshot().num_files == 20


def test_a_proposal_sees_the_effect_of_the_one_before_it_in_its_group() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    first, second = rig.append("same"), rig.append("same")
    rig.settle(committer)
    receipts = rig.receipts()
    assert receipts[first] == Committed(1, first)
    refused = receipts[second]
    assert isinstance(refused, Rejected)
    assert refused.code is RejectCode.PATH_IN_USE


def test_a_group_ends_before_a_proposal_that_would_remove_what_the_group_added() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    added = rig.append("a")
    removed = rig.propose(Delete(("a.parquet",)))
    rig.settle(committer)
    receipts = rig.receipts()
    assert (receipts[added], receipts[removed]) == (Committed(1, added), Committed(2, removed))


def test_an_overwrite_of_all_ends_a_group_that_has_added_files() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.append("a")
    over = rig.propose(Overwrite((add_file("b"),)))
    rig.settle(committer)
    assert rig.receipts()[over] == Committed(2, over)
    assert rig.table().snapshot().paths() == ["b.parquet"]


def test_an_overwrite_of_another_partition_goes_into_the_group_of_an_append() -> None:
    rig = Rig(partition_by=("date",))
    committer = rig.committer()
    rig.settle(committer)
    rig.propose(Append((add_file("old", date="2024-01-02"),)))
    rig.settle(committer)
    rig.propose(Append((add_file("a", date="2024-01-01"),)))
    over = rig.propose(Overwrite((add_file("b", date="2024-01-02"),), "date = '2024-01-02'"))
    rig.settle(committer)
    assert rig.receipts()[over] == Committed(2, over)
    assert sorted(rig.table().snapshot().paths()) == ["date=2024-01-01/a.parquet", "date=2024-01-02/b.parquet"]


def test_a_rewrite_after_a_delete_of_its_source_in_the_same_group_is_refused() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.append("a")
    rig.settle(committer)
    rig.propose(Delete(("a.parquet",)))
    merge = rig.propose(Rewrite(("a.parquet",), (add_file("m"),)))
    rig.settle(committer)
    refused = rig.receipts()[merge]
    assert isinstance(refused, Rejected)
    assert refused.code is RejectCode.SOURCE_GONE


def test_alter_commits_alone() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    before = rig.append("a")
    alter = rig.propose(Alter(based_on=0, description="sales"))
    after = rig.append("b")
    rig.settle(committer)
    receipts = rig.receipts()
    assert [receipts[one] for one in (before, alter, after)] == [
        Committed(1, before),
        Committed(2, alter),
        Committed(3, after),
    ]


def test_a_rejection_without_company_has_a_version_that_holds_the_decision() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    missing = rig.propose(Delete(("nothing.parquet",)))
    rig.settle(committer)
    refused = rig.receipts()[missing]
    assert isinstance(refused, Rejected)
    (decision,) = rig.record(1).decisions
    assert (decision.id, decision.accepted, decision.code) == (missing, False, RejectCode.NOT_LIVE)


def test_duplicates_alone_write_nothing() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = rig.proposal(Append((add_file("a"),)))
    rig.send(proposal)
    rig.settle(committer)
    rig.receipts()
    rig.send(proposal)
    rig.settle(committer)
    assert rig.receipts() == {proposal.id: Duplicate(1, proposal.id)}
    assert rig.table().version == 1


def test_an_id_twice_in_a_group_is_committed_once() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = rig.proposal(Append((add_file("a"),)))
    rig.send(proposal)
    rig.send(proposal)
    rig.settle(committer)
    assert rig.receipts() == {
        f"create-{TABLE}": Committed(0, f"create-{TABLE}"),
        proposal.id: Duplicate(1, proposal.id),
    }
    assert rig.table().snapshot().num_files == 1


def test_a_seq_twice_in_a_group_is_committed_once() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.append("a", writer=Writer("job", 7))
    second = rig.append("b", writer=Writer("job", 7))
    rig.settle(committer)
    assert rig.receipts()[second] == Duplicate(1, second)
    assert rig.table().snapshot().paths() == ["a.parquet"]


def test_a_rejected_seq_may_be_used_again() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.propose(Delete(("nothing.parquet",)), writer=Writer("job", 7))
    rig.settle(committer)
    again = rig.append("a", writer=Writer("job", 7))
    rig.settle(committer)
    assert rig.receipts()[again] == Committed(2, again)


def test_a_group_is_bounded_by_count() -> None:
    rig = Rig()
    committer = rig.committer(limits=CommitterLimits(linger_ms=0, group_proposals=5))
    rig.settle(committer)
    for number in range(12):
        rig.append(f"f{number}")
    rig.settle(committer)
    assert rig.table().version == 3


def test_the_version_names_its_source_and_the_offsets_it_settles() -> None:
    rig = Rig()
    committer = rig.committer("me")
    rig.settle(committer)
    rig.append("a")
    rig.append("b")
    rig.settle(committer)
    record = rig.record(1)
    assert record.term is not None
    assert record.settled is not None
    assert (record.term.committer, record.settled.source) == ("me", rig.bus.source(0))
    assert [decision.offset for decision in record.decisions] == [1, 2]
    assert (record.settled.first, record.settled.next_offset) == (1, 3)


def test_a_create_of_a_table_that_exists_is_refused() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    again = rig.propose(Create(rig.table().metadata.schema_string))
    rig.settle(committer)
    refused = rig.receipts()[again]
    assert isinstance(refused, Rejected)
    assert refused.code is RejectCode.ALREADY_EXISTS


def test_many_overwrites_that_wait_for_each_other_search_the_table_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[object] = []
    matching = EvidenceReader.matching

    def counted(reader: EvidenceReader, log: LoadedLog, where: Predicate | None, metadata: Metadata) -> list[LiveFile]:
        searches.append(where)
        return matching(reader, log, where, metadata)

    monkeypatch.setattr(EvidenceReader, "matching", counted)
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    ids = [rig.propose(Overwrite((add_file(f"f{number}"),))) for number in range(12)]
    rig.settle(committer)
    receipts = rig.receipts()
    assert [receipts[proposal] for proposal in ids] == [
        Committed(number + 1, proposal) for number, proposal in enumerate(ids)
    ]
    assert len(searches) == 12


def test_a_group_has_no_more_different_predicates_than_there_is_room_for() -> None:
    rig = Rig(partition_by=("date",))
    committer = rig.committer()
    rig.settle(committer)
    ids = [rig.propose(Delete(where=f"date = '2026-01-{day:02d}'")) for day in range(1, 21)]
    rig.settle(committer)
    receipts = rig.receipts()
    assert [receipts[proposal] for proposal in ids] == [
        Committed(1 + number // 8, proposal) for number, proposal in enumerate(ids)
    ]
