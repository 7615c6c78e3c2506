"""The same work twice on a Milvus table, and two authors who read one stat and both set it: nobody loses, nothing doubles."""

import pytest

from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed, Milvus, Receipt, RejectCode, Rejected
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Resolver, Stat, Updates
from headgate_table.errors import CommitConflict
from headgate_table.interface.findings import Finding, Severity
from headgate_table.milvus import MERGE, OVERWRITE, Transaction
from headgate_table.milvus.verify import verify_manifests
from headgate_table.store.interface import Store
from support.committing.rig import TABLE, Rig
from support.committing.transactions import (
    adding,
    deleting,
    fail,
    foreign_commit,
    manifest_of,
    merge,
    names_in,
    overwrite,
    recorded,
    stat,
)
from support.stores.memory import MemoryStore

EXTERNAL = "s3://elsewhere/rows.parquet"
TOGETHER = CommitterLimits()
ONE_BY_ONE = CommitterLimits(linger_ms=0, group_proposals=1)


def _append(*files: tuple[str, int, int]) -> Updates:
    return Updates(appended_files=((ColumnGroup(("id",), tuple(ColumnGroupFile(*file) for file in files)),),))


def _log(path: str) -> Updates:
    return Updates(added_delta_logs=(DeltaLog(path, 5),))


def _reading(key: str, version: int, *paths: str) -> Milvus:
    """Sets a stat after reading it at that version."""
    return Milvus(stat(key, *paths), Resolver.MERGE, version)


def _decided(rig: Rig, *operations: Milvus, limits: CommitterLimits = TOGETHER) -> list[Receipt]:
    ids = [rig.propose(operation) for operation in operations]
    committer = rig.committer("each", limits=limits)
    rig.settle(committer)
    committer.close()
    receipts = rig.receipts()
    return [receipts[identity] for identity in ids]


def _code(receipt: Receipt) -> RejectCode | None:
    return receipt.code if isinstance(receipt, Rejected) else None


def _rows(store: Store) -> int:
    return manifest_of(store).num_rows


@pytest.mark.parametrize("limits", [TOGETHER, ONE_BY_ONE], ids=["in one group", "one by one"])
@pytest.mark.parametrize(
    "again",
    [
        _append(("a.parquet", 0, 1000)),
        _append(("a.parquet", 1000, 2000)),
        _append(("_data/a.parquet", 0, 1000)),
        _append((f"{TABLE}/_data/a.parquet", 0, 1000)),
        _append(("b.parquet", 0, 10), ("a.parquet", 10, 1010)),
    ],
    ids=["the same", "other rows of the table", "with its folder", "with its address", "beside a new one"],
)
def test_a_file_that_the_table_holds_is_not_appended_again(again: Updates, limits: CommitterLimits) -> None:
    rig = Rig(create=False)
    first, second = _decided(rig, merge(_append(("a.parquet", 0, 1000))), merge(again), limits=limits)
    assert isinstance(first, Committed)
    assert _code(second) is RejectCode.PATH_IN_USE
    assert _rows(rig.stores[TABLE]) == 1000


def test_a_file_is_not_appended_again_by_any_resolver() -> None:
    rig = Rig(create=False)
    _decided(rig, merge(_append(("a.parquet", 0, 1000))))
    again = _append(("a.parquet", 0, 1000))
    assert [_code(found) for found in _decided(rig, merge(again), fail(again, 1), overwrite(again, 1))] == [
        RejectCode.PATH_IN_USE
    ] * 3
    assert _rows(rig.stores[TABLE]) == 1000


def test_an_overwrite_may_bring_back_what_the_version_that_it_read_lacks() -> None:
    rig = Rig(create=False)
    _decided(rig, merge(_append(("a.parquet", 0, 10))), limits=ONE_BY_ONE)
    _decided(rig, merge(_append(("b.parquet", 0, 10))), limits=ONE_BY_ONE)
    [receipt] = _decided(rig, overwrite(_append(("b.parquet", 0, 10)), 1))
    assert isinstance(receipt, Committed)
    assert _rows(rig.stores[TABLE]) == 20


def test_a_file_that_was_committed_directly_is_not_appended_by_a_proposal() -> None:
    rig = Rig(create=False)
    foreign_commit(rig.stores[TABLE], _append(("a.parquet", 0, 1000)))
    assert [_code(found) for found in _decided(rig, merge(_append(("a.parquet", 0, 1000))))] == [RejectCode.PATH_IN_USE]
    assert _rows(rig.stores[TABLE]) == 1000


