"""Transactions on a Milvus table through a committer: what they become, in which version, and what is refused."""

import pytest

from headgate_bus.interface import Topic
from headgate_committer.limits import CommitterLimits
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Create,
    Delete,
    Duplicate,
    Milvus,
    Operation,
    Receipt,
    RejectCode,
    Rejected,
    Writer,
)
from headgate_schemas.milvus import Resolver, Updates
from headgate_table.milvus.format.manifest import Manifest
from support.committing.rig import TABLE, Rig, isolation
from support.committing.transactions import (
    adding,
    deleting,
    fail,
    foreign_commit,
    manifest_of,
    merge,
    names_in,
    newest,
    overwrite,
    recorded,
    rows,
    stat,
    widening,
)
from support.tables import COLUMNS, add_file

ONE_BY_ONE = CommitterLimits(linger_ms=0, group_proposals=1)


def _rig() -> Rig:
    return Rig(create=False)


def _decided(rig: Rig, *operations: Operation, limits: CommitterLimits | None = None) -> list[Receipt]:
    """The receipts of these, proposed together."""
    ids = [rig.propose(operation) for operation in operations]
    committer = rig.committer("each") if limits is None else rig.committer("each", limits=limits)
    rig.settle(committer)
    committer.close()
    receipts = rig.receipts()
    return [receipts[identity] for identity in ids]


def _refused(receipt: Receipt) -> RejectCode:
    assert isinstance(receipt, Rejected)
    return receipt.code


def _versions(receipts: list[Receipt]) -> list[int | None]:
    return [getattr(receipt, "version", None) for receipt in receipts]


def test_the_first_transaction_makes_the_table() -> None:
    rig = _rig()
    assert _versions(_decided(rig, merge(adding("a")))) == [1]
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a"]


def test_transactions_that_come_together_share_a_version_in_their_order() -> None:
    rig = _rig()
    assert _versions(_decided(rig, merge(adding("a")), merge(deleting("x")), merge(adding("b")))) == [1, 1, 1]
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a", "b", "x"]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_hundred_merges_of_pure_appends_are_all_accepted(count: int) -> None:
    rig = _rig()
    names = [f"f{number:03d}" for number in range(100)]
    limits = CommitterLimits(linger_ms=0, group_proposals=count * 20)
    receipts = _decided(rig, *(merge(adding(name)) for name in names), limits=limits)
    assert all(isinstance(receipt, Committed) for receipt in receipts)
    assert names_in(manifest_of(rig.stores[TABLE])) == names


def test_paths_are_stored_as_the_format_wants_them() -> None:
    rig = _rig()
    _decided(rig, merge(adding("_data/a")), merge(deleting(f"{TABLE}/_delta/d")), merge(stat("bm25", "_stats/s.idx")))
    manifest = manifest_of(rig.stores[TABLE])
    assert (names_in(manifest), manifest.get_all_stats()) == (["a", "d"], {"bm25": ["s.idx"]})


# ---- fail


def test_of_two_that_read_the_same_version_and_fail_the_second_is_refused() -> None:
    rig = _rig()
    first, second = _decided(rig, fail(adding("a"), 0), fail(adding("b"), 0))
    assert (_versions([first]), _refused(second)) == ([1], RejectCode.RESOLVER_REFUSED)
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a"]


@pytest.mark.parametrize("limits", [None, ONE_BY_ONE])
def test_what_fails_is_refused_after_a_merge_in_the_group_or_in_the_version_before(
    limits: CommitterLimits | None,
) -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    _, refused = _decided(rig, merge(adding("b")), fail(adding("c"), 1), limits=limits)
    assert _refused(refused) is RejectCode.RESOLVER_REFUSED


def test_a_version_that_only_refuses_is_no_conflict() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    [refused] = _decided(rig, fail(adding("late"), 0))
    [accepted] = _decided(rig, fail(adding("b"), 1))
    assert (_refused(refused), _versions([accepted])) == (RejectCode.RESOLVER_REFUSED, [3])
    assert names_in(manifest_of(rig.stores[TABLE], 2)) == names_in(manifest_of(rig.stores[TABLE], 1)) == ["a"]


def test_what_fails_is_refused_after_a_foreign_version() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    foreign_commit(rig.stores[TABLE], adding("theirs"))
    assert _refused(_decided(rig, fail(adding("b"), 1))[0]) is RejectCode.RESOLVER_REFUSED


def test_a_version_that_is_not_there_yet_was_read_by_nobody() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    assert _refused(_decided(rig, fail(adding("b"), 7))[0]) is RejectCode.RESOLVER_REFUSED


# ---- overwrite


def test_an_overwrite_drops_what_came_after_the_version_that_it_read() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    _decided(rig, merge(adding("b")))
    assert _versions(_decided(rig, overwrite(adding("c"), 1))) == [3]
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a", "c"]


