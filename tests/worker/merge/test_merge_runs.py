"""Whole merges: what the table holds afterwards, what is reported, and what lies on the store."""

from collections.abc import Callable, Iterable

import pyarrow as pa
import pytest

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, SkipFile
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Operation, Receipt, RejectCode, Rejected, Rewrite, Skip
from headgate_table.errors import CommitConflict, OutcomeUnknown, StoreError
from headgate_table.indextables.rules.skips import known_skips
from headgate_table.store.interface import Store
from headgate_table.table import Table
from headgate_worker.merge.merging import MAX_ATTEMPTS, MAX_ROUNDS, Merging, RunLimits, output_path
from headgate_worker.merge.orders import Merged, MergeOrder, MergeOutcome
from headgate_worker.merge.plan import MergeGroup, MergeLimits
from headgate_worker.merge.report import MergeStatus
from support.merging import (
    TARGET_BYTES,
    append,
    append_small,
    data_files,
    merge,
    merging,
    new_parquet_table,
    put_file,
    rows_of,
    rows_table,
)
from support.stores import FaultyStore
from support.stores.faulty import Fault, on
from support.tables import SteadyAmbient, fresh_resources, opened

LIMITS = MergeLimits(target_bytes=TARGET_BYTES)


def with_commit(table: Table, commit: Callable[[Operation], Receipt]) -> Table:
    """The table for a worker whose proposals take this way."""
    return Table(table.store, SteadyAmbient("proposer"), fresh_resources(), {"checkpoint.interval": "4"}, commit)


def on_rewrite(table: Table, happens: Callable[[Rewrite], Receipt | None], times: int = 1) -> Table:
    """The table, with something that happens when a rewrite is proposed; None lets it be committed."""
    left = times

    def commit(operation: Operation) -> Receipt:
        nonlocal left
        if isinstance(operation, Rewrite) and left:
            left -= 1
            answer = happens(operation)
            if answer is not None:
                return answer
        return table.commit(operation)

    return with_commit(table, commit)


def damage(store: Store, path: str) -> None:
    store.put(path, b"PAR1 this is no Parquet file PAR1")


def skips_of(table: Table) -> dict[str, SkipFile]:
    log = table.snapshot().log
    return known_skips(table.reader, log, SteadyAmbient().now_ms())


def test_small_files_become_one_with_the_same_rows() -> None:
    table = new_parquet_table()
    files = append_small(table, 5)
    before = rows_of(table)
    report = merge(table)
    assert (report.status, report.merged_files, report.merge_groups) == (MergeStatus.SUCCESS, 5, 1)
    assert report.original_size_bytes == sum(file.size for file in files)
    assert report.merged_size_bytes == table.snapshot().total_bytes
    assert (table.snapshot().num_files, rows_of(table)) == (1, before)


def test_a_merge_changes_no_data() -> None:
    table = new_parquet_table()
    append_small(table, 3)
    version = merge(table).version
    assert version is not None
    added = table.changes(version - 1, version).added
    assert added.column("data_change").to_pylist() == [False]


def test_there_is_nothing_to_do_where_nothing_is_small() -> None:
    table = new_parquet_table()
    append_small(table, 1)
    report = merge(table)
    assert (report.status, report.message) == (MergeStatus.NO_ACTION, "nothing to merge")


def test_a_second_merge_finds_nothing_to_do() -> None:
    table = new_parquet_table()
    append_small(table, 5)
    merge(table)
    assert merge(table, seed="another").status is MergeStatus.NO_ACTION


def test_each_partition_is_merged_for_itself_nulls_included() -> None:
    table = new_parquet_table(partition_by=["day"])
    for number, day in enumerate(["1", "1", None, None, "a b", "a b"]):
        folder = f"day={NULL_PARTITION if day is None else day}"
        append(table, put_file(table, f"{folder}/{number}.parquet", rows_table(number * 10), {"day": day}))
    before = rows_of(table)
    assert merge(table).merge_groups == 3
    files = table.snapshot().files(("path", "partition_values")).to_pylist()
    folders = {dict(row["partition_values"])["day"]: row["path"].rpartition("/")[0] for row in files}
    assert folders == {"1": "day=1", NULL_PARTITION: f"day={NULL_PARTITION}", "a b": "day=a b"}
    assert rows_of(table) == before


def test_where_chooses_partitions() -> None:
    table = new_parquet_table(partition_by=["day"])
    for number in range(4):
        day = str(number % 2)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    assert merge(table, where="day = '1'").merged_files == 2
    assert table.snapshot(where="day = '0'").num_files == 2


