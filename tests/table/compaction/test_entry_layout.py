"""Where entries go when a state is compacted: the order of partition texts, repeated paths, manifests of any size."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.messages.operations import Committed
from headgate_table.indextables.compaction.entry_layout import LEFT_OUT, Places, arranged, survey, text_ranks
from headgate_table.indextables.compaction.entry_pieces import cut, joined
from headgate_table.indextables.manifests.runs import RUN_ENTRIES
from headgate_table.indextables.read.distinct_texts import same_texts
from support.logs.foreign_log import build_on, large_path, large_table
from support.logs.raw_log import RawLog
from support.stores import FaultyStore, MemoryStore
from support.tables import arrow_entries, opened

NULL = "__HIVE_DEFAULT_PARTITION__"


def ordered(kind: ColumnKind, texts: Sequence[str]) -> list[str]:
    ranks = text_ranks(pa.array(texts), kind)
    return [text for _, text in sorted(zip(ranks.tolist(), texts, strict=True))]


def test_whole_numbers_are_ordered_as_numbers() -> None:
    """Break: `_NUMBERS` has no INTEGER."""
    assert ordered(ColumnKind.INTEGER, ["10", "-3", "9", "+2", "x"]) == ["-3", "+2", "9", "10", "x"]


def test_decimals_are_ordered_to_their_last_digit() -> None:
    """As doubles the first two are equal. Break: `_NUMBERS` casts decimals to float64."""
    texts = ["9007199254740993.1", "9007199254740993.05", "10.5", "9.75"]
    assert ordered(ColumnKind.DECIMAL, texts) == ["9.75", "10.5", "9007199254740993.05", "9007199254740993.1"]


def test_floating_point_numbers_are_ordered_as_numbers_and_what_is_none_comes_after() -> None:
    """Break: `_NUMBERS` has no FLOATING; or `text_ranks` casts texts that don't match."""
    texts = ["1.5E10", "NaN", "-2.0", "10.0", "9.5"]
    assert ordered(ColumnKind.DOUBLE, texts) == ["-2.0", "9.5", "10.0", "1.5E10", "NaN"]


def test_texts_that_look_like_numbers_are_texts_in_a_column_of_texts() -> None:
    """Break: `text_ranks` looks at the texts instead of the kind."""
    assert ordered(ColumnKind.STRING, ["9", "10"]) == ["10", "9"]


def entries(*rows: tuple[str, str]) -> pa.Table:
    """Entries by path and month."""
    return arrow_entries(
        [{"path": path, "partition_values": {"month": month}, "doc_mapping_ref": None} for path, month in rows]
    )


def places(*tables: pa.Table, tombstones: Sequence[str] = ()) -> list[int]:
    found = [survey([table], ["month"], pa.array(tombstones, pa.string())) for table in tables]
    whole = pa.concat_tables(tables).column("path")

    def paths_at(rows: Places) -> pa.ChunkedArray:
        return whole.take(pa.array(rows))

    return [int(place) for place in arranged(found, [ColumnKind.INTEGER], paths_at)]


def test_entries_go_by_partition_and_then_stay_as_they_came() -> None:
    """Break: `arranged` sorts by an unstable order; or ranks each survey by itself."""
    assert places(entries(("a", "10"), ("b", "9")), entries(("c", "10"), ("d", "2"))) == [2, 1, 3, 0]


def test_entries_without_a_partition_value_come_last() -> None:
    """Break: `survey` takes the marker for a text."""
    assert places(entries(("a", NULL), ("b", "99"))) == [1, 0]


def test_of_a_repeated_path_the_last_entry_stays() -> None:
    """Break: `_leave_repeats_out` keeps the first."""
    assert places(entries(("a", "1"), ("b", "1")), entries(("a", "1"))) == [LEFT_OUT, 0, 1]


def test_paths_of_one_hash_are_no_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `_leave_repeats_out` believes the hashes."""
    monkeypatch.setattr(
        "headgate_table.indextables.compaction.entry_layout.hashes_of", lambda paths: np.zeros(len(paths), np.int64)
    )
    assert places(entries(("a", "1"), ("b", "1"), ("a", "1"))) == [LEFT_OUT, 0, 1]


def test_a_dead_entry_is_no_repeat_of_a_living_one() -> None:
    assert places(entries(("a", "1"), ("b", "1")), tombstones=["a"]) == [LEFT_OUT, 0]


def test_pieces_of_several_manifests_are_joined_in_their_order() -> None:
    """Break: `joined` concatenates without ordering."""
    one = cut(entries(("a", "1"), ("c", "1")), np.array([0, 2]), 10)
    two = cut(entries(("b", "1"), ("x", "1")), np.array([1, LEFT_OUT]), 10)
    assert joined([piece for _, piece in (*one, *two)]).column("path").to_pylist() == ["a", "b", "c"]


def large(*texts: str) -> pa.Array:
    return pa.array(texts, pa.large_string())


def test_the_same_texts_in_another_order_are_the_same() -> None:
    one = [f"path-of-a-file-{number:09d}" for number in range(70_000)]
    assert same_texts(large(*one), large(*reversed(one)))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (["long-text-1", "long-text-2"], ["long-text-1", "long-text-3"]),
        (["long-text-1"], ["long-text-1", "long-text-2"]),
        (["long-text-1", "long-text-1"], ["long-text-1", "long-text-2"]),
        (["long-text-1", "long-text-2"], ["long-text-1", "long-text-1"]),
    ],
)
def test_texts_that_differ_or_repeat_are_not_the_same(left: list[str], right: list[str]) -> None:
    """Break: `same_texts` compares lengths, or prints, only."""
    assert not same_texts(large(*left), large(*right))


def test_a_manifest_of_any_size_is_read_in_parts() -> None:
    """Other writers put all entries of a table into one. Break: `_parts` loses the blocks after the first part."""
    count = 2 * RUN_ENTRIES + 10_000
    dead = [large_path(number, {}) for number in range(0, count, 10)]
    store = FaultyStore(
        build_on(MemoryStore(), lambda made: large_table(made, [[(range(count), {})]], tombstones=dead))
    )
    receipt = opened(store, interval=1).compact()
    assert isinstance(receipt, Committed)
    log = RawLog(store.inner)
    assert [info["numEntries"] for info in log.state(receipt.version)["manifests"]] == [50_000, 49_000]
    assert len(log.live(receipt.version)) == count - len(dead)