def test_an_overwrite_waits_for_its_own_version_so_that_every_accepted_change_is_in_one() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    receipts = _decided(rig, merge(adding("b")), overwrite(adding("c"), 1), merge(adding("d")))
    assert _versions(receipts) == [2, 3, 3]
    assert names_in(manifest_of(rig.stores[TABLE], 2)) == ["a", "b"]
    assert names_in(manifest_of(rig.stores[TABLE], 3)) == ["a", "c", "d"]


def test_an_overwrite_of_a_version_that_is_gone_is_refused() -> None:
    rig = _rig()
    for name in ("a", "b", "c"):
        _decided(rig, merge(adding(name)))
    rig.stores[TABLE].delete(["_metadata/manifest-1.avro"])
    assert _refused(_decided(rig, overwrite(adding("d"), 1))[0]) is RejectCode.RESOLVER_REFUSED


def test_an_overwrite_of_a_damaged_version_is_refused_and_holds_up_nobody() -> None:
    rig = _rig()
    for name in ("a", "b"):
        _decided(rig, merge(adding(name)))
    rig.stores[TABLE].put("_metadata/manifest-1.avro", b"")
    refused, accepted = _decided(rig, overwrite(adding("c"), 1), merge(adding("d")))
    assert (_refused(refused), _versions([accepted])) == (RejectCode.RESOLVER_REFUSED, [3])
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a", "b", "d"]


def test_what_was_removed_by_an_overwrite_is_announced_so() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    _decided(rig, merge(adding("b")))
    rig.propose(overwrite(adding("c", "d"), 1))
    rig.settle(rig.committer("last"))
    [commit] = rig.commits()
    assert (commit.version, commit.operation, commit.added, commit.removed) == (3, "Milvus", 2, 1)


# ---- what is refused


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (merge(widening("id", "x")), RejectCode.RESOLVER_REFUSED),
        (merge(widening("more", "x", count=11)), RejectCode.RESOLVER_REFUSED),
        (merge(Updates(appended_files=((rows("x", columns=("other",)),),))), RejectCode.RESOLVER_REFUSED),
        (merge(adding("../x")), RejectCode.INVALID),
        (Append((add_file("a"),)), RejectCode.INVALID),
        (Delete(("a.parquet",)), RejectCode.INVALID),
        (Create(schema_string_of(COLUMNS)), RejectCode.ALREADY_EXISTS),
    ],
    ids=["column exists", "other rows", "other columns", "path", "append", "delete", "create"],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(operation: Operation, code: RejectCode) -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    assert _refused(_decided(rig, operation)[0]) is code
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a"]


def test_a_transaction_on_a_log_of_versions_is_refused() -> None:
    rig = Rig()
    assert _refused(_decided(rig, merge(adding("a")))[0]) is RejectCode.INVALID


def test_serializable_has_no_meaning_here_and_says_so() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    identity = rig.propose(merge(adding("b")), **isolation(1))
    rig.settle(rig.committer("last"))
    receipt = rig.receipts()[identity]
    assert isinstance(receipt, Rejected)
    assert "resolver `fail`" in receipt.reason


def test_a_transaction_that_its_manifest_can_not_hold_is_refused_alone() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    group = rows("odd")
    with_properties = type(group)(
        group.columns, tuple(type(file)(file.path, 0, 10, properties={"k": "v"}) for file in group.files)
    )
    receipts = _decided(
        rig, merge(adding("b")), merge(Updates(appended_files=((with_properties,),))), merge(adding("c"))
    )
    assert [type(receipt) for receipt in receipts] == [Committed, Rejected, Committed]
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a", "b", "c"]


def test_a_rejection_to_a_place_without_a_table_makes_none() -> None:
    rig = _rig()
    [receipt] = _decided(rig, fail(adding("a"), 3))
    assert _refused(receipt) is RejectCode.RESOLVER_REFUSED
    assert newest(rig.stores[TABLE]) == 0
    assert [letter.code for letter in rig.dead_letters()] == ["resolver_refused"]


def test_a_log_of_versions_can_still_be_created_where_a_transaction_was_refused() -> None:
    rig = _rig()
    refused, created = _decided(rig, fail(adding("a"), 3), Create(schema_string_of(COLUMNS)))
    assert (_refused(refused), created) == (RejectCode.RESOLVER_REFUSED, Committed(0, "p2"))


def test_what_comes_before_the_first_transaction_is_set_aside_and_that_is_decided() -> None:
    rig = _rig()
    before, first = _decided(rig, Append((add_file("a"),)), merge(adding("b")))
    assert (_refused(before), first) == (RejectCode.UNKNOWN_TABLE, Committed(1, "p2"))


# ---- again


