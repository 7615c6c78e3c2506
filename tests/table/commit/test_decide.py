"""The table of operations: what each does to a table, and every reason for which it is refused."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile, Metadata, SkipFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    CompactState,
    Create,
    Delete,
    NewManifest,
    Operation,
    Overwrite,
    Purge,
    RejectCode,
    Restore,
    Rewrite,
    Skip,
)
from headgate_table.coordination.refusals import Refusal
from headgate_table.indextables.rules.decide import Blocked, Effect, Evidence, LiveFile, Questions, decide, questions

SCHEMA = schema_string_of("id BIGINT, day INT, region STRING")
METADATA = Metadata(id="t", schema_string=SCHEMA, partition_columns=("day",), configuration={"owner": "ada"})
NOW_MS = 1_790_000_000_000
NOTHING_KNOWN = Evidence()


def file(name: str, day: str = "1", **values: Any) -> AddFile:
    return AddFile(path=f"day={day}/{name}", partition_values={"day": day}, size=10, modification_time=1, **values)


def live(name: str, day: str = "1", records: int | None = None) -> LiveFile:
    return LiveFile(f"day={day}/{name}", {"day": day}, 10, records)


def by_path(*files: LiveFile) -> Mapping[str, LiveFile]:
    return {item.path: item for item in files}


def effect_of(operation: Operation, evidence: Evidence = NOTHING_KNOWN) -> Effect:
    found = decide(operation, METADATA, evidence, NOW_MS)
    assert isinstance(found, Effect), found
    return found


def refusal_of(operation: Operation, evidence: Evidence = NOTHING_KNOWN, metadata: Metadata = METADATA) -> Refusal:
    found = decide(operation, metadata, evidence, NOW_MS)
    assert isinstance(found, Refusal), found
    return found


def test_an_append_adds_its_files_and_removes_nothing() -> None:
    effect = effect_of(Append((file("a"), file("b"))))
    assert [add.path for add in effect.adds] == ["day=1/a", "day=1/b"]
    assert effect.removes == ()


def test_an_append_of_a_live_path_is_refused() -> None:
    refusal = refusal_of(Append((file("a"),)), Evidence(live=by_path(live("a"))))
    assert refusal.code is RejectCode.PATH_IN_USE
    assert "day=1/a is live already" in refusal.reason


@pytest.mark.parametrize("why", list(Blocked))
def test_an_append_of_a_blocked_path_is_refused_and_says_why(why: Blocked) -> None:
    refusal = refusal_of(Append((file("a"),)), Evidence(blocked={"day=1/a": why}))
    assert refusal.code is RejectCode.PATH_IN_USE
    assert why.value in refusal.reason


def test_a_path_that_is_added_twice_is_refused() -> None:
    assert refusal_of(Append((file("a"), file("a")))).code is RejectCode.PATH_IN_USE


@pytest.mark.parametrize("values", [{}, {"region": "eu"}, {"day": "1", "region": "eu"}])
def test_other_partition_columns_than_the_tables_are_refused(values: dict[str, str]) -> None:
    add = AddFile(path="a", partition_values=values, size=1, modification_time=1)
    assert refusal_of(Append((add,))).code is RejectCode.PARTITION_MISMATCH


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "../a",
        "a//b",
        "_transaction_log/a",
        "_headgate/a",
        "x/../../a",
        "a\nb",
        "_Transaction_Log/a",
        "_HEADGATE/a",
    ],
)
def test_a_path_that_leaves_the_table_or_enters_its_log_is_refused(path: str) -> None:
    add = AddFile(path=path, partition_values={"day": "1"}, size=1, modification_time=1)
    assert refusal_of(Append((add,))).code is RejectCode.INVALID


def test_an_overwrite_removes_what_matched_and_adds_its_files() -> None:
    operation = Overwrite((file("new"),), where="day = 1")
    effect = effect_of(operation, Evidence(matched=[live("old")]))
    assert [remove.path for remove in effect.removes] == ["day=1/old"]
    assert [add.path for add in effect.adds] == ["day=1/new"]


def test_a_remove_tells_the_size_partition_and_time_of_its_file() -> None:
    remove = effect_of(Delete(where="day = 1"), Evidence(matched=[live("old")])).removes[0]
    assert (remove.size, remove.partition_values, remove.deletion_timestamp) == (10, {"day": "1"}, NOW_MS)
    assert remove.data_change
    assert remove.extended_file_metadata


def test_an_overwrite_with_a_file_outside_of_its_range_is_refused() -> None:
    refusal = refusal_of(Overwrite((file("new", day="2"),), where="day = 1"))
    assert refusal.code is RejectCode.OUTSIDE_WHERE
    assert "day=2/new" in refusal.reason


@pytest.mark.parametrize("operation", [Overwrite((), where="region = 'eu'"), Delete(where="region = 'eu'")])
def test_a_range_that_names_no_partition_column_is_refused(operation: Operation) -> None:
    refusal = refusal_of(operation)
    assert refusal.code is RejectCode.NOT_A_PARTITION
    assert "'region'" in refusal.reason
    assert "day" in refusal.reason


def test_a_delete_of_named_files_removes_them_once() -> None:
    effect = effect_of(Delete(paths=("day=1/a", "day=1/a")), Evidence(live=by_path(live("a"))))
    assert [remove.path for remove in effect.removes] == ["day=1/a"]


def test_a_delete_of_a_file_that_is_not_live_is_refused() -> None:
    assert refusal_of(Delete(paths=("day=1/a",))).code is RejectCode.NOT_LIVE


def test_a_delete_by_paths_and_by_range_at_once_is_refused() -> None:
    assert refusal_of(Delete(paths=("day=1/a",), where="day = 1")).code is RejectCode.INVALID


def test_a_rewrite_changes_no_data() -> None:
    operation = Rewrite(("day=1/a", "day=1/b"), (file("c", num_records=5),))
    effect = effect_of(operation, Evidence(live=by_path(live("a", records=2), live("b", records=3))))
    assert [remove.data_change for remove in effect.removes] == [False, False]
    assert [add.data_change for add in effect.adds] == [False]


def test_a_rewrite_of_a_source_that_is_gone_is_refused() -> None:
    assert refusal_of(Rewrite(("day=1/a",), (file("c"),))).code is RejectCode.SOURCE_GONE


@pytest.mark.parametrize(
    ("sources", "outputs"),
    [((None,), ()), ((2,), ()), ((None, 2), ()), ((None, 5), (4,)), ((2,), (3, None)), ((0, None), ())],
)
def test_a_rewrite_that_surely_changes_rows_or_may_drop_all_is_refused(
    sources: tuple[int | None, ...], outputs: tuple[int | None, ...]
) -> None:
    """Break: a rewrite without an output removes rows, and change feeds don't see it."""
    named = [live(f"s{number}", records=count) for number, count in enumerate(sources)]
    adds = tuple(file(f"o{number}", num_records=count) for number, count in enumerate(outputs))
    refusal = refusal_of(Rewrite(tuple(each.path for each in named), adds), Evidence(live=by_path(*named)))
    assert refusal.code is RejectCode.RECORDS_DIFFER


