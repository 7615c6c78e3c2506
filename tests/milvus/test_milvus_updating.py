"""What updates make of a manifest, when they are refused, and who wins: values only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Index, Resolver, Stat, Updates
from headgate_table.milvus import FAIL, MERGE, OVERWRITE, Manifest, Refused, VersionedManifest, apply_updates
from headgate_table.milvus.rules.resolvers import resolve
from headgate_table.milvus.rules.updating import check_updates
from support.milvus.builders import group, rows
from support.milvus.strategies import updates

TABLE = Manifest(
    (group("id", "name", files=(("a", 0, 10),)), group("v", files=(("b", 0, 10),), format="vortex")),
    (DeltaLog("d", 1),),
    {"bm25": Stat(("z",)), "bloomfilter": Stat(("y",))},
)
MORE = (group("id", "name", files=(("c", 10, 20),)), group("v", files=(("e", 10, 20),), format="vortex"))


def _applied(manifest: Manifest, changes: Updates) -> Manifest:
    found = apply_updates(manifest, changes)
    assert isinstance(found, Manifest)
    return found


def _refused(manifest: Manifest, changes: Updates) -> Refused:
    found = apply_updates(manifest, changes)
    assert isinstance(found, Refused)
    return found


def test_appended_files_stand_behind_those_of_their_group() -> None:
    found = _applied(TABLE, Updates(appended_files=(MORE,)))
    assert [[file.path for file in each.files] for each in found.column_groups] == [["a", "c"], ["b", "e"]]


def test_the_first_order_of_columns_is_kept() -> None:
    found = _applied(TABLE, Updates(appended_files=((group("name", "id", files=(("c", 10, 20),)), MORE[1]),)))
    assert found.column_groups[0].columns == ("id", "name")


def test_the_first_append_brings_the_groups() -> None:
    assert _applied(Manifest(), Updates(appended_files=(MORE,))).column_groups == MORE


def test_a_second_append_in_one_transaction_follows_the_first() -> None:
    found = _applied(Manifest(), Updates(appended_files=(TABLE.column_groups, MORE)))
    assert [[file.path for file in each.files] for each in found.column_groups] == [["a", "c"], ["b", "e"]]


@pytest.mark.parametrize(
    "appended",
    [
        (MORE[0],),
        (MORE[1], MORE[0]),
        (group("id"), MORE[1]),
        (group("id", "name", "more"), MORE[1]),
        (group("id", "name", format="vortex"), MORE[1]),
    ],
    ids=["count", "order of groups", "missing column", "new column", "format"],
)
def test_an_append_that_does_not_match_the_groups_is_refused(appended: tuple[ColumnGroup, ...]) -> None:
    assert _refused(TABLE, Updates(appended_files=(appended,))).code == "group_mismatch"


def test_a_first_append_that_uses_a_column_twice_is_refused() -> None:
    assert _refused(Manifest(), Updates(appended_files=((group("id"), group("v", "id")),))).code == "column_exists"


def test_a_new_column_group_stands_behind_the_others() -> None:
    found = _applied(TABLE, Updates((rows("x", "f"),)))
    assert found.column_groups == (*TABLE.column_groups, rows("x", "f"))


def test_a_column_can_not_be_added_twice() -> None:
    refused = _refused(TABLE, Updates((rows("name", "f"),)))
    assert refused.code == "column_exists"
    assert "'name' already exists" in refused.reason


def test_two_new_groups_can_not_share_a_column() -> None:
    assert _refused(TABLE, Updates((rows("x", "f"), rows("x", "g")))).code == "column_exists"


def test_a_new_column_group_has_as_many_rows_as_the_table() -> None:
    assert _refused(TABLE, Updates((rows("x", "f", 11),))).code == "row_count_mismatch"


def test_a_new_column_group_may_come_with_the_rows_that_it_covers() -> None:
    found = _applied(TABLE, Updates((rows("x", "f", 20),), (MORE,)))
    assert [each.num_rows for each in found.column_groups] == [20, 20, 20]


def test_delta_logs_are_added_behind_the_others() -> None:
    found = _applied(TABLE, Updates(added_delta_logs=(DeltaLog("e", 2, 1), DeltaLog("f", 3))))
    assert [log.path for log in found.delta_logs] == ["d", "e", "f"]


def test_a_stat_is_replaced_whole_and_others_stay() -> None:
    found = _applied(TABLE, Updates(added_stats={"bm25": Stat(("x", "y"))}))
    assert found.get_all_stats() == {"bloomfilter": ["y"], "bm25": ["x", "y"]}


def test_an_append_drops_the_indexes_of_the_columns_that_it_touches() -> None:
    table = Manifest((rows("id", "a"),), indexes=(Index("id", "t", "i"), Index("other", "t", "j")))
    found = _applied(table, Updates(appended_files=((rows("id", "b"),),)))
    assert [index.column_name for index in found.indexes] == ["other"]


def test_what_is_not_an_append_leaves_indexes_alone() -> None:
    table = Manifest((rows("id", "a"),), indexes=(Index("id", "t", "i"),))
    assert _applied(table, Updates(added_delta_logs=(DeltaLog("e", 2),))).indexes == table.indexes


@given(updates(), updates())
def test_applying_again_starts_from_the_same_manifest(first: Updates, second: Updates) -> None:
    table = apply_updates(Manifest(), first)
    assert apply_updates(Manifest(), first) == table
    if isinstance(table, Manifest):
        before = (table.num_files, len(table.delta_logs))
        again = [apply_updates(table, second) for _ in range(3)]
        assert again[0] == again[1] == again[2]
        assert (table.num_files, len(table.delta_logs)) == before


@pytest.mark.parametrize(
    "changes",
    [
        Updates((ColumnGroup((), ()),)),
        Updates((group("a", "a"),)),
        Updates((group(""),)),
        Updates((group("a", format=""),)),
        Updates((group("a", files=(("../x", 0, 1),)),)),
        Updates((group("a", files=(("x", 0, 2**63),)),)),
        Updates((ColumnGroup(("a",), (ColumnGroupFile("x", metadata=bytes(70_000)),)),)),
        Updates((ColumnGroup(("a",), (ColumnGroupFile("x", properties={"k": "\ud800"}),)),)),
        Updates(appended_files=((),)),
        Updates(added_delta_logs=(DeltaLog("", 1),)),
        Updates(added_delta_logs=(DeltaLog("x", -1),)),
        Updates(added_delta_logs=(DeltaLog("x", True),)),
        Updates(added_delta_logs=(DeltaLog("x", 1, 2**31),)),
        Updates(added_stats={"": Stat(("x",))}),
        Updates(added_stats={"k": Stat(("",))}),
        Updates(added_stats={"k" * 70_000: Stat(("x",))}),
    ],
    ids=range(16),
)
def test_updates_that_no_manifest_may_hold_are_refused(changes: Updates) -> None:
    with pytest.raises(InvalidInput):
        check_updates(changes)


def test_updates_that_any_manifest_may_hold_are_taken() -> None:
    check_updates(Updates((rows("x", "f"),), (MORE,), (DeltaLog("e", 0, 9),), {"k": Stat(())}))


READ = VersionedManifest(1, TABLE)
SEEN = VersionedManifest(3, Manifest(TABLE.column_groups, (*TABLE.delta_logs, DeltaLog("theirs", 1))))
MINE = Updates(added_delta_logs=(DeltaLog("mine", 1),))


def _paths(found: Manifest | Refused) -> list[str]:
    assert isinstance(found, Manifest)
    return [log.path for log in found.delta_logs]


def test_fail_refuses_when_somebody_else_committed() -> None:
    found = resolve(FAIL, READ, SEEN, MINE)
    assert isinstance(found, Refused)
    assert found.code == "concurrent_transaction"
    assert "concurrent transaction detected" in found.reason


def test_fail_applies_to_what_was_read_when_nobody_else_committed() -> None:
    assert _paths(resolve(FAIL, READ, READ, MINE)) == ["d", "mine"]


def test_merge_applies_to_the_newest() -> None:
    assert _paths(resolve(MERGE, READ, SEEN, MINE)) == ["d", "theirs", "mine"]


def test_overwrite_applies_to_what_was_read() -> None:
    assert _paths(resolve(OVERWRITE, READ, SEEN, MINE)) == ["d", "mine"]


def test_a_function_decides_by_itself() -> None:
    def newest_without_mine(read: VersionedManifest, seen: VersionedManifest, changes: Updates) -> Manifest | Refused:
        assert (read, changes) == (READ, MINE)
        return seen.manifest

    assert _paths(resolve(newest_without_mine, READ, SEEN, MINE)) == ["d", "theirs"]


@given(st.sampled_from(Resolver), updates())
def test_every_resolver_gives_the_same_when_nobody_else_committed(resolver: Resolver, changes: Updates) -> None:
    at = VersionedManifest(0, Manifest())
    assert resolve(resolver, at, at, changes) == apply_updates(Manifest(), changes)
