"""What is found out about a table before proposals are decided: right, for many at once, and without reading more than needed."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from headgate_schemas.actions.actions import AddFile, CommitInfo
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Operation,
    Purge,
    ReadSet,
    Receipt,
    RejectCode,
    Rejected,
    Restore,
)
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.path_orders import PathOrder, PathOrders, path_hashes
from headgate_table.caching.resources import new_resources
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.refusals import Refusal
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.manifests.path_index import ENTRY_BYTES
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.indextables.rules.decide import Blocked, Evidence, LiveFile, Questions, decide, questions
from headgate_table.indextables.rules.evidence import MAX_VERSIONS_COMPARED, EvidenceReader
from headgate_table.indextables.rules.swap import listed_in
from headgate_table.store.interface import Store
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.cleaning import World, one_thread
from support.logs.decided_logs import fresh_reader
from support.logs.foreign_log import build_on, even_runs, large_path, large_table
from support.memory import rss_growth_of
from support.stores import FaultyStore, MemoryStore
from support.tables import add_file, committer_of, new_table, opened
from support.writers.handmade import HandMade


class Asked:
    """A table as one process asks about it."""

    def __init__(self, store: Store, reader: LogReader | None = None) -> None:
        self.reader = reader or fresh_reader(store)
        self.log: LoadedLog = self.reader.latest()
        self.memory: TableMemory = recover(self.reader, self.log, MemoryLimits())
        self.evidence = EvidenceReader(self.reader)
        self.metadata = self.reader.metadata(self.log)

    def gather(self, operation: Operation, reads: ReadSet | None = None) -> Evidence:
        asked = questions(operation, self.metadata)
        assert isinstance(asked, Questions)
        return self.evidence.gather(self.log, self.memory, operation, asked, self.metadata, reads)

    def known(self, *paths: str) -> tuple[dict[str, LiveFile], dict[str, Blocked]]:
        return self.evidence.known(self.log, self.memory, paths)

    def conflict(self, based_on: int, reads: str | None = None) -> str | None:
        return self.evidence.conflict(self.log, ReadSet(based_on, reads), self.metadata)


def new_paths(count: int, salt: str = "new") -> list[str]:
    return [f"date=2000-01-01/{salt}-{number}.parquet" for number in range(count)]


def test_paths_of_many_proposals_are_answered_at_once() -> None:
    store = MemoryStore()
    table = new_table(store, interval=1)
    table.append([add_file("in-state"), add_file("tombstoned")])
    table.delete(paths=[add_file("tombstoned").path])
    later = opened(store, interval=100)
    later.append([add_file("in-log"), add_file("removed")])
    later.delete(paths=[add_file("removed").path])
    later.commit(Purge(("purged.parquet",)))
    names = ("in-state", "tombstoned", "in-log", "removed", "purged", "new")
    live, blocked = Asked(store).known(*(add_file(name).path for name in names))
    assert set(live) == {add_file("in-state").path, add_file("in-log").path}
    assert blocked == {
        add_file("tombstoned").path: Blocked.TOMBSTONED,
        add_file("removed").path: Blocked.REMOVED,
        add_file("purged").path: Blocked.PURGED,
    }


def test_a_path_whose_tombstone_was_compacted_away_is_still_known_as_removed() -> None:
    """Break: a state forgets what its own versions removed."""
    store = MemoryStore()
    table = new_table(store, interval=1)
    table.append([add_file("a"), add_file("b")])
    table.delete(paths=[add_file("a").path])
    table.compact()
    assert Asked(store).known(add_file("a").path)[1] == {add_file("a").path: Blocked.REMOVED}


def test_a_purged_path_is_refused_when_the_version_that_purged_it_is_gone() -> None:
    """Break: purged paths are looked for in version files alone."""
    world = World(interval=2)
    world.appends(2)
    world.accepted(world.table.commit(Purge(("old.parquet",))))
    world.appends(5, hours=1)
    world.store.delete([version_key(number) for number in range(6)])
    answer = world.reopened().append([AddFile("old.parquet", {}, 1, 1)])
    assert isinstance(answer, Rejected)
    assert answer.code is RejectCode.PATH_IN_USE


def test_new_paths_are_looked_up_again_without_reading_any_manifest() -> None:
    """Break: the hashes expire, or stand in a cache that decoded entries push them out of."""
    runs = even_runs(20, 1, 200)
    store = FaultyStore(build_on(MemoryStore(), lambda made: large_table(made, runs), "date"))
    resources = new_resources(ObjectCache(lambda: 0.0, max_bytes=0), parallelism=2)
    asked = Asked(store, LogReader(store, resources))
    asked.known(*new_paths(100))
    before = store.count("get")
    assert asked.known(*new_paths(100, "others")) == ({}, {})
    assert store.count("get") == before


def test_a_path_that_is_there_costs_the_one_manifest_that_holds_it() -> None:
    runs = even_runs(20, 1, 200)
    store = FaultyStore(build_on(MemoryStore(), lambda made: large_table(made, runs), "date"))
    asked = Asked(store, LogReader(store, new_resources(ObjectCache(lambda: 0.0, max_bytes=0), parallelism=2)))
    asked.known(*new_paths(1))
    partition = runs[7][0][1]
    path = large_path(7 * 200 + 3, partition)
    before = store.count("get")
    live, _ = asked.known(path, *new_paths(50))
    assert set(live) == {path}
    assert store.count("get") - before == 1


def test_looking_through_a_part_of_a_state_lets_go_of_nothing_that_the_rest_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Break: `find_entries` takes the manifests that are of interest for all that the table needs."""
    monkeypatch.setattr("headgate_table.caching.path_orders._SPARE_BYTES", 0)
    asked = Asked(build_on(MemoryStore(), lambda made: large_table(made, even_runs(20, 1, 200)), "date"))
    asked.known(*new_paths(1))
    assert asked.log.state is not None
    path = large_path(0, even_runs(20, 1, 200)[0][0][1])
    assert listed_in(asked.reader, asked.log.state, asked.log.state.manifests[:1], pa.chunked_array([[path]])) == path
    assert asked.reader.resources.orders.nbytes == 20 * 200 * ENTRY_BYTES