def test_where_on_another_column_is_refused() -> None:
    table = new_parquet_table(partition_by=["day"])
    with pytest.raises(InvalidInput, match="partition columns: day"):
        merge(table, where="id = 1")


def test_split_files_are_noted_in_the_report() -> None:
    table = new_parquet_table()
    append(table, AddFile("a.split", {}, 1000, 0), AddFile("b.split", {}, 1000, 0))
    report = merge(table)
    assert report.status is MergeStatus.NO_ACTION
    assert report.message.count(".split") == 1


def test_no_more_outputs_are_written_than_asked_for() -> None:
    table = new_parquet_table(partition_by=["day"])
    for number in range(6):
        day = str(number % 3)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    report = merge(table, MergeLimits(TARGET_BYTES, max_outputs=2))
    assert (report.merge_groups, "1 more groups" in report.message) == (2, True)


# ---- unreadable and missing sources


def test_an_unreadable_source_is_skipped_and_the_rest_merged() -> None:
    table = new_parquet_table()
    files = append_small(table, 4)
    damage(table.store, files[1].path)
    report = merge(table)
    assert (report.status, report.merged_files) == (MergeStatus.PARTIAL_SUCCESS, 3)
    assert files[1].path in table.snapshot().paths()
    skip = skips_of(table)[files[1].path]
    assert (skip.operation, skip.skip_count) == ("merge", 1)
    assert skip.retry_after is not None
    assert skip.retry_after - skip.skip_timestamp == 24 * 3_600_000


def test_a_skipped_source_is_left_alone_by_the_next_merge() -> None:
    table = new_parquet_table()
    files = append_small(table, 3)
    damage(table.store, files[0].path)
    merge(table)
    append(table, put_file(table, "more.parquet", rows_table(1000)))
    report = merge(opened(table.store), seed="next")
    assert (report.status, report.merged_files) == (MergeStatus.SUCCESS, 2)
    assert "1 files are left alone for now" in report.message


def test_a_source_that_fails_again_is_left_alone_for_longer() -> None:
    table = new_parquet_table()
    files = append_small(table, 3)
    damage(table.store, files[0].path)
    ambient = SteadyAmbient("late")
    for count in (1, 2):
        worker = merging(table)
        worker._ambient = ambient
        report = worker.merge_group(MergeGroup(tuple(files[:2])))
        assert [skip.skip_count for skip in report.skips] == [count]
        ambient.time_ms += 25 * 3_600_000
    assert skips_of(table)[files[0].path].skip_count == 2


def test_a_group_with_one_readable_source_left_is_not_merged() -> None:
    table = new_parquet_table()
    files = append_small(table, 2)
    damage(table.store, files[0].path)
    report = merge(table)
    assert (report.status, report.merge_groups, table.snapshot().num_files) == (MergeStatus.ERROR, 0, 2)


def test_a_live_source_whose_file_is_missing_is_skipped() -> None:
    table = new_parquet_table()
    files = append_small(table, 3)
    table.store.delete([files[2].path])
    report = merge(table)
    assert (report.merged_files, [skip.path for skip in report.skipped]) == (2, [files[2].path])
    assert "missing" in report.skipped[0].reason


def test_a_source_that_was_removed_and_cleaned_meanwhile_is_nobodys_fault() -> None:
    table = new_parquet_table()
    files = append_small(table, 3)
    group = MergeGroup(tuple(files))
    table.delete(paths=[files[2].path])
    table.store.delete([files[2].path])
    before = rows_of(table)
    assert merging(table).merge_group(group).skips == ()
    assert rows_of(table) == before


class Finicky:
    """An engine that finds another unreadable source at each attempt."""

    def __init__(self) -> None:
        self.attempts = 0

    def merge(self, order: MergeOrder) -> MergeOutcome:
        from headgate_worker.merge.orders import NotMerged, Unreadable

        self.attempts += 1
        return NotMerged((Unreadable(order.sources[0].path, "damaged"),))


def test_the_attempts_at_one_group_are_bounded() -> None:
    table = new_parquet_table()
    files = append_small(table, MAX_ATTEMPTS + 5)
    engine = Finicky()
    Merging(table, engine, SteadyAmbient()).merge_group(MergeGroup(tuple(files)))
    assert engine.attempts == MAX_ATTEMPTS


def test_skips_that_can_not_be_recorded_do_not_stop_a_merge() -> None:
    table = new_parquet_table()
    files = append_small(table, 3)
    damage(table.store, files[0].path)

    def commit(operation: Operation) -> Receipt:
        if isinstance(operation, Skip):
            raise StoreError("no")
        return table.commit(operation)

    assert merge(with_commit(table, commit)).merged_files == 2


