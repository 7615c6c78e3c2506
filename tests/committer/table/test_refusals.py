"""Proposals that are judged by more than their files: what was read, when it was made, who wrote it, what it weighs."""

import pytest

from headgate_bus.claims import FOLDER, ClaimLimits
from headgate_bus.interface import Record
from headgate_committer.limits import CommitterLimits
from headgate_committer.proposals.intake import QueuedProposal, take_in
from headgate_schemas.messages.operations import Append, Committed, Duplicate, Overwrite, RejectCode, Rejected, Writer
from headgate_schemas.messages.proposals import encode_proposal
from support.committing.claimed import claimed
from support.committing.rig import TABLE, Rig, isolation
from support.stores.faulty import Fault, FaultyStore, Step
from support.tables import add_file


def _code(receipt: object) -> RejectCode:
    assert isinstance(receipt, Rejected)
    return receipt.code


def test_what_was_read_and_then_changed_is_a_conflict() -> None:
    rig = Rig(partition_by=("date",))
    committer = rig.committer()
    rig.settle(committer)
    rig.propose(Append((add_file("a", date="2024-01-01"),)))
    late = rig.propose(
        Append((add_file("b", date="2024-01-02"),)), **isolation(based_on=0, reads="date = '2024-01-01'")
    )
    rig.settle(committer)
    assert _code(rig.receipts()[late]) is RejectCode.READ_CONFLICT


def test_what_was_read_and_did_not_change_is_no_conflict() -> None:
    rig = Rig(partition_by=("date",))
    committer = rig.committer()
    rig.settle(committer)
    rig.propose(Append((add_file("a", date="2024-01-03"),)))
    fine = rig.propose(
        Append((add_file("b", date="2024-01-02"),)), **isolation(based_on=0, reads="date = '2024-01-01'")
    )
    rig.settle(committer)
    assert rig.receipts()[fine] == Committed(2, fine)


def test_a_proposal_made_before_the_horizon_is_not_decided() -> None:
    rig = Rig()
    rig.settings["coordinator.dedupe.window"] = "2"
    committer = rig.committer()
    rig.settle(committer)
    old = rig.proposal(Append((add_file("old"),)))
    for number in range(8):
        rig.ambient.advance(hours=1)
        rig.append(f"f{number}")
        rig.settle(committer)
    rig.send(old)
    fresh = rig.append("fresh")
    rig.settle(committer)
    receipts = rig.receipts()
    assert _code(receipts[old.id]) is RejectCode.EXPIRED
    assert isinstance(receipts[fresh], Committed)
    assert "old.parquet" not in rig.table().snapshot().paths()


def test_a_backlog_expires_no_first_delivery() -> None:
    rig = Rig()
    rig.create_first()
    ids = [rig.append(f"f{number}") for number in range(5)]
    rig.ambient.advance(hours=24 * 30)
    committer = rig.committer()
    rig.settle(committer)
    receipts = rig.receipts()
    assert {type(receipts[proposal]) for proposal in ids} == {Committed}


def test_a_writer_that_comes_back_after_months_is_still_known() -> None:
    rig = Rig(interval=2)
    committer = rig.committer()
    rig.append("a", writer=Writer("nightly", 3))
    rig.settle(committer)
    for number in range(5):
        rig.ambient.advance(hours=24 * 10)
        rig.append(f"f{number}")
        rig.settle(committer)
    committer.close()
    again = rig.append("again", writer=Writer("nightly", 3))
    rig.settle(rig.committer("second"))
    assert rig.receipts()[again] == Duplicate(1, again)


def test_a_full_memory_of_writers_takes_no_new_app_and_forgets_none() -> None:
    rig = Rig()
    rig.settings["coordinator.writers.max"] = "1"
    committer = rig.committer()
    rig.append("a", writer=Writer("first", 1))
    other = rig.append("b", writer=Writer("other", 1))
    again = rig.append("c", writer=Writer("first", 1))
    rig.settle(committer)
    receipts = rig.receipts()
    assert _code(receipts[other]) is RejectCode.OVER_BOUND
    assert receipts[again] == Duplicate(1, again)


def test_a_claimed_operation_is_committed() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = claimed(rig, rig.proposal(Append(tuple(add_file(f"f{number}") for number in range(100)))))
    rig.send(proposal)
    rig.settle(committer)
    assert rig.receipts()[proposal.id] == Committed(1, proposal.id)
    assert rig.table().snapshot().num_files == 100


def test_a_claim_of_other_bytes_is_set_aside_and_the_next_proposal_commits() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = claimed(rig, rig.proposal(Append((add_file("a"),))))
    assert proposal.claim is not None
    rig.stores[TABLE].put(proposal.claim.key, b"x" * proposal.claim.compressed_bytes)
    rig.send(proposal)
    good = rig.append("good")
    rig.settle(committer)
    receipts = rig.receipts()
    assert _code(receipts[proposal.id]) is RejectCode.UNREADABLE
    assert receipts[good] == Committed(1, good)
    assert [letter.proposal for letter in rig.dead_letters()] == [proposal.id]


