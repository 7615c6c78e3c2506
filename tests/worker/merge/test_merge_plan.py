"""The plan of a merge, as a function of the files of a snapshot."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, SkipFile
from headgate_schemas.errors import InvalidInput
from headgate_worker.merge.plan import MergeLimits, MergePlan, SortOrder, partition_key, plan_merges

MIB = 1 << 20
NOW_MS = 1_780_000_000_000
DAY_MS = 24 * 3_600_000
LIMITS = MergeLimits(target_bytes=100 * MIB)


def file(
    path: str, size: int = MIB, partition: Mapping[str, str] | None = None, span: tuple[str, str] | None = None
) -> AddFile:
    return AddFile(
        path=path,
        partition_values=partition or {},
        size=size,
        modification_time=NOW_MS,
        num_records=1,
        min_values=None if span is None else {"id": span[0]},
        max_values=None if span is None else {"id": span[1]},
    )


def listing(files: Sequence[AddFile]) -> pa.Table:
    text_map = pa.map_(pa.string(), pa.string())

    def maps(name: str) -> pa.Array:
        values = [getattr(one, name) for one in files]
        return pa.array([None if value is None else list(value.items()) for value in values], text_map)

    return pa.table(
        {
            "path": pa.array([one.path for one in files], pa.string()),
            "partition_values": maps("partition_values"),
            "size": pa.array([one.size for one in files], pa.int64()),
            "modification_time": pa.array([one.modification_time for one in files], pa.int64()),
            "num_records": pa.array([one.num_records for one in files], pa.int64()),
            "num_merge_ops": pa.array([one.num_merge_ops for one in files], pa.int32()),
            "min_values": maps("min_values"),
            "max_values": maps("max_values"),
        }
    )


def planned(
    files: Sequence[AddFile], limits: MergeLimits = LIMITS, skips: Mapping[str, SkipFile] | None = None
) -> MergePlan:
    return plan_merges(listing(files), limits, skips or {}, NOW_MS)


def paths(plan: MergePlan) -> list[list[str]]:
    return [[source.path for source in group.sources] for group in plan.groups]


def test_small_files_of_one_partition_become_one_group() -> None:
    assert paths(planned([file("a.parquet"), file("b.parquet")])) == [["a.parquet", "b.parquet"]]


def test_a_file_alone_is_not_merged() -> None:
    assert paths(planned([file("a.parquet")])) == []


def test_partitions_are_not_mixed() -> None:
    files = [file(f"{number}.parquet", partition={"day": str(number % 2)}) for number in range(4)]
    assert paths(planned(files)) == [["0.parquet", "2.parquet"], ["1.parquet", "3.parquet"]]


def test_a_missing_partition_value_and_the_marker_are_both_null() -> None:
    files = [file("a.parquet"), file("b.parquet", partition={"day": NULL_PARTITION})]
    assert paths(planned(files)) == [["a.parquet", "b.parquet"]]


def test_an_empty_partition_value_is_not_mixed_with_null() -> None:
    """The committer compares stored texts, and would refuse the output."""
    files = [file("a.parquet", partition={"day": ""}), file("b.parquet", partition={"day": NULL_PARTITION})]
    assert paths(planned(files)) == []


def test_files_of_three_quarters_of_the_target_stay() -> None:
    files = [file("a.parquet", 75 * MIB), file("b.parquet"), file("c.parquet")]
    assert paths(planned(files)) == [["b.parquet", "c.parquet"]]


def test_files_just_below_three_quarters_of_the_target_are_merged() -> None:
    files = [file("a.parquet", 75 * MIB - 1), file("b.parquet")]
    assert paths(planned(files)) == [["a.parquet", "b.parquet"]]


def test_a_group_reaches_the_target_and_not_beyond() -> None:
    files = [file(f"{name}.parquet", 50 * MIB) for name in "abcd"]
    assert paths(planned(files)) == [["a.parquet", "b.parquet"], ["c.parquet", "d.parquet"]]


def test_neighbours_stay_together_even_where_others_would_fit_better() -> None:
    files = [file("a.parquet", 60 * MIB), file("b.parquet", 60 * MIB), file("c.parquet", 40 * MIB)]
    assert paths(planned(files)) == [["b.parquet", "c.parquet"]]


def test_a_group_has_at_most_so_many_sources() -> None:
    files = [file(f"{number}.parquet") for number in range(5)]
    assert [len(group) for group in paths(planned(files, MergeLimits(100 * MIB, max_sources=2)))] == [2, 2]


def test_the_groups_that_save_most_files_come_first_and_the_rest_is_counted() -> None:
    few = [file(f"few{number}.parquet", partition={"day": "1"}) for number in range(2)]
    many = [file(f"many{number}.parquet", partition={"day": "2"}) for number in range(3)]
    plan = planned([*few, *many], MergeLimits(100 * MIB, max_outputs=1))
    assert (paths(plan), plan.put_off) == ([["many0.parquet", "many1.parquet", "many2.parquet"]], 1)


def test_among_groups_that_save_as_many_files_the_smaller_comes_first() -> None:
    large = [file(f"large{number}.parquet", 9 * MIB, {"day": "1"}) for number in range(2)]
    small = [file(f"small{number}.parquet", 1 * MIB, {"day": "2"}) for number in range(2)]
    assert paths(planned([*large, *small]))[0] == ["small0.parquet", "small1.parquet"]


def test_a_group_of_too_few_sources_waits_for_more() -> None:
    files = [file(f"{number}.parquet") for number in range(4)]
    assert paths(planned(files, MergeLimits(100 * MIB, min_sources=5))) == []


def test_a_group_that_fills_its_output_does_not_wait() -> None:
    files = [file("a.parquet", 40 * MIB), file("b.parquet", 40 * MIB)]
    assert paths(planned(files, MergeLimits(100 * MIB, min_sources=5))) == [["a.parquet", "b.parquet"]]


def test_split_files_are_left_alone_and_noted_once() -> None:
    plan = planned([file("a.split"), file("b.split"), file("c.parquet"), file("d.parquet")])
    assert paths(plan) == [["c.parquet", "d.parquet"]]
    assert plan.notes() == ("2 .split files are left alone: they are search indexes, and only Parquet is merged",)


@pytest.mark.parametrize("path", ["a.orc", "s3://elsewhere/a.parquet", "/a.parquet", "b/../a.parquet"])
def test_files_of_other_kinds_or_places_are_left_alone_and_counted(path: str) -> None:
    plan = planned([file(path), file("c.parquet"), file("d.parquet")])
    assert (paths(plan), plan.others) == ([["c.parquet", "d.parquet"]], 1)


@pytest.mark.parametrize("path", ["a.snappy.parquet", "p=1/000000_0", "A.PARQUET", "x.parq"])
def test_the_names_that_writers_of_parquet_give_are_known(path: str) -> None:
    assert paths(planned([file(path), file("b.parquet")])) == [[path, "b.parquet"]]


def cooling(path: str, *, at: int = NOW_MS, until: int | None = NOW_MS + 1, count: int = 1) -> dict[str, SkipFile]:
    return {path: SkipFile(path, at, "damaged", "merge", retry_after=until, skip_count=count)}


def test_files_under_a_cooldown_are_left_out_and_counted() -> None:
    files = [file("a.parquet"), file("b.parquet"), file("c.parquet")]
    plan = planned(files, skips=cooling("b.parquet"))
    assert (paths(plan), plan.cooling) == ([["a.parquet", "c.parquet"]], 1)


def test_files_whose_cooldown_is_over_are_tried_again() -> None:
    plan = planned([file("a.parquet"), file("b.parquet")], skips=cooling("b.parquet", until=NOW_MS))
    assert (paths(plan), plan.cooling) == ([["a.parquet", "b.parquet"]], 0)


@pytest.mark.parametrize(("count", "days", "is_left_out"), [(1, 0.9, True), (1, 1, False), (2, 1, True), (2, 2, False)])
def test_a_skip_without_an_end_cools_down_for_longer_each_time(count: int, days: float, is_left_out: bool) -> None:
    skips = cooling("b.parquet", at=NOW_MS - int(days * DAY_MS), until=None, count=count)
    assert bool(planned([file("a.parquet"), file("b.parquet")], skips=skips).cooling) is is_left_out


SORTED = MergeLimits(100 * MIB, sort_order=SortOrder(("id",), is_text=False))


def test_ranges_apart_are_put_in_the_order_of_their_numbers() -> None:
    files = [
        file("c.parquet", span=("100", "110")),
        file("a.parquet", span=("9", "10")),
        file("b.parquet", span=("20", "30")),
    ]
    assert paths(planned(files, SORTED)) == [["a.parquet", "b.parquet", "c.parquet"]]


def test_texts_are_put_in_the_order_of_texts() -> None:
    limits = MergeLimits(100 * MIB, sort_order=SortOrder(("id",), is_text=True))
    files = [file("a.parquet", span=("9", "91")), file("b.parquet", span=("10", "11"))]
    assert paths(planned(files, limits)) == [["b.parquet", "a.parquet"]]


@pytest.mark.parametrize("span", [("5", "25"), None, ("x", "y")], ids=["overlap", "unknown", "no-number"])
def test_files_keep_their_order_where_their_ranges_give_none(span: tuple[str, str] | None) -> None:
    files = [file("b.parquet", span=("20", "30")), file("a.parquet", span=("0", "10")), file("c.parquet", span=span)]
    assert paths(planned(files, SORTED)) == [["b.parquet", "a.parquet", "c.parquet"]]


@pytest.mark.parametrize(
    ("columns", "expected"), [(("id",), ["a.parquet", "b.parquet"]), (("id", "x"), ["b.parquet", "a.parquet"])]
)
def test_ranges_that_touch_are_apart_only_where_nothing_else_is_sorted_by(
    columns: tuple[str, ...], expected: list[str]
) -> None:
    limits = MergeLimits(100 * MIB, sort_order=SortOrder(columns, is_text=False))
    files = [file("b.parquet", span=("10", "20")), file("a.parquet", span=("0", "10"))]
    assert paths(planned(files, limits)) == [expected]


def test_an_output_does_not_reach_over_the_range_of_a_file_that_stays() -> None:
    files = [
        file("a.parquet", span=("0", "1")),
        file("b.parquet", span=("2", "3")),
        file("large.parquet", 90 * MIB, span=("4", "5")),
        file("c.parquet", span=("6", "7")),
        file("d.parquet", span=("8", "9")),
    ]
    assert paths(planned(files, SORTED)) == [["a.parquet", "b.parquet"], ["c.parquet", "d.parquet"]]


@pytest.mark.parametrize(
    "wrong", [{"target_bytes": MIB - 1}, {"max_sources": 1}, {"min_sources": 1}, {"max_outputs": 0}]
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"at least"):
        MergeLimits(**wrong)


SIZES = st.integers(0, 200 * MIB)
PARTITIONS = st.sampled_from([{}, {"day": "1"}, {"day": "2"}, {"day": NULL_PARTITION}, {"day": ""}])
NAMES = st.sampled_from(["parquet", "split", "orc"])
BOUNDS = st.one_of(st.none(), st.tuples(st.integers(0, 50), st.integers(0, 50)).map(sorted))


@st.composite
def tables(draw: st.DrawFn) -> list[AddFile]:
    count = draw(st.integers(0, 30))
    found = []
    for number in range(count):
        span = draw(BOUNDS)
        found.append(
            file(
                f"{number}.{draw(NAMES)}",
                draw(SIZES),
                draw(PARTITIONS),
                None if span is None else (str(span[0]), str(span[1])),
            )
        )
    return found


ANY_LIMITS = st.builds(
    MergeLimits,
    target_bytes=st.integers(MIB, 300 * MIB),
    max_outputs=st.one_of(st.none(), st.integers(1, 4)),
    max_sources=st.integers(2, 6),
    min_sources=st.integers(2, 4),
    sort_order=st.sampled_from([None, SortOrder(("id",), is_text=False), SortOrder(("id", "x"), is_text=False)]),
)


@given(tables(), ANY_LIMITS)
def test_any_plan_keeps_its_promises(files: list[AddFile], limits: MergeLimits) -> None:
    plan = planned(files, limits)
    by_path = {one.path: one for one in files}
    used = [path for group in paths(plan) for path in group]
    assert len(used) == len(set(used))
    assert all(by_path[path].size < limits.stays_from_bytes and path.endswith(".parquet") for path in used)
    assert limits.max_outputs is None or len(plan.groups) <= limits.max_outputs
    assert plan.splits == sum(path.endswith(".split") for path in by_path)
    saved = [group.files_saved for group in plan.groups]
    assert saved == sorted(saved, reverse=True)
    for group in plan.groups:
        assert 2 <= len(group.sources) <= limits.max_sources
        assert group.size_bytes <= limits.target_bytes
        assert len({partition_key(source.partition_values) for source in group.sources}) == 1
    assert planned(files, limits) == plan


@given(tables(), ANY_LIMITS)
def test_without_a_sort_order_files_are_written_in_the_order_of_the_table(
    files: list[AddFile], limits: MergeLimits
) -> None:
    place = {one.path: number for number, one in enumerate(files)}
    plan = planned(files, MergeLimits(limits.target_bytes, limits.max_outputs, limits.max_sources))
    for group in paths(plan):
        assert [place[path] for path in group] == sorted(place[path] for path in group)


@given(tables(), ANY_LIMITS)
def test_a_plan_carried_out_saves_files_until_nothing_is_left_to_merge(
    files: list[AddFile], limits: MergeLimits
) -> None:
    current = list(files)
    for turn in range(len(files) + 1):
        plan = planned(current, limits)
        if not plan.groups:
            break
        before = len(current)
        for number, group in enumerate(plan.groups):
            gone = {source.path for source in group.sources}
            place = next(index for index, one in enumerate(current) if one.path in gone)
            merged = file(f"merged-{turn}-{number}.parquet", group.size_bytes, group.sources[0].partition_values)
            current = [
                *(one for one in current[:place] if one.path not in gone),
                merged,
                *(one for one in current[place:] if one.path not in gone),
            ]
        assert len(current) == before - sum(group.files_saved for group in plan.groups)
    assert planned(current, limits).groups == ()