_ASK = """
from headgate_schemas.ambient import SystemAmbient
from headgate_table.indextables.rules.evidence import EvidenceReader
from headgate_table.indextables.log.reader import LogReader
from headgate_table.coordination.memory import MemoryLimits
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.caching.resources import lean_resources
from headgate_table.store.open import StoreSettings, open_store
ambient = SystemAmbient()
reader = LogReader(open_store(sys.argv[1], StoreSettings(), ambient), lean_resources(ambient.monotonic_s, 2))
evidence = EvidenceReader(reader)
settled()
log = reader.latest()
memory = recover(reader, log, MemoryLimits())
for salt in range(3):
    live, blocked = evidence.known(log, memory, [f"date=2000-01-01/{salt}-{number}.parquet" for number in range(100)])
    assert not live and not blocked
assert reader.resources.orders.nbytes == 12 * int(sys.argv[2])
"""


def test_a_million_files_take_little_memory_of_a_process_that_decides(tmp_path: Path) -> None:
    """Break: all manifests are decoded at once, or stay decoded."""
    root = tmp_path / "table"
    made = HandMade(root, ("date",))
    made.start()
    large_table(made, even_runs(20, 10, 5_000))
    assert rss_growth_of(_ASK, str(root), "1000000") < 150 << 20


def test_orders_stay_within_their_bound_and_the_least_used_go_first() -> None:
    orders = PathOrders(max_bytes=30 * 12)
    for name in "abc":
        orders.put("t", name, PathOrder.of(pa.chunked_array([[f"{name}{n}" for n in range(10)]])))
    orders.get("t", "a")
    orders.put("t", "d", PathOrder.of(pa.chunked_array([[f"d{n}" for n in range(10)]])))
    assert [orders.get("t", name) is not None for name in "abcd"] == [True, False, True, True]
    assert orders.nbytes == 30 * 12


def test_paths_that_share_a_hash_are_all_candidates() -> None:
    """Break: `candidates` takes the first row of a run of equal hashes."""
    order = PathOrder.of(pa.chunked_array([["x", "y", "x"], ["x"]]))
    assert sorted(order.candidates(path_hashes(["z", "x", "y"]))) == [(1, 0), (1, 2), (1, 3), (2, 1)]


def test_orders_of_manifests_that_no_state_needs_any_more_are_let_go() -> None:
    orders = PathOrders()
    order = PathOrder.of(pa.chunked_array([[str(n) for n in range(100_000)]]))
    for name in range(10):
        orders.put("t", str(name), order)
    orders.trim("t", order.nbytes)
    assert orders.nbytes <= 2 * order.nbytes + (1 << 20)
    assert orders.get("t", "9") is not None


def test_a_purge_counts_only_what_is_retained_now() -> None:
    """Break: a removed path that cleaning has let go is refused for as long as the process remembers it."""
    world = World(interval=2)
    file = world.append()
    world.accepted(world.table.delete(paths=[file.path]))
    world.table.compact()
    world.appends(6)
    world.clock.advance(hours=24 * 60)
    world.table.purge(log_retention_hours=1)
    world.store.put(file.path, b"again")
    assert isinstance(world.table.commit(Purge((file.path,))), Committed)


