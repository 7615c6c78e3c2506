"""Which files a stream of changes reads: offsets, limits, starts, removals and what is gone. Without Spark."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.messages.operations import Committed, Rewrite
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.format.names import version_key
from headgate_table.table import Table
from pyspark_headgate.changes.changed_files import ChangeType
from pyspark_headgate.changes.feed import ChangeFeed, OnRemoval, Start
from pyspark_headgate.changes.offset import ChangeOffset
from support.stores.memory import MemoryStore
from support.tables import START_MS, SteadyAmbient, add_file, files, new_table, opened

Batch = list[tuple[str, str, int]]
"""What a batch reads: change type, file, version."""


def _feed(table: Table, on_removal: OnRemoval = OnRemoval.REFUSE) -> ChangeFeed:
    return ChangeFeed(table, on_removal)


def _batches(
    feed: ChangeFeed,
    start: ChangeOffset,
    max_files: int | None = None,
    max_versions: int | None = None,
    fresh: Callable[[], ChangeFeed] | None = None,
) -> list[Batch]:
    """Batch after batch until nothing is left, each listed by `fresh` as a restarted query lists it."""
    found: list[Batch] = []
    while (end := feed.end(start, None, max_files, max_versions)) != start:
        listed = (fresh() if fresh else feed).between(start, end)
        found.append([(change.type.value, change.path, change.version) for change in listed])
        start = end
        assert len(found) < 200, "batches come to an end"
    return found


def _paths(batches: Sequence[Batch]) -> list[str]:
    return [path for batch in batches for _, path, _ in batch]


def _appended(*counts: int, interval: int = 10) -> Table:
    """A table whose versions from 1 on add so many files each."""
    table = new_table(interval=interval)
    for number, count in enumerate(counts, 1):
        table.append(files(f"v{number}", count))
    return table


def test_a_new_query_begins_with_the_table_as_it_stands_and_goes_on_with_what_comes() -> None:
    table = _appended(2, 1)
    feed = _feed(table)
    start = feed.first(Start())
    first = _batches(feed, start)
    table.append(files("later", 1))
    assert first == [
        [("insert", path, 2) for path in ("v1-00000.parquet", "v1-00001.parquet", "v2-00000.parquet")],
    ]
    assert _batches(feed, ChangeOffset(start.table, 3)) == [[("insert", "later-00000.parquet", 3)]]


def test_a_starting_version_is_the_first_whose_changes_are_read() -> None:
    feed = _feed(_appended(1, 1, 1))
    assert _paths(_batches(feed, feed.first(Start(2)))) == ["v2-00000.parquet", "v3-00000.parquet"]


def test_latest_begins_with_the_next_version() -> None:
    table = _appended(1)
    start = _feed(table).first(Start("latest"))
    table.append(files("next", 1))
    assert _paths(_batches(_feed(table), start)) == ["next-00000.parquet"]


def test_a_starting_time_begins_with_the_first_version_that_was_committed_then_or_later() -> None:
    table = _appended(1, 1, 1)
    second = next(entry.time for entry in table.history() if entry.version == 2)
    feed = _feed(table)
    assert [feed.first(Start(timestamp=str(moment))).version for moment in (second, second + 1, START_MS - 1)] == [
        2,
        3,
        0,
    ]


def test_earliest_begins_with_the_first_version_that_the_log_tells_of() -> None:
    table = _appended(*[1] * 6, interval=2)
    table.truncate_history()
    feed = _feed(table)
    paths = _paths(_batches(feed, feed.first(Start("earliest"))))
    assert paths
    assert paths[-1] == "v6-00000.parquet"


@pytest.mark.parametrize("start", [Start(9), Start(1, "2024-01-01")], ids=["beyond the newest", "two starts"])
def test_a_start_that_can_not_be_is_refused(start: Start) -> None:
    with pytest.raises(InvalidInput, match="starting"):
        _feed(_appended(1)).first(start)


def test_a_batch_takes_no_more_files_than_it_may_also_within_a_version() -> None:
    feed = _feed(_appended(3, 1, 2))
    assert [len(batch) for batch in _batches(feed, feed.first(Start(0)), max_files=2)] == [2, 2, 2]


def test_a_batch_takes_no_more_versions_than_it_may() -> None:
    feed = _feed(_appended(1, 1, 1, 1))
    batches = _batches(feed, feed.first(Start(1)), max_versions=2)
    assert [{version for _, _, version in batch} for batch in batches] == [{1, 2}, {3, 4}]


def test_a_query_of_all_that_is_available_stops_where_the_table_was_when_it_began() -> None:
    table = _appended(2, 1)
    feed = _feed(table)
    upto = feed.newest()
    table.append(files("meanwhile", 1))
    end = feed.end(feed.first(Start(0)), upto, None, None)
    assert end == upto
    assert feed.end(end, upto, 10, 10) == upto


def test_a_snapshot_that_is_read_in_parts_is_that_of_one_version() -> None:
    table = _appended(3)
    feed = _feed(table)
    start = feed.first(Start())
    middle = feed.end(start, None, 2, None)
    table.delete(paths=["v1-00002.parquet"])
    table.append(files("a-later-one", 1))
    assert [change.path for change in feed.between(start, middle)] == ["v1-00000.parquet", "v1-00001.parquet"]
    assert _paths(_batches(_feed(table, OnRemoval.IGNORE_CHANGES), middle)) == [
        "v1-00002.parquet",
        "a-later-one-00000.parquet",
    ]


def test_a_rewrite_of_the_same_rows_is_no_change() -> None:
    table = _appended(2)
    table.rewrite([add.path for add in files("v1", 2)], [add_file("merged", num_records=20)])
    feed = _feed(table, OnRemoval.DELIVER)
    assert _paths(_batches(feed, feed.first(Start(2)))) == []


def test_a_removal_ends_a_stream_of_added_rows_once_everything_before_is_read() -> None:
    table = _appended(1, 1)
    table.delete(paths=["v1-00000.parquet"])
    feed = _feed(table)
    end = feed.end(feed.first(Start(1)), None, None, None)
    assert end.version == 3
    with pytest.raises(InvalidInput, match=r"version 3 .* removes 1 files .*ignoreDeletes=true"):
        feed.end(end, None, None, None)


def test_ignored_deletes_are_passed_over_but_replaced_rows_are_not() -> None:
    table = _appended(1)
    table.delete(paths=["v1-00000.parquet"])
    table.append(files("new", 1))
    table.overwrite(files("instead", 1))
    feed = _feed(table, OnRemoval.IGNORE_DELETES)
    end = feed.end(feed.first(Start(2)), None, None, None)
    assert [change.path for change in feed.between(feed.first(Start(2)), end)] == ["new-00000.parquet"]
    with pytest.raises(InvalidInput, match=r"version 4 .* adds 1, .*ignoreChanges=true"):
        feed.end(end, None, None, None)


def test_ignored_changes_leave_what_is_added() -> None:
    table = _appended(1)
    table.overwrite(files("instead", 1))
    feed = _feed(table, OnRemoval.IGNORE_CHANGES)
    assert _paths(_batches(feed, feed.first(Start(2)))) == ["instead-00000.parquet"]


def test_a_change_feed_has_what_went_before_what_came() -> None:
    table = _appended(1)
    table.overwrite(files("instead", 1))
    feed = _feed(table, OnRemoval.DELIVER)
    assert _batches(feed, feed.first(Start(2))) == [
        [("delete", "v1-00000.parquet", 2), ("insert", "instead-00000.parquet", 2)]
    ]


def test_changes_have_the_partition_and_the_time_of_their_commit() -> None:
    table = new_table(None, "region")
    table.append([add_file("a", region="eu")])
    table.delete(where="region = 'eu'")
    feed = _feed(table, OnRemoval.DELIVER)
    start = feed.first(Start(1))
    came, went = feed.between(start, feed.end(start, None, None, None))
    times = {entry.version: entry.time for entry in table.history()}
    assert (came.type, came.partition_values, came.time_ms) == (ChangeType.INSERT, {"region": "eu"}, times[1])
    assert (went.type, went.partition_values, went.time_ms) == (ChangeType.DELETE, {"region": "eu"}, times[2])


def test_the_files_between_two_offsets_are_the_same_when_only_states_tell_of_them() -> None:
    store = MemoryStore()
    table = new_table(store, interval=1)
    table.append(files("a", 3))
    table.overwrite(files("b", 3))
    told = _batches(_feed(table, OnRemoval.DELIVER), _feed(table).first(Start(2)), max_files=2)
    store.delete([version_key(2)])
    fresh = opened(store, interval=1)
    assert _batches(_feed(fresh, OnRemoval.DELIVER), _feed(fresh).first(Start(2)), max_files=2) == told
    assert [len(batch) for batch in told] == [2, 2, 2]


def test_a_query_whose_versions_are_gone_is_told_how_to_begin_anew() -> None:
    table = _appended(*[1] * 8, interval=2)
    start = _feed(table).first(Start(1))
    table.truncate_history()
    with pytest.raises(VersionNotRetained, match=r"goes on with version 1 .* cleaned up .* new checkpoint.*earliest"):
        _feed(table).end(start, None, None, None)


def test_a_version_that_is_gone_ahead_does_not_keep_a_query_from_those_before_it() -> None:
    store = MemoryStore()
    table = new_table(store, interval=2)
    for number in range(1, 5):
        table.append(files(f"v{number}", 1))
    store.delete([version_key(3)])
    feed = _feed(opened(store, interval=2))
    end = feed.end(feed.first(Start(1)), None, None, None)
    assert end.version == 3
    with pytest.raises(VersionNotRetained, match="goes on with version 3"):
        feed.end(end, None, None, None)


def test_a_table_made_anew_at_the_same_place_is_another_one() -> None:
    table = _appended(1)
    start = ChangeOffset("another", 1)
    with pytest.raises(HeadgateError, match=r"made anew.*new checkpoint"):
        _feed(table).end(start, None, None, None)


def test_a_table_that_was_put_back_is_noticed() -> None:
    table = _appended(1)
    start = ChangeOffset(table.metadata.id, 7)
    with pytest.raises(HeadgateError, match=r"up to version 6, and its newest version is 1"):
        _feed(table).end(start, None, None, None)


def test_columns_that_come_while_a_query_runs_end_it() -> None:
    table = _appended(1)
    feed = ChangeFeed(table, OnRemoval.REFUSE, table.metadata.schema_string)
    start = feed.first(Start(1))
    table.alter(schema="id BIGINT, text STRING, date DATE, region STRING, month INT, more STRING")
    with pytest.raises(HeadgateError, match=r"columns of .* have changed .*same checkpoint"):
        feed.end(start, None, None, None)


_STEPS = st.lists(st.sampled_from(["append", "append many", "delete", "overwrite", "rewrite", "alter"]), max_size=8)


@settings(max_examples=40)
@given(
    steps=_STEPS,
    max_files=st.integers(1, 5),
    max_versions=st.integers(1, 3),
    from_snapshot=st.booleans(),
    interval=st.integers(1, 4),
)
def test_however_batches_are_cut_they_have_every_change_once(
    steps: list[str], max_files: int, max_versions: int, from_snapshot: bool, interval: int
) -> None:
    table = new_table(interval=interval, ambient=SteadyAmbient("one"))
    table.append(files("first", 2))
    start = _feed(table).first(Start() if from_snapshot else Start(0))
    expected: list[tuple[str, str]] = [("insert", add.path) for add in files("first", 2)]
    live = [add.path for add in files("first", 2)]
    for number, step in enumerate(steps):
        new = _new_files(step, number)
        gone = _gone(step, live)
        match step:
            case "append" | "append many":
                table.append(new)
            case "overwrite":
                table.overwrite(new)
            case "delete" if gone:
                table.delete(paths=gone)
            case "rewrite" if gone:
                assert isinstance(table.commit(Rewrite(tuple(gone), tuple(new))), Committed)
            case "alter":
                table.alter(description=f"step {number}")
            case _:
                continue
        live = [path for path in live if path not in gone] + [add.path for add in new]
        if step != "rewrite":
            expected += [("delete", path) for path in sorted(gone)] + [("insert", add.path) for add in new]
    feed = _feed(table, OnRemoval.DELIVER)
    batches = _batches(feed, start, max_files, max_versions, fresh=lambda: _feed(table, OnRemoval.DELIVER))
    assert [(kind, path) for batch in batches for kind, path, _ in batch] == expected
    assert max((len(batch) for batch in batches), default=0) <= max_files


def _new_files(step: str, number: int) -> list[AddFile]:
    match step:
        case "append many":
            return files(f"s{number}", 7)
        case "append" | "overwrite":
            return files(f"s{number}", 2)
        case "rewrite":
            return [add_file(f"s{number}", num_records=None)]
        case _:
            return []


def _gone(step: str, live: list[str]) -> list[str]:
    match step:
        case "overwrite":
            return list(live)
        case "delete" | "rewrite":
            return live[:2]
        case _:
            return []