def test_a_file_twice_in_one_append_is_refused() -> None:
    rig = Rig(create=False)
    found = _decided(rig, merge(_append(("a.parquet", 0, 10), ("a.parquet", 0, 10))))
    assert [_code(receipt) for receipt in found] == [RejectCode.PATH_IN_USE]


def test_pieces_of_an_external_file_are_appended_once_each() -> None:
    rig = Rig(create=False)
    found = _decided(
        rig,
        merge(_append((EXTERNAL, 0, 500))),
        merge(_append((EXTERNAL, 500, 1000))),
        merge(_append((EXTERNAL, 400, 600))),
        merge(_append((EXTERNAL, 1000, 1000), (EXTERNAL, 1000, 1000))),
    )
    assert [_code(receipt) for receipt in found] == [None, None, RejectCode.PATH_IN_USE, RejectCode.PATH_IN_USE]
    assert _rows(rig.stores[TABLE]) == 1000


@pytest.mark.parametrize("again", ["d.log", "_delta/d.log", f"{TABLE}/_delta/d.log"])
def test_a_delta_log_that_the_table_holds_is_not_added_again(again: str) -> None:
    rig = Rig(create=False)
    found = _decided(rig, merge(_log("d.log")), merge(_log(again)), merge(_log("other.log")))
    assert [_code(receipt) for receipt in found] == [None, RejectCode.PATH_IN_USE, None]
    assert manifest_of(rig.stores[TABLE]).num_deletes == 10


@pytest.mark.parametrize("again", [adding("a"), deleting("d")], ids=["data file", "delta log"])
def test_a_direct_transaction_does_not_add_again_what_the_table_holds(again: Updates) -> None:
    rig = Rig(create=False)
    _decided(rig, merge(adding("a")), merge(deleting("d")))
    before = manifest_of(rig.stores[TABLE])
    transaction = Transaction.open(rig.stores[TABLE], resolver=MERGE)
    for groups in again.appended_files:
        transaction.append_files(groups)
    for log in again.added_delta_logs:
        transaction.add_delta_log(log.path, log.num_entries)
    with pytest.raises(InvalidInput, match="already"):
        transaction.commit()
    assert manifest_of(rig.stores[TABLE]) == before


@pytest.mark.parametrize("limits", [TOGETHER, ONE_BY_ONE], ids=["in one group", "one by one"])
def test_of_two_that_read_one_stat_and_set_it_the_later_one_is_refused(limits: CommitterLimits) -> None:
    rig = Rig(create=False)
    _decided(rig, merge(stat("bm25", "base")))
    found = _decided(rig, _reading("bm25", 1, "base", "x"), _reading("bm25", 1, "base", "y"), limits=limits)
    assert isinstance(found[0], Committed)
    assert _code(found[1]) is RejectCode.RESOLVER_REFUSED
    assert manifest_of(rig.stores[TABLE]).get_stat("bm25") == ["base", "x"]


def test_other_keys_and_other_changes_are_no_reason_to_refuse_a_stat() -> None:
    rig = Rig(create=False)
    _decided(rig, merge(stat("bm25", "base")))
    found = _decided(
        rig, merge(adding("a")), _reading("bloom", 1, "b"), _reading("bm25", 1, "base", "y"), limits=ONE_BY_ONE
    )
    assert all(isinstance(receipt, Committed) for receipt in found)
    assert manifest_of(rig.stores[TABLE]).get_all_stats() == {"bloom": ["b"], "bm25": ["base", "y"]}


def test_each_of_many_earlier_versions_is_compared_with_what_it_held() -> None:
    rig = Rig(create=False)
    for number in range(4):
        _decided(rig, merge(stat(f"key-{number}", "base")), limits=ONE_BY_ONE)
    found = _decided(
        rig,
        _reading("key-3", 3, "late"),  # read before it was set
        _reading("key-0", 1, "base", "x"),
        _reading("key-1", 2, "base", "x"),
        _reading("key-2", 1, "late"),
        _reading("key-0", 4, "base", "y"),  # the second proposal set it
    )
    assert [_code(receipt) for receipt in found] == [
        RejectCode.RESOLVER_REFUSED,
        None,
        None,
        RejectCode.RESOLVER_REFUSED,
        RejectCode.RESOLVER_REFUSED,
    ]


def test_a_stat_is_refused_where_the_version_that_was_read_is_gone_or_not_there_yet() -> None:
    rig = Rig(create=False)
    for number in range(3):
        _decided(rig, merge(adding(f"file-{number}")), limits=ONE_BY_ONE)
    rig.stores[TABLE].delete(["_metadata/manifest-1.avro"])
    found = _decided(rig, _reading("k", 1, "x"), _reading("k", 9, "x"), _reading("k", 2, "x"))
    assert [_code(receipt) for receipt in found] == [RejectCode.RESOLVER_REFUSED] * 2 + [None]