@pytest.mark.parametrize(
    ("sources", "outputs"), [((0,), ()), ((None,), (5,)), ((2, None), (5,)), ((3,), (2, None)), ((None,), (None,))]
)
def test_a_rewrite_that_may_hold_the_same_rows_is_accepted(
    sources: tuple[int | None, ...], outputs: tuple[int | None, ...]
) -> None:
    named = [live(f"s{number}", records=count) for number, count in enumerate(sources)]
    adds = tuple(file(f"o{number}", num_records=count) for number, count in enumerate(outputs))
    effect = effect_of(Rewrite(tuple(each.path for each in named), adds), Evidence(live=by_path(*named)))
    assert len(effect.removes) == len(sources)


COUNTS = st.lists(st.none() | st.integers(0, 3), max_size=3)


def _possible(counts: list[int | None]) -> set[int]:
    """All sums, where an unknown count is anything up to more than all others together."""
    return {sum(each) for each in product(*(range(20) if count is None else (count,) for count in counts))}


@given(COUNTS.filter(bool), COUNTS)
def test_a_rewrite_is_accepted_where_the_rows_may_be_the_same_and_never_into_nothing(
    sources: list[int | None], outputs: list[int | None]
) -> None:
    """By trying all that unknown counts can be."""
    named = [live(f"s{number}", records=count) for number, count in enumerate(sources)]
    adds = tuple(file(f"o{number}", num_records=count) for number, count in enumerate(outputs))
    found = decide(Rewrite(tuple(each.path for each in named), adds), METADATA, Evidence(live=by_path(*named)), NOW_MS)
    before, after = _possible(sources), _possible(outputs)
    may_be = bool(before & after) if outputs else before == {0}
    assert isinstance(found, Effect) == may_be


