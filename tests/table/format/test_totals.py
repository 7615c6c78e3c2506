"""Sizes as large as a long can be, as writers give them to files whose size they don't know: totals stay numbers of the log."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headgate.page.table_views import version_view
from headgate_schemas.actions.actions import AddFile, CommitInfo
from headgate_schemas.milvus import LobFile
from headgate_table.indextables.format.replay import commit_time
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.table import Table
from headgate_table.totals import MAX_LONG, as_total, exact_sum, total_of
from support.logs.raw_log import RawLog
from support.stores import MemoryStore
from support.tables import add_file, new_table, opened


def longs(*values: int | None) -> pa.ChunkedArray:
    return pa.chunked_array([list(values[:1]), list(values[1:])], pa.int64())


def test_a_sum_of_longs_is_exact_whatever_its_size() -> None:
    """Break: `exact_sum` adds longs as longs, which go round."""
    assert exact_sum(longs(MAX_LONG, MAX_LONG, None, -5)) == 2 * MAX_LONG - 5
    assert exact_sum(longs()) == 0


def test_a_total_is_cut_to_what_a_long_can_say() -> None:
    assert [as_total(number) for number in (-1, 0, MAX_LONG, MAX_LONG + 1)] == [0, 0, MAX_LONG, MAX_LONG]
    assert (total_of(longs(MAX_LONG, 1)), total_of(longs(-3, 1))) == (MAX_LONG, 0)


def unknown_size(name: str, **values: Any) -> AddFile:
    return add_file(name, MAX_LONG, **values)


@pytest.mark.parametrize("known", [0, 1, 1000], ids="{} bytes beside".format)
def test_a_table_with_a_file_of_unknown_size_goes_on_getting_states(known: int) -> None:
    """Break: `_plan` writes the total as it is, or lets Arrow sum it."""
    table = new_table(interval=1)
    if known:
        table.append([add_file("first", known)])
    table.append([unknown_size("a")])
    table.append([unknown_size("b"), unknown_size("c"), add_file("d")])
    newest = table.snapshot().version
    state = RawLog(table.store).state(newest)
    assert (state["numFiles"], state["totalBytes"]) == (4 + bool(known), MAX_LONG)
    table.delete(paths=["a.parquet", "b.parquet", "c.parquet"])
    assert RawLog(table.store).state(newest + 1)["numFiles"] == 1 + bool(known)
    assert table.verify(data_files=False).ok


def test_states_of_files_of_unknown_size_are_as_verify_expects_them() -> None:
    """Break: `_totals` compares with a number that no state can say."""
    table = new_table(interval=1)
    table.append([unknown_size("a"), unknown_size("b")])
    assert table.verify(data_files=False).findings == ()


def test_files_of_unknown_size_are_compacted() -> None:
    """Break: `describe_manifest` lets Arrow sum the sizes, and a proposal with a negative number is none."""
    table = new_table(interval=1)
    for name in "abc":
        table.append([unknown_size(name)])
    table.compact()
    assert len(RawLog(table.store).state(table.snapshot().version)["manifests"]) == 1
    assert table.snapshot().paths() == ["a.parquet", "b.parquet", "c.parquet"]


def _unknown_sizes() -> Table:
    table = new_table(None, "region")
    table.append([unknown_size("a", region="eu"), unknown_size("b", region="eu"), add_file("c", region="us")])
    return table


TOLD: dict[str, Callable[[Table], int | None]] = {
    "snapshot": lambda table: table.snapshot().total_bytes,
    "description": lambda table: table.describe().total_bytes,
    "history": lambda table: table.history()[0].added_bytes,
    "commit": lambda table: RawLog(table.store).action(1, "commitInfo")["summary"]["addedBytes"],
    "drop": lambda table: table.drop_partitions("region = 'eu'").total_size_bytes,
}


@pytest.mark.parametrize("where", TOLD)
def test_a_total_is_told_as_a_long_everywhere(where: str) -> None:
    assert TOLD[where](_unknown_sizes()) == MAX_LONG


def test_a_checkpoint_of_files_of_unknown_size_is_pointed_at_by_a_long() -> None:
    """Break: `CheckpointWriter` gives the pointer a number that other readers can't parse."""
    table = new_table(settings={"state.format": "json"}, interval=1)
    table.append([unknown_size("a"), unknown_size("b")])
    assert RawLog(table.store).pointer()["sizeInBytes"] == MAX_LONG


def test_the_heaviest_partition_of_the_page_is_the_one_of_unknown_size() -> None:
    """Break: `partitions` lets Arrow sum the sizes, and the heaviest partition weighs less than nothing."""
    files = _unknown_sizes().snapshot().files(["path", "size", "num_records", "partition_values"])
    view = version_view(1, ["region"], files)
    assert view.summary()["bytes"] == MAX_LONG
    assert [(each["values"], each["bytes"]) for each in view.partitions()["heaviest"]] == [
        (["eu"], MAX_LONG),
        (["us"], 1000),
    ]


def test_a_milvus_manifest_of_unknown_sizes_tells_a_long() -> None:
    manifest = Manifest(lob_files=(LobFile("a", 1, 1, 1, MAX_LONG), LobFile("b", 1, 1, 1, MAX_LONG)))
    assert manifest.known_bytes == MAX_LONG


@pytest.mark.parametrize("time", [MAX_LONG + 1, -(2**70), 10**30, True, 1.5, "5"], ids=str)
def test_a_commit_time_that_no_state_can_hold_is_not_told(time: object) -> None:
    """Break: `commit_time` takes any number for a time."""
    assert commit_time([CommitInfo({"timestamp": time})]) is None


def test_a_version_of_another_writer_with_an_endless_time_ends_no_states() -> None:
    table = new_table(MemoryStore(), interval=2)
    version = encode_actions([add_file("a"), CommitInfo({"timestamp": 10**30, "operation": "Write"})])
    table.store.put("_transaction_log/00000000000000000001.json", version)
    other = opened(table.store, interval=2)
    other.append([add_file("b")])
    assert RawLog(table.store).state(2)["numFiles"] == 2
    assert other.snapshot().files(["added_at_timestamp"]).num_rows == 2