def test_a_state_that_is_gone_speaks_against_no_purge_although_it_is_remembered(tmp_path: Path) -> None:
    """Break: what was read of a state once counts for as long as its folder is there, which a temporary file is enough for."""
    store = LocalStore(str(tmp_path), SystemAmbient(), durable=False)
    table, path = new_table(store, interval=1), add_file("a").path
    table.append([add_file("a"), add_file("b")])
    table.delete(paths=[path])
    table.compact()
    asked, purge = Asked(store), Purge((path,))

    def blocked() -> set[str]:
        return set(asked.gather(purge).blocked)

    assert blocked() == {path}
    for folder in (tmp_path / "_transaction_log").glob("state-*"):
        (folder / ".left.by.a.killed.writer").touch()
    table.append([add_file("c")])
    for state in (tmp_path / "_transaction_log").glob("state-*/_manifest.avro"):
        os.utime(state, (0, 0))  # so old that nobody is at work on top of it
    opened(store, interval=1).truncate_history()
    assert blocked() == set()


def test_a_purge_of_what_a_retained_version_removed_is_refused() -> None:
    world = World(interval=2)
    file = world.append()
    world.accepted(world.table.delete(paths=[file.path]))
    answer = world.table.commit(Purge((file.path,)))
    assert isinstance(answer, Rejected)
    assert answer.code is RejectCode.STILL_NEEDED


def damaged(data: bytes) -> bytes:
    return b"\x01\x01 damaged"


def of_a_newer_release(data: bytes) -> bytes:
    return encode_state(replace(decode_state(data, "a state"), format_version=2), bytes(16))


@pytest.mark.parametrize(
    ("harmed", "harm"),
    [(version_key(2), damaged), (state_key(2), damaged), (state_key(2), of_a_newer_release)],
    ids=["damaged version", "damaged state", "newer state"],
)
def test_a_purge_is_refused_while_something_retained_can_not_be_read(
    harmed: str, harm: Callable[[bytes], bytes]
) -> None:
    """Break: `_for_purge` raises; then a committer tries the proposal again and again, and those behind it wait."""
    world = World(interval=2)
    world.appends(6, hours=1)
    world.store.put(harmed, harm(world.store.get(harmed)))
    answer = world.reopened().commit(Purge(("old.parquet",)))
    assert isinstance(answer, Rejected)
    assert (answer.code, "can't be read" in answer.reason) == (RejectCode.STILL_NEEDED, True)


def spelled(name: str) -> AddFile:
    """A file of the folder `a b`, as a writer spells it that escapes names."""
    return replace(add_file(name), path=f"a%20b/{name}.parquet")


@pytest.mark.parametrize("interval", [1, 100], ids=["in-a-state", "in-the-log"])
def test_a_purge_of_a_file_that_was_added_under_another_spelling_is_refused(interval: int) -> None:
    """Break: `_for_purge` compares texts."""
    table = new_table(interval=interval)
    table.append([spelled("new")])
    answer = table.commit(Purge(("a b/new.parquet",)))
    assert isinstance(answer, Rejected)
    assert answer.code is RejectCode.STILL_NEEDED


def test_a_purge_of_a_file_that_was_removed_under_another_spelling_is_refused() -> None:
    table = new_table(interval=100)
    table.append([spelled("new")])
    table.delete(paths=[spelled("new").path])
    answer = table.commit(Purge(("a b/new.parquet",)))
    assert isinstance(answer, Rejected)
    assert answer.code is RejectCode.STILL_NEEDED


def test_a_purged_file_is_not_added_under_another_spelling() -> None:
    """Break: `known` compares texts."""
    table = new_table()
    assert isinstance(table.commit(Purge(("a b/purged.parquet",))), Committed)
    answer = table.append([spelled("purged")])
    assert isinstance(answer, Rejected)
    assert answer.code is RejectCode.PATH_IN_USE


def test_cleaning_leaves_a_file_that_was_added_under_another_spelling_after_its_look() -> None:
    """Break: `_for_purge` compares texts."""
    world = World()
    world.store.put("a b/late.parquet", b"data")
    world.clock.advance(hours=24 * 30)

    def commit(operation: Operation) -> Receipt:
        if isinstance(operation, Purge):
            world.accepted(world.table.append([spelled("late")]))
        return world.table.commit(operation)

    Table(world.store, world.clock, one_thread(), {}, commit).purge()
    assert world.store.head("a b/late.parquet") is not None


