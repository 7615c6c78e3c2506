"""A seq that comes after a later one: it is a duplicate only where it was committed, and the receipt names that version."""

from collections.abc import Sequence

from headgate_schemas.messages.operations import (
    MAX_SEQ,
    Committed,
    Delete,
    Duplicate,
    Milvus,
    Receipt,
    RejectCode,
    Rejected,
    Writer,
)
from headgate_schemas.milvus import Updates
from headgate_table.coordination.memory import RECENT_SEQS
from support.committing.rig import TABLE, Rig


def decided(rig: Rig, seqs: Sequence[int], *, at_once: bool = False) -> dict[int, Receipt]:
    """Propose an append for each seq, in this order, and decide them one by one or together."""
    committer = rig.committer("decides")
    receipts: dict[int, Receipt] = {}
    ids = {}
    for seq in seqs:
        ids[seq] = rig.append(f"file-{seq}", writer=Writer("job", seq), proposal_id=f"seq-{seq}")
        if not at_once:
            rig.settle(committer)
            receipts |= {seq: rig.receipts()[ids[seq]]}
    rig.settle(committer)
    if at_once:
        told = rig.receipts()
        receipts = {seq: told[ids[seq]] for seq in seqs}
    committer.close()
    return receipts


def code_of(receipt: Receipt) -> str:
    assert isinstance(receipt, Rejected), receipt
    return receipt.code.value


def test_a_seq_that_was_passed_over_is_refused_and_its_file_is_in_no_version() -> None:
    rig = Rig()
    rig.create_first()
    receipts = decided(rig, [16, 18, 17])
    assert code_of(receipts[17]) == "seq_skipped"
    assert rig.table().snapshot().paths() == ["file-16.parquet", "file-18.parquet"]


def test_behind_the_largest_seq_an_author_is_told_to_take_another_app() -> None:
    """Break: advise a seq that there is not."""
    rig = Rig()
    rig.create_first()
    refused = decided(rig, [MAX_SEQ - 1, MAX_SEQ, 5])[5]
    assert isinstance(refused, Rejected)
    assert refused.reason.endswith("as another app")


def test_a_seq_that_was_passed_over_within_one_group_is_refused() -> None:
    rig = Rig()
    rig.create_first()
    receipts = decided(rig, [16, 18, 17], at_once=True)
    assert [type(receipts[seq]) for seq in (16, 18)] == [Committed, Committed]
    assert code_of(receipts[17]) == "seq_skipped"


def test_a_seq_that_was_committed_in_the_same_group_is_a_duplicate_though_a_later_one_follows() -> None:
    rig = Rig()
    rig.create_first()
    for name, seq in (("a", 16), ("b", 18), ("c", 16)):
        rig.append(name, writer=Writer("job", seq), proposal_id=name)
    committer = rig.committer()
    rig.settle(committer)
    assert rig.receipts()["c"] == Duplicate(1, "c")


def test_the_refusal_is_in_a_version_and_is_told_again_by_another_committer() -> None:
    rig = Rig(interval=2)
    rig.create_first()
    first = decided(rig, [16, 18, 17])[17]
    assert [each.id for each in rig.record(3).decisions] == ["seq-17"]
    assert rig.record(3).decisions[0].code is RejectCode.SEQ_SKIPPED
    assert decided(rig, [17])[17] == first


def test_a_seq_below_all_that_is_remembered_is_told_no_version() -> None:
    rig = Rig()
    rig.create_first()
    seqs = list(range(1, RECENT_SEQS + 4))
    decided(rig, seqs)
    for seq in (1, 5):
        rig.append(f"other-{seq}", writer=Writer("job", seq), proposal_id=f"other-{seq}")
    rig.settle(rig.committer())
    told = rig.receipts()
    assert code_of(told["other-1"]) == "superseded"
    assert told["other-5"] == Duplicate(5, "other-5")


def test_the_id_of_a_seq_below_all_that_is_remembered_is_still_known() -> None:
    rig = Rig()
    rig.create_first()
    decided(rig, list(range(1, RECENT_SEQS + 4)))
    assert decided(rig, [1])[1] == Duplicate(1, "seq-1")


def test_a_seq_that_was_refused_for_another_reason_can_be_used_until_a_later_one_commits() -> None:
    rig = Rig()
    rig.create_first()
    committer = rig.committer()
    rig.propose(Delete(("not-there.parquet",)), writer=Writer("job", 17), proposal_id="bad")
    rig.append("good", writer=Writer("job", 17), proposal_id="good")
    rig.append("next", writer=Writer("job", 18), proposal_id="next")
    rig.settle(committer)
    told = rig.receipts()
    assert isinstance(told["bad"], Rejected)
    assert [type(told[each]) for each in ("good", "next")] == [Committed, Committed]


def test_seqs_of_a_milvus_table_are_told_the_same() -> None:
    rig = Rig(create=False)
    committer = rig.committer()
    told: dict[str, Receipt] = {}
    for name, seq in (("a", 16), ("b", 18), ("c", 17), ("d", 16)):
        updates = Updates(added_delta_logs=(delta(name),))
        rig.propose(Milvus(updates), writer=Writer("job", seq), proposal_id=name, table=TABLE)
        rig.settle(committer)
        told |= rig.receipts()
    assert told["d"] == Duplicate(1, "d")
    assert code_of(told["c"]) == "seq_skipped"


def delta(name: str):  # type: ignore[no-untyped-def]  # what the format calls it
    from headgate_schemas.milvus import DeltaLog

    return DeltaLog(f"{name}.log", 0, 1)