def test_an_id_that_comes_again_gets_the_first_version() -> None:
    rig = _rig()
    proposal = rig.proposal(merge(adding("a")))
    first = rig.committer("first")
    for _ in range(2):
        rig.send(proposal)
        rig.settle(first)
    assert rig.receipts()[proposal.id] == Duplicate(1, proposal.id)
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a"]


def test_an_id_that_comes_again_after_a_restart_gets_the_same_answer() -> None:
    rig = _rig()
    accepted, refused = rig.proposal(merge(adding("a"))), rig.proposal(fail(adding("b"), 0))
    for proposal in (accepted, refused):
        rig.send(proposal)
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    before = rig.receipts()
    for proposal in (accepted, refused):
        rig.send(proposal)
    rig.settle(rig.committer("second"))
    assert rig.receipts() == {accepted.id: Duplicate(1, accepted.id), refused.id: before[refused.id]}
    assert newest(rig.stores[TABLE]) == 1


def test_a_seq_is_committed_once_however_long_ago() -> None:
    rig = _rig()
    for seq in range(70):
        rig.propose(merge(adding(f"f{seq}")), writer=Writer("job", seq))
        committer = rig.committer(f"one of {seq}")
        rig.settle(committer)
        committer.close()
    rig.receipts()
    again = rig.propose(merge(adding("f3")), writer=Writer("job", 3))
    rig.settle(rig.committer("last"))
    receipt = rig.receipts()[again]
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.SUPERSEDED  # no version is claimed for what isn't remembered any more
    assert names_in(manifest_of(rig.stores[TABLE])) == [f"f{seq}" for seq in range(70)]


def test_two_of_one_seq_in_a_group_are_one() -> None:
    rig = _rig()
    ids = [rig.propose(merge(adding(name)), writer=Writer("job", 1)) for name in ("a", "b")]
    rig.settle(rig.committer())
    assert [type(rig_receipt) for rig_receipt in rig.receipts().values()] == [Committed, Duplicate]
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a"]
    assert len(ids) == 2


# ---- told


def test_every_version_is_announced_with_its_files_and_its_proposals() -> None:
    rig = _rig()
    ids = [rig.propose(merge(adding("a", "b"))), rig.propose(merge(deleting("x")))]
    rig.settle(rig.committer())
    [commit] = rig.commits()
    assert (commit.version, commit.added, commit.removed, commit.proposals) == (1, 2, 0, tuple(ids))


def test_foreign_versions_that_are_met_on_the_way_are_announced() -> None:
    rig = _rig()
    committer = rig.committer()
    rig.propose(merge(adding("a")))
    rig.settle(committer)
    for name in ("x", "y"):
        foreign_commit(rig.stores[TABLE], adding(name))
    rig.propose(merge(adding("b")))
    rig.settle(committer)
    commits = [event for event in rig.events(Topic.EVENTS) if isinstance(event, CommitEvent)]
    assert [(commit.version, commit.operation, commit.added) for commit in commits] == [
        (1, "Milvus", 1),
        (2, "unknown", 1),
        (3, "unknown", 1),
        (4, "Milvus", 1),
    ]


def test_a_foreign_version_that_is_damaged_and_was_overcome_holds_up_nobody() -> None:
    rig = _rig()
    committer = rig.committer()
    rig.propose(merge(adding("a")))
    rig.settle(committer)
    for name in ("x", "y"):
        foreign_commit(rig.stores[TABLE], adding(name))
    rig.stores[TABLE].put("_metadata/manifest-2.avro", b"")
    identity = rig.propose(merge(adding("b")))
    rig.settle(committer)
    assert rig.receipts()[identity] == Committed(4, identity)
    assert names_in(manifest_of(rig.stores[TABLE])) == ["a", "x", "y", "b"]


def test_a_manifest_is_that_of_a_transaction_without_a_committer() -> None:
    rig = _rig()
    other = Rig(create=False)
    _decided(rig, merge(adding("a")), merge(deleting("d")), merge(stat("bm25", "s")))
    for updates in (adding("a"), deleting("d"), stat("bm25", "s")):
        foreign_commit(other.stores[TABLE], updates)
    assert rig.stores[TABLE].get("_metadata/manifest-1.avro") == other.stores[TABLE].get("_metadata/manifest-3.avro")


def test_nothing_but_manifests_lies_in_their_folder() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    assert [info.key for info in rig.stores[TABLE].list("")] == [
        recorded(rig.stores[TABLE]).read(1).id.key,
        "_metadata/manifest-1.avro",
    ]


def test_an_overwrite_of_nothing_begins_anew() -> None:
    rig = _rig()
    _decided(rig, merge(adding("a")))
    _decided(rig, Milvus(deleting("d"), Resolver.OVERWRITE, 0))
    assert manifest_of(rig.stores[TABLE]) == Manifest(delta_logs=deleting("d").added_delta_logs)