@given(
    st.sampled_from(("_transaction_log", "_headgate", "_metadata", "data", "_data", "metadata")),
    st.lists(st.booleans(), min_size=16, max_size=16),
)
def test_no_data_file_lies_in_a_folder_that_is_the_logs_in_any_case(name: str, capitals: list[bool]) -> None:
    spelled = "".join(
        letter.upper() if is_capital else letter for letter, is_capital in zip(name, capitals, strict=False)
    )
    add = AddFile(path=f"{spelled}/x", partition_values={"day": "1"}, size=10, modification_time=1)
    found = decide(Append((add,)), METADATA, NOTHING_KNOWN, NOW_MS)
    assert isinstance(found, Refusal) == (name in ("_transaction_log", "_headgate", "_metadata"))


def test_a_rewrite_that_loses_records_is_refused() -> None:
    refusal = refusal_of(
        Rewrite(("day=1/a",), (file("c", num_records=1),)), Evidence(live=by_path(live("a", records=2)))
    )
    assert refusal.code is RejectCode.RECORDS_DIFFER


@pytest.mark.parametrize(("before", "after"), [(None, 1), (2, None)])
def test_a_rewrite_is_taken_when_one_side_does_not_know_its_records(before: int | None, after: int | None) -> None:
    operation = Rewrite(("day=1/a",), (file("c", num_records=after),))
    assert effect_of(operation, Evidence(live=by_path(live("a", records=before)))).adds


def test_a_rewrite_into_another_partition_is_refused() -> None:
    operation = Rewrite(("day=1/a",), (file("c", day="2"),))
    assert refusal_of(operation, Evidence(live=by_path(live("a")))).code is RejectCode.PARTITION_MISMATCH


@pytest.mark.parametrize(
    ("type_name", "before", "after"),
    [
        ("INT", "7", "0007"),
        ("INT", "+7", "7"),
        ("DOUBLE", "1e39", "1E39"),
        ("DOUBLE", "NaN", "NaN"),
        ("BOOLEAN", "TRUE", "true"),
        ("DECIMAL(9,2)", "1.50", "1.5"),
        ("TIMESTAMP", "2024-01-01 12:00:00", "2024-01-01 12%3A00%3A00"),
        ("STRING", "a:b", "a%3Ab"),
        ("INT", "", "__HIVE_DEFAULT_PARTITION__"),
    ],
)
def test_a_rewrite_into_the_same_partition_spelled_otherwise_is_taken(type_name: str, before: str, after: str) -> None:
    effect = decide(*_rewritten(type_name, before, after), NOW_MS)
    assert isinstance(effect, Effect), effect


@pytest.mark.parametrize(
    ("type_name", "before", "after"),
    [
        ("STRING", "7", "0007"),
        ("STRING", "a", "A"),
        ("DOUBLE", "-0.0", "0.0"),
        ("INT", "seven", "__HIVE_DEFAULT_PARTITION__"),
        ("INT", "seven", "eight"),
    ],
)
def test_a_rewrite_into_a_partition_that_only_looks_like_it_is_refused(type_name: str, before: str, after: str) -> None:
    refusal = decide(*_rewritten(type_name, before, after), NOW_MS)
    assert isinstance(refusal, Refusal)
    assert refusal.code is RejectCode.PARTITION_MISMATCH


def _rewritten(type_name: str, before: str, after: str) -> tuple[Rewrite, Metadata, Evidence]:
    """A file of one partition, rewritten as one of another, in a table with a partition column of this type."""
    metadata = Metadata(
        id="t", schema_string=schema_string_of(f"id BIGINT, day {type_name}"), partition_columns=("day",)
    )
    operation = Rewrite(
        ("day=1/a",), (AddFile(path="b", partition_values={"day": after}, size=1, modification_time=1),)
    )
    return operation, metadata, Evidence(live=by_path(LiveFile("day=1/a", {"day": before}, 10, None)))


def test_a_rewrite_without_sources_is_refused() -> None:
    assert refusal_of(Rewrite((), (file("c"),))).code is RejectCode.INVALID


def test_a_restore_removes_what_came_later_and_brings_back_what_left() -> None:
    evidence = Evidence(
        matched=[live("kept"), live("later")], restored={"day=1/kept": file("kept"), "day=1/left": file("left")}
    )
    effect = effect_of(Restore(3), evidence)
    assert [remove.path for remove in effect.removes] == ["day=1/later"]
    assert [add.path for add in effect.adds] == ["day=1/left"]
    assert effect.re_adds


def test_a_restore_of_a_version_that_is_gone_is_refused() -> None:
    assert refusal_of(Restore(3), Evidence(restored=None)).code is RejectCode.GONE


def test_skips_are_recorded_as_they_are() -> None:
    skip = SkipFile(path="day=1/a", skip_timestamp=1, reason="unreadable", operation="merge")
    assert effect_of(Skip((skip,))).skips == (skip,)