# ---- others who change the table meanwhile


def test_a_source_that_was_removed_meanwhile_is_planned_without() -> None:
    table = new_parquet_table()
    files = append_small(table, 4)

    def removes_one(rewrite: Rewrite) -> None:
        table.delete(paths=[files[0].path])

    report = merge(on_rewrite(table, removes_one))
    assert (report.status, report.merged_files) == (MergeStatus.SUCCESS, 3)
    assert sum(rows_of(table).values()) == 30


def test_the_output_of_a_lost_race_is_deleted_and_nothing_else() -> None:
    table = new_parquet_table()
    files = append_small(table, 4)
    table.store.put("somebody-elses.parquet", b"not ours")

    def removes_one(rewrite: Rewrite) -> None:
        table.delete(paths=[files[0].path])

    merge(on_rewrite(table, removes_one))
    live = table.snapshot().paths()
    assert set(data_files(table.store)) == {*live, *(file.path for file in files), "somebody-elses.parquet"}


def test_an_overwrite_meanwhile_stands() -> None:
    table = new_parquet_table()
    append_small(table, 4)
    fresh = put_file(table, "fresh.parquet", rows_table(5000))

    def overwrites(rewrite: Rewrite) -> None:
        table.overwrite([fresh])

    report = merge(on_rewrite(table, overwrites))
    assert (report.status, table.snapshot().paths()) == (MergeStatus.NO_ACTION, ["fresh.parquet"])


def test_a_table_that_changes_all_the_time_is_given_up_after_some_rounds() -> None:
    table = new_parquet_table()
    append_small(table, 4)
    proposed: list[Rewrite] = []

    def lost(rewrite: Rewrite) -> Receipt:
        proposed.append(rewrite)
        return Rejected(RejectCode.SOURCE_GONE, "gone again", "p")

    report = merge(on_rewrite(table, lost, times=100))
    assert (report.status, len(proposed)) == (MergeStatus.ERROR, MAX_ROUNDS)
    assert "gone again" in report.message
    assert len(data_files(table.store)) == 4


def test_a_refusal_that_planning_again_does_not_mend_is_told_at_once() -> None:
    table = new_parquet_table()
    append_small(table, 4)

    def refused(rewrite: Rewrite) -> Receipt:
        return Rejected(RejectCode.OVER_BOUND, "too large", "p")

    report = merge(on_rewrite(table, refused))
    assert (report.status, report.problems) == (MergeStatus.ERROR, ("over_bound: too large",))
    assert len(data_files(table.store)) == 4


def test_a_merge_that_came_too_late_is_not_repeated_at_once() -> None:
    """Break: `EXPIRED` is planned again; nobody knows of its output that it isn't live, so each turn leaves one more."""
    table = new_parquet_table()
    append_small(table, 4)
    expired = Rejected(RejectCode.EXPIRED, "proposed too long ago", "p")
    report = merge(on_rewrite(table, lambda rewrite: expired, times=100))
    assert (report.status, len(data_files(table.store))) == (MergeStatus.ERROR, 5)


@pytest.mark.parametrize("code", [RejectCode.PATH_IN_USE, RejectCode.EXPIRED])
def test_an_output_that_may_have_been_committed_earlier_is_kept(code: RejectCode) -> None:
    table = new_parquet_table()
    append_small(table, 4)

    def committed_before(rewrite: Rewrite) -> Receipt:
        table.commit(rewrite)
        return Rejected(code, "decided long ago", "p")

    merge(on_rewrite(table, committed_before))
    (live,) = table.snapshot().paths()
    assert table.store.head(live) is not None


def test_a_conflict_that_others_won_leaves_no_output() -> None:
    table = new_parquet_table()
    append_small(table, 4)

    def lost(rewrite: Rewrite) -> Receipt:
        raise CommitConflict("others were faster")

    report = merge(on_rewrite(table, lost))
    assert (report.status, len(data_files(table.store))) == (MergeStatus.SUCCESS, 5)


@pytest.mark.parametrize(
    "error", [OutcomeUnknown("nobody knows", "p"), StoreError("no answer")], ids=["unknown", "store"]
)
def test_an_output_that_may_be_live_is_kept(error: Exception) -> None:
    table = new_parquet_table()
    append_small(table, 4)
    before = rows_of(table)

    def committed_and_lost(rewrite: Rewrite) -> Receipt:
        table.commit(rewrite)
        raise error

    report = merge(on_rewrite(table, committed_and_lost))
    assert (report.status, len(report.pending)) == (MergeStatus.PENDING, 1)
    assert (table.snapshot().paths(), rows_of(table)) == (list(report.pending), before)