def test_a_stat_without_a_version_that_was_read_replaces_whatever_is_there() -> None:
    rig = Rig(create=False)
    found = _decided(rig, merge(stat("k", "one")), merge(stat("k", "two")))
    assert all(isinstance(receipt, Committed) for receipt in found)
    assert manifest_of(rig.stores[TABLE]).get_stat("k") == ["two"]


def test_a_direct_transaction_does_not_replace_a_stat_that_others_set_since_it_was_opened() -> None:
    rig = Rig(create=False)
    _decided(rig, merge(stat("k", "base")))
    mine = Transaction.open(rig.stores[TABLE], resolver=MERGE).update_stat("k", ["base", "mine"])
    Transaction.open(rig.stores[TABLE], resolver=MERGE).update_stat("k", ["base", "theirs"]).commit()
    with pytest.raises(CommitConflict, match="changed after version 1"):
        mine.commit()
    assert manifest_of(rig.stores[TABLE]).stats["k"] == Stat(("base", "theirs"))


def _copied(store: Store, into: Store, prefix: str) -> None:
    for info in list(store.list(prefix)):
        into.put(info.key, store.get(info.key))


def _committed(rig: Rig, *names: str) -> dict[str, Milvus]:
    """Commit a file each, and tell what was proposed under which id."""
    asked = {name: merge(adding(name)) for name in names}
    ids = {rig.propose(operation): operation for operation in asked.values()}
    committer = rig.committer("first", limits=ONE_BY_ONE)
    rig.settle(committer)
    committer.close()
    return ids


@pytest.mark.parametrize(
    "order",
    [("_metadata/", "_headgate/"), ("_headgate/", "_metadata/")],
    ids=["manifests first, as the page says", "in the order of names"],
)
def test_what_authors_propose_again_to_a_copy_of_a_live_table_is_in_it_once(order: tuple[str, str]) -> None:
    rig, copy = Rig(create=False), MemoryStore(uri=TABLE)
    ids = _committed(rig, "a", "b")
    live = rig.stores[TABLE]
    _copied(live, copy, order[0])
    ids |= _committed(rig, "c", "d")
    _copied(live, copy, order[1])
    rig.stores[TABLE] = copy
    for identity, operation in ids.items():
        rig.send(rig.proposal(operation, proposal_id=identity))
    committer = rig.committer("on the copy", limits=ONE_BY_ONE)
    rig.settle(committer)
    assert names_in(manifest_of(copy)) == ["a", "b", "c", "d"]


def _lacking(rig: Rig) -> list[Finding]:
    report = verify_manifests(recorded(rig.stores[TABLE]), data_files=False)
    return [finding for finding in report.findings if "lacks" in finding.what]


def test_a_foreign_version_that_lacks_what_was_committed_is_logged_and_found(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(create=False)
    _committed(rig, "a")
    store = rig.stores[TABLE]
    theirs = Transaction.open(store, version=1, resolver=OVERWRITE).append_files(adding("x").appended_files[0])
    committer = rig.committer("second", limits=ONE_BY_ONE)
    for operation in (merge(adding("b")), merge(deleting("d")), merge(stat("k", "s"))):
        rig.propose(operation)
    rig.settle(committer)
    theirs.commit()
    with caplog.at_level("WARNING"):
        rig.propose(merge(adding("c")))
        rig.settle(committer)
    [said] = [
        record.getMessage() for record in caplog.records if "foreign_version_dropped_changes" in record.getMessage()
    ]
    for lost in ("1 data files (b", "1 delta logs (d.log)", "1 stats (k)"):
        assert lost in said
    [finding] = _lacking(rig)
    assert finding.object == "_metadata/manifest-5.avro"
    assert finding.severity is Severity.WARNING
    assert "1 data files (b" in finding.what


def test_foreign_versions_that_only_add_are_no_finding() -> None:
    rig = Rig(create=False)
    _committed(rig, "a")
    foreign_commit(rig.stores[TABLE], adding("b"))
    _committed(rig, "c")
    assert not _lacking(rig)


def test_a_proposal_that_overwrites_on_purpose_is_no_finding() -> None:
    rig = Rig(create=False)
    _committed(rig, "a", "b")
    _decided(rig, overwrite(adding("c"), 1))
    assert not _lacking(rig)