def test_an_alter_sets_and_takes_away_configuration() -> None:
    changed = effect_of(Alter(based_on=0, configuration={"owner": None, "team": "lake"})).metadata
    assert changed is not None
    assert changed.configuration == {"team": "lake"}


def test_an_alter_after_another_one_is_refused() -> None:
    refusal = refusal_of(Alter(based_on=4), Evidence(metadata_version=5))
    assert refusal.code is RejectCode.METADATA_CHANGED
    assert "version 5" in refusal.reason


def test_an_alter_may_append_a_nullable_column() -> None:
    wider = schema_string_of("id BIGINT, day INT, region STRING, note STRING")
    changed = effect_of(Alter(based_on=0, schema_string=wider)).metadata
    assert changed is not None
    assert changed.schema_string == wider


def test_an_alter_that_drops_a_column_is_refused() -> None:
    narrower = schema_string_of("id BIGINT, day INT")
    assert refusal_of(Alter(based_on=0, schema_string=narrower)).code is RejectCode.SCHEMA_CHANGE


def test_an_alter_of_the_committers_own_key_is_refused() -> None:
    operation = Alter(based_on=0, configuration={"headgate.coordinator": "{}"})
    assert refusal_of(operation).code is RejectCode.INVALID


def test_an_alter_to_a_setting_that_makes_no_sense_is_refused() -> None:
    refusal = refusal_of(Alter(based_on=0, configuration={"indextables.checkpoint.interval": "often"}))
    assert refusal.code is RejectCode.INVALID
    assert "the setting indextables.checkpoint.interval is 'often'; it takes a whole number" in refusal.reason


def test_a_purge_forbids_its_paths_once_each() -> None:
    assert effect_of(Purge(("day=1/a", "day=1/a"))).purged == ("day=1/a",)


def test_a_purge_of_a_live_file_is_refused() -> None:
    assert refusal_of(Purge(("day=1/a",)), Evidence(live=by_path(live("a")))).code is RejectCode.STILL_NEEDED


@pytest.mark.parametrize("why", [Blocked.TOMBSTONED, Blocked.REMOVED])
def test_a_purge_of_a_file_that_an_earlier_version_needs_is_refused(why: Blocked) -> None:
    assert refusal_of(Purge(("day=1/a",)), Evidence(blocked={"day=1/a": why})).code is RejectCode.STILL_NEEDED


def test_a_purge_may_be_repeated() -> None:
    assert effect_of(Purge(("day=1/a",)), Evidence(blocked={"day=1/a": Blocked.PURGED})).purged == ("day=1/a",)


SWAP = CompactState(base=4, removes=("manifests/a",), adds=(NewManifest("manifests/b", 1, 1, 1, 10),))


def test_a_swap_of_manifests_that_the_state_names_is_taken() -> None:
    assert effect_of(SWAP, Evidence(manifests=frozenset({"manifests/a"}))).swap == SWAP


def test_a_swap_of_a_manifest_that_is_gone_is_refused() -> None:
    assert refusal_of(SWAP, Evidence(manifests=frozenset({"manifests/x"}))).code is RejectCode.BASE_GONE


def test_a_swap_that_changes_the_live_files_is_refused() -> None:
    evidence = Evidence(manifests=frozenset({"manifests/a"}), swap_differs="day=1/a is missing")
    refusal = refusal_of(SWAP, evidence)
    assert refusal.code is RejectCode.BASE_GONE
    assert "day=1/a is missing" in refusal.reason


def test_a_create_on_a_table_is_refused() -> None:
    assert refusal_of(Create(SCHEMA)).code is RejectCode.ALREADY_EXISTS


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (Delete(where="day = 'Monday' AND"), RejectCode.INVALID),
        (Overwrite((), where="day = 'Monday'"), RejectCode.INVALID),
        (Delete(where="region = 'eu'"), RejectCode.NOT_A_PARTITION),
        (CompactState(1, (), (NewManifest("../manifest-0a.avro", 1, 1, 1, 1),)), RejectCode.INVALID),
    ],
)
def test_what_is_refused_whatever_is_true_asks_for_nothing(operation: Operation, code: RejectCode) -> None:
    refusal = questions(operation, METADATA)
    assert isinstance(refusal, Refusal)
    assert refusal.code is code


def test_only_the_paths_that_an_operation_names_are_asked_for() -> None:
    assert questions(Append((file("a"),)), METADATA) == Questions(paths=("day=1/a",))
    assert questions(Rewrite(("s",), (file("a"),)), METADATA) == Questions(paths=("s", "day=1/a"))
    assert questions(Overwrite((file("a"),)), METADATA) == Questions(paths=("day=1/a",), everything=True)