def test_a_store_that_fails_is_an_error_and_leaves_the_table_as_it_is() -> None:
    table = new_parquet_table()
    files = append_small(table, 4)
    before = rows_of(table)
    faulty = FaultyStore(table.store, on("put", Fault.REFUSED, key="merged-", times=99))
    report = merge(opened(faulty))
    assert report.status is MergeStatus.ERROR
    assert (rows_of(table), len(data_files(table.store))) == (before, len(files))


def test_a_group_that_fails_does_not_hold_up_the_others() -> None:
    table = new_parquet_table(partition_by=["day"])
    for number in range(4):
        day = str(number % 2)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    faulty = FaultyStore(table.store, on("put", Fault.REFUSED, key="day=0/merged-", times=99))
    report = merge(opened(faulty))
    assert (report.status, report.merged_files) == (MergeStatus.PARTIAL_SUCCESS, 2)


# ---- bounds and names


class Counting:
    """An engine that remembers how much was under way at the same time."""

    def __init__(self, inner: Table) -> None:
        from headgate_worker.merge.engines.arrow import ArrowEngine

        self._engine = ArrowEngine(inner.store, inner.reader.resources)
        self.running: set[str] = set()
        self.most = 0

    def merge(self, order: MergeOrder) -> MergeOutcome:
        self.running.add(order.output)
        self.most = max(self.most, len(self.running))
        outcome = self._engine.merge(order)
        assert isinstance(outcome, Merged)
        self.running.discard(order.output)
        return outcome


@pytest.mark.parametrize("bounds", [RunLimits(parallel_groups=1), RunLimits(parallel_bytes=1)], ids=["groups", "bytes"])
def test_what_is_under_way_at_once_is_bounded(bounds: RunLimits) -> None:
    from concurrent.futures import ThreadPoolExecutor

    table = new_parquet_table(partition_by=["day"])
    for number in range(8):
        day = str(number % 4)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    engine = Counting(table)
    with ThreadPoolExecutor(4) as executor:
        report = Merging(table, engine, SteadyAmbient()).merge(LIMITS, executor, run_limits=bounds)
    assert (report.merge_groups, engine.most) == (4, 1)


def test_a_name_that_is_taken_is_not_used() -> None:
    table = new_parquet_table()
    append_small(table, 2)
    taken = f"merged-{SteadyAmbient('worker').new_id()}.parquet"
    table.store.put(taken, b"somebody's")
    assert merge(table).status is MergeStatus.SUCCESS
    assert table.store.get(taken) == b"somebody's"


def source(path: str) -> AddFile:
    return AddFile(path, {}, 1, 0)


@pytest.mark.parametrize(
    ("paths", "values", "folder"),
    [
        (["a.parquet", "b.parquet"], {}, ""),
        (["x/a.parquet", "x/b.parquet"], {}, "x/"),
        (["x/a.parquet", "y/b.parquet"], {}, ""),
        (["d=a%20b/a.parquet", "d=a%20b/b.parquet"], {"d": "a b"}, "d=a%20b/"),
        (["d=a%20b/a.parquet", "d=a b/b.parquet"], {"d": "a/b"}, "d=a%2Fb/"),
        (["d=/a.parquet", "b.parquet"], {"d": ""}, f"d={NULL_PARTITION}/"),
        (["p/a.parquet", "q/b.parquet"], {"d": "x" * 300}, ""),
    ],
)
def test_an_output_lies_where_its_sources_do(paths: Iterable[str], values: dict[str, str], folder: str) -> None:
    assert output_path([source(path) for path in paths], values, "1f") == f"{folder}merged-1f.parquet"


def test_the_order_of_sorted_files_is_kept() -> None:
    """Files that came in another order than that of their ranges are read in the order of their ranges."""
    from headgate_worker.merge.plan import SortOrder

    table = new_parquet_table(columns="id BIGINT")
    for start in (200, 0, 100):
        rows = pa.table({"id": pa.array(range(start, start + 100), pa.int64())})
        append(table, put_file(table, f"{start}.parquet", rows))
    merge(table, MergeLimits(TARGET_BYTES, sort_order=SortOrder(("id",), is_text=False)))
    assert table.snapshot().scan().read_all().column("id").to_pylist() == list(range(300))