def test_a_claim_over_the_bound_is_set_aside_unread() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = claimed(rig, rig.proposal(Append((add_file("a"),))))
    assert proposal.claim is not None
    huge = proposal.model_copy(update={"claim": proposal.claim.model_copy(update={"bytes": 10 << 30})})
    rig.send(huge)
    rig.settle(committer)
    assert _code(rig.receipts()[proposal.id]) is RejectCode.OVER_BOUND


def test_a_claim_over_the_bound_takes_no_room_from_other_tables() -> None:
    """Break: weigh a claim by what it says of itself, whatever that is."""
    other = "memory://other"
    rig = Rig(TABLE, other)
    rig.create_first()
    stores = {uri: FaultyStore(rig.stores[uri], lambda step: Fault.REFUSED) for uri in rig.stores}
    committer = rig.committer("second", stores=stores)
    rig.append("a", table=other)
    proposal = claimed(rig, rig.proposal(Append((add_file("a"),))))
    assert proposal.claim is not None
    rig.send(proposal.model_copy(update={"claim": proposal.claim.model_copy(update={"bytes": 2**63 - 1})}))
    for _ in range(10):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    [lane] = committer._lanes.values()
    assert (lane.undecided, lane.standing().tables.spilled) == (2, 0)


def test_a_claim_within_the_bound_weighs_what_lies_behind_it() -> None:
    rig = Rig()
    proposal = claimed(rig, rig.proposal(Append((add_file("a"),))))
    assert proposal.claim is not None
    record = Record(0, 0, 1, TABLE, encode_proposal(proposal))
    within, beyond = (take_in(record, ClaimLimits(max_bytes=proposal.claim.bytes - less)) for less in (0, 1))
    assert isinstance(within, QueuedProposal)
    assert isinstance(beyond, QueuedProposal)
    assert (within.size, beyond.size) == (len(record.body) + proposal.claim.bytes, len(record.body))


def test_a_duplicate_is_recognised_without_opening_its_claim() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = claimed(rig, rig.proposal(Append((add_file("a"),))))
    rig.send(proposal)
    rig.settle(committer)
    rig.receipts()
    assert proposal.claim is not None
    rig.stores[TABLE].delete([proposal.claim.key])
    rig.send(proposal)
    rig.settle(committer)
    assert rig.receipts()[proposal.id] == Duplicate(1, proposal.id)


def test_claims_go_when_their_proposals_were_settled_longer_ago_than_the_window() -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    proposal = claimed(rig, rig.proposal(Append((add_file("a"),))))
    rig.send(proposal)
    rig.settle(committer)
    assert proposal.claim is not None
    for days, is_there in ((6, True), (2, False)):
        rig.ambient.advance(hours=24 * days)
        rig.append(f"after-{days}")
        rig.settle(committer)
        assert (rig.stores[TABLE].head(proposal.claim.key) is not None) == is_there


def test_a_defect_that_claims_are_not_swept_for_is_told_and_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """Break: never look what became of work beside the commits."""

    def plan(step: Step) -> None:
        if step.operation == "list" and step.key == FOLDER:
            raise ZeroDivisionError("a defect of ours")

    rig = Rig()
    rig.create_first()
    committer = rig.committer("second", stores={TABLE: FaultyStore(rig.stores[TABLE], plan)})
    ids = []
    with caplog.at_level("WARNING"):
        for name in ("a", "b"):
            ids.append(rig.append(name))
            rig.settle(committer)
            rig.ambient.advance(hours=2)
    assert caplog.text.count("claims_not_swept") == 2
    assert "a defect of ours" in caplog.text
    receipts = rig.receipts()
    assert [receipts[proposal] for proposal in ids] == [Committed(1, ids[0]), Committed(2, ids[1])]


def test_a_predicate_that_can_not_be_read_is_refused() -> None:
    rig = Rig(partition_by=("date",))
    committer = rig.committer()
    rig.settle(committer)
    bad = rig.propose(Overwrite((), "date = = 3"))
    rig.settle(committer)
    assert _code(rig.receipts()[bad]) is RejectCode.INVALID


def test_tables_that_nobody_writes_to_are_closed_and_opened_again() -> None:
    uris = tuple(f"memory://table-{number}" for number in range(6))
    rig = Rig(*uris)
    committer = rig.committer(limits=CommitterLimits(linger_ms=0, open_tables=2))
    rig.settle(committer)
    ids = [rig.append("a", table=uri) for uri in uris]
    rig.settle(committer)
    receipts = rig.receipts()
    assert [receipts[proposal] for proposal in ids] == [Committed(1, proposal) for proposal in ids]
