"""Files that a restore brings back change data, whatever they were when they were added first: for feeds, and for whoever
has read the table.
"""

from collections.abc import Callable

import pytest

from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Operation,
    Receipt,
    RejectCode,
    Rejected,
    Restore,
    Rewrite,
)
from headgate_table.table import Table
from pyspark_headgate.changes.feed import ChangeFeed, OnRemoval, Start
from support.committing.rig import TABLE, Rig, isolation
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table, opened

MERGED = "ab.parquet"
Way = tuple[Table, Callable[[Operation], Receipt]]


def _directly() -> Way:
    table = new_table(MemoryStore(uri=TABLE), interval=1)
    return table, table.commit


def _coordinated() -> Way:
    rig = Rig(interval=1)
    committer = rig.committer()

    def commit(operation: Operation) -> Receipt:
        proposal = rig.propose(operation)
        rig.settle(committer)
        return rig.receipts()[proposal]

    rig.settle(committer)
    return rig.table(), commit


def _merged_and_overwritten(way: Way, *, checkpoint: bool) -> Table:
    """Versions 1 and 2 append, 3 merges, 4 removes, 5 restores version 3; each has a state, or none has."""
    table, commit = way
    store = table.store
    assert isinstance(store, MemoryStore)
    for name in ("a", "b"):
        store.put(f"{name}.parquet", b"rows")
        commit(Append((add_file(name),)))
    store.put(MERGED, b"rows")
    commit(Rewrite(("a.parquet", "b.parquet"), (add_file("ab", num_records=20),)))
    table.delete(paths=[MERGED])
    if checkpoint:
        table.checkpoint()
    receipt = commit(Restore(3))
    assert receipt == Committed(5, receipt.proposal_id)
    return opened(store)


@pytest.mark.parametrize("checkpoint", [False, True], ids=["versions", "states"])
@pytest.mark.parametrize("way", [_directly, _coordinated], ids=["directly", "coordinated"])
def test_a_merged_file_that_is_restored_comes_back_as_data(way: Callable[[], Way], checkpoint: bool) -> None:
    """Break: it keeps the `dataChange` of the merge, so that a feed shows the removal of its rows and not their return."""
    table = _merged_and_overwritten(way(), checkpoint=checkpoint)
    changes = table.changes(4, 5)
    assert changes.added.column("path").to_pylist() == [MERGED]
    assert changes.added.column("data_change").to_pylist() == [True]
    feed = ChangeFeed(table, OnRemoval.DELIVER)
    start = feed.first(Start(version=4))
    end = feed.end(start, None, None, None)
    shown = [(change.type.value, change.path, change.version) for change in feed.between(start, end)]
    assert shown == [("delete", MERGED, 4), ("insert", MERGED, 5)]


@pytest.mark.parametrize("reads", [None, "id = 3"])
def test_rows_that_were_restored_conflict_with_what_was_read_before(reads: str | None) -> None:
    """Break: as above, so that a serializable proposal which read the table without these rows commits."""
    rig = Rig(interval=100)
    committer = rig.committer()
    store = rig.stores[TABLE]
    for name in ("a", "b", "ab"):
        store.put(f"{name}.parquet", b"rows")
    rig.append("a", "b")
    rig.propose(Rewrite(("a.parquet", "b.parquet"), (add_file("ab", num_records=20),)))
    rig.settle(committer)
    rig.table().delete(paths=[MERGED])
    rig.settle(committer)
    rig.receipts()
    based_on = rig.table().version
    rig.propose(Restore(based_on - 1))
    late = rig.propose(Append((add_file("late"),)), **isolation(based_on=based_on, reads=reads))
    rig.settle(committer)
    receipt = rig.receipts()[late]
    assert isinstance(receipt, Rejected), receipt
    assert receipt.code is RejectCode.READ_CONFLICT


def test_a_restore_that_undoes_a_merge_gives_back_its_sources_as_data() -> None:
    table, commit = _directly()
    store = table.store
    assert isinstance(store, MemoryStore)
    for name in ("a", "b"):
        store.put(f"{name}.parquet", b"rows")
    commit(Append((add_file("a"), add_file("b"))))
    commit(Rewrite(("a.parquet", "b.parquet"), (add_file("ab", num_records=20),)))
    commit(Restore(1))
    changes = opened(store).changes(2, 3)
    assert changes.added.column("data_change").to_pylist() == [True, True]
    assert changes.removed.column("data_change").to_pylist() == [True]