def test_more_purged_paths_than_can_be_remembered_are_refused() -> None:
    purge = Purge(("a.parquet",))
    asked = Asked(new_table().store)
    answer = decide(purge, asked.metadata, Evidence(can_purge=False), 0)
    assert isinstance(answer, Refusal)
    assert answer.code is RejectCode.OVER_BOUND


def serializable_table() -> Store:
    store = MemoryStore()
    table = new_table(store, "region", interval=3)
    for region in ("eu", "us", "eu"):
        table.append([add_file(f"{region}-{table.version}", region=region)])
    return store


def test_what_was_read_is_compared_with_the_versions_since() -> None:
    asked = Asked(serializable_table())
    assert asked.conflict(3) is None
    assert asked.conflict(2, "region = 'us'") is None
    assert asked.conflict(1, "region = 'us'") is not None


def test_versions_that_were_cleaned_are_a_conflict() -> None:
    """Break: a version that is not there counts as one that changed nothing."""
    store = serializable_table()
    store.delete([version_key(0), version_key(1), version_key(2)])
    asked = Asked(store)
    assert asked.conflict(3, "region = 'us'") is None
    assert asked.conflict(1, "region = 'us'") is not None


def test_a_version_that_does_not_exist_yet_is_a_conflict() -> None:
    assert Asked(serializable_table()).conflict(4) is not None


def test_proposals_too_far_behind_conflict_without_reading_all_versions_since() -> None:
    store = FaultyStore(serializable_table())
    asked = Asked(store)
    before = len(store.steps)
    far = LoadedLog(
        **{name: getattr(asked.log, name) for name in LoadedLog.__slots__} | {"version": MAX_VERSIONS_COMPARED + 1}
    )
    assert asked.evidence.conflict(far, ReadSet(0), asked.metadata) is not None
    assert len(store.steps) == before


def test_a_conflict_refuses_whatever_the_operation_is() -> None:
    asked = Asked(serializable_table())
    operation = Append((add_file("x", region="eu"),))
    answer = decide(operation, asked.metadata, asked.gather(operation, ReadSet(0)), 0)
    assert isinstance(answer, Refusal)
    assert answer.code is RejectCode.READ_CONFLICT


def test_a_direct_commit_can_be_serializable() -> None:
    table = opened(serializable_table())
    stale = committer_of(table).commit(Append((add_file("x", region="eu"),)), reads=ReadSet(1, "region = 'us'"))
    assert isinstance(stale, Rejected)
    assert stale.code is RejectCode.READ_CONFLICT
    fresh = committer_of(table).commit(Append((add_file("x", region="eu"),)), reads=ReadSet(3, "region = 'us'"))
    assert isinstance(fresh, Committed)


def removed_again(*names: str) -> MemoryStore:
    """A table whose version 2 had these files and another one, which alone is live."""
    store = MemoryStore()
    table = new_table(store, interval=100)
    gone = [add_file(name) for name in names]
    table.append([add_file("stays")])
    table.append(gone)
    for file in (add_file("stays"), *gone):
        store.put(file.path, b"rows")
    table.delete(paths=[file.path for file in gone])
    return store


def test_only_files_that_come_back_are_looked_for_when_a_version_is_restored() -> None:
    """Break: every file of the version is looked for, in front of all that is proposed meanwhile."""
    store = removed_again("a", "b")
    watched = FaultyStore(store)
    asked = Asked(watched)
    before = len(watched.steps)
    restored = asked.gather(Restore(2)).restored
    looked_for = {step.key for step in watched.steps[before:] if step.operation == "head"}
    assert restored is not None
    assert restored.keys() == {"stays.parquet", "a.parquet", "b.parquet"}
    assert looked_for == {"a.parquet", "b.parquet"}


def test_what_may_be_deleted_at_any_time_is_not_restored() -> None:
    """Break: a file that is still there comes back, although its purge was accepted."""
    asked = Asked(removed_again("a"))
    assert asked.gather(Restore(2)).restored is not None
    purge = CommitInfo({"nonce": "n", "timestamp": asked.memory.newest_ms, "purged": ["a.parquet"]})
    asked.memory.apply(asked.log.version + 1, [purge])
    assert asked.gather(Restore(2)).restored is None


def test_a_file_whose_path_was_escaped_once_more_is_found_when_a_version_is_restored() -> None:
    """Break: only the path as it is written is looked for."""
    store = MemoryStore()
    new_table(store, interval=100)
    store.create(version_key(1), encode_actions([add_file("date=2024-01-01%2500/a")]))
    store.put("date=2024-01-01%00/a.parquet", b"rows")
    opened(store).delete(paths=["date=2024-01-01%2500/a.parquet"])
    assert Asked(store).gather(Restore(1)).restored is not None
