"""The Arrow engine by itself: bounds of memory, faults of stores, local disks. What all engines do: `test_merge_engines`."""

import errno
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_table.errors import StoreError
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.orders import ArrowLimits, Gone, Merged, MergeOrder, MergeOutcome, NotMerged, Unreadable
from headgate_worker.merge.sources import SourceReader
from support.merging import (
    append_small,
    counted,
    data_files,
    merge_order,
    merged,
    new_parquet_table,
    put_file,
    rows_table,
)
from support.stores import FaultyStore, MemoryStore
from support.stores.faulty import Fault, on
from support.tables import fresh_resources

OUTPUT = "merged.parquet"


def engine(table: Table, **limits: Any) -> ArrowEngine:
    return ArrowEngine(table.store, table.reader.resources, ArrowLimits(**limits))


def order(table: Table, *sources: AddFile) -> MergeOrder:
    return merge_order(table, *sources, output=OUTPUT)


def problem(outcome: MergeOutcome) -> Unreadable | Gone:
    assert isinstance(outcome, NotMerged), outcome
    (found,) = outcome.problems
    return found


def written(table: Table) -> pa.Table:
    return pq.read_table(pa.BufferReader(table.store.get(OUTPUT)))


def stored(table: Table) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(table.store.get(OUTPUT)))


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6))
def test_no_damage_ends_the_process_or_loses_rows(damage: list[tuple[int, int]]) -> None:
    """Whatever the damage, the outcome is an outcome."""
    table = new_parquet_table()
    first, second = append_small(table, 2)
    body = bytearray(table.store.get(second.path))
    for place, value in damage:
        body[place % len(body)] = value
    table.store.put(second.path, bytes(body))
    match engine(table).merge(order(table, first, second)):
        case Merged(add):
            assert add.num_records == 20
        case NotMerged(problems):
            assert [found.path for found in problems] == [second.path]


def test_a_store_that_does_not_answer_is_no_fault_of_a_source() -> None:
    table = new_parquet_table()
    files = append_small(table, 2)
    faulty = FaultyStore(table.store, on("get_range", Fault.REFUSED, times=1))
    with pytest.raises(StoreError, match="refused"):
        ArrowEngine(faulty, table.reader.resources).merge(order(table, *files))


def test_a_store_that_fails_while_rows_are_read_is_no_fault_of_a_source() -> None:
    table = new_parquet_table()
    files = append_small(table, 2)
    # Two reads look at the footers; the third fetches rows.
    calls = iter(range(100))
    faulty = FaultyStore(
        table.store, lambda step: Fault.REFUSED if step.operation == "get_range" and next(calls) == 2 else None
    )
    with pytest.raises(StoreError, match="refused"):
        ArrowEngine(faulty, table.reader.resources).merge(order(table, *files))


def test_a_full_disk_says_so_and_leaves_nothing_behind(tmp_path: Path) -> None:
    table = new_parquet_table()
    files = append_small(table, 2)
    with pytest.raises(StoreError, match="temporary file"):
        engine(table, scratch_folder=str(tmp_path / "absent")).merge(order(table, *files))


@pytest.fixture
def local(tmp_path: Path) -> Table:
    return new_parquet_table(LocalStore(str(tmp_path / "table"), SystemAmbient(), durable=False))


def test_trouble_of_the_system_is_no_fault_of_a_source(local: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `batches` takes every `OSError` for damage, and the file is left alone for a day."""
    files = append_small(local, 2)

    def fail(path: str) -> None:
        raise OSError(errno.EMFILE, "Too many open files", path)

    monkeypatch.setattr(pa, "OSFile", fail)
    with pytest.raises(StoreError, match="Too many open files"):
        engine(local).merge(order(local, *files))


def test_an_output_on_a_local_disk_is_written_in_its_place(local: Table) -> None:
    files = append_small(local, 2)
    merged(engine(local).merge(order(local, *files)))
    assert counted(written(local).select(["id", "text"])) == counted(rows_table(0, 20))


def test_footers_on_a_local_disk_take_no_threads(local: Table) -> None:
    """Break: `_all_checked` doesn't look where the files are."""
    files = append_small(local, 3)
    resources = fresh_resources()
    resources.fetchers.shutdown()
    merged(ArrowEngine(local.store, resources).merge(order(local, *files)))
    assert stored(local).metadata.num_rows == 30


def test_an_output_on_a_local_disk_is_removed_when_a_source_is_bad(local: Table) -> None:
    first, second = append_small(local, 2)
    body = bytearray(local.store.get(second.path))
    body[40:60] = bytes(20)
    local.store.put(second.path, bytes(body))
    assert problem(engine(local).merge(order(local, first, second))).path == second.path
    assert OUTPUT not in data_files(local.store)


def test_an_output_never_replaces_a_file_that_is_there(local: Table) -> None:
    files = append_small(local, 2)
    local.store.put(OUTPUT, b"somebody's")
    with pytest.raises(StoreError, match="exists"):
        engine(local).merge(order(local, *files))
    assert local.store.get(OUTPUT) == b"somebody's"


def test_row_groups_are_as_large_as_allowed() -> None:
    table = new_parquet_table()
    files = append_small(table, 3, rows=100)
    merged(engine(table, row_group_rows=120).merge(order(table, *files)))
    groups = stored(table).metadata
    assert max(groups.row_group(number).num_rows for number in range(groups.num_row_groups)) <= 120
    assert groups.num_row_groups < 6


def test_one_huge_row_group_becomes_several() -> None:
    rows = pa.table({"id": pa.array(range(300_000), pa.int64())})
    table = new_parquet_table(columns="id BIGINT")
    files = [
        put_file(table, "huge.parquet", rows, row_group_size=1 << 20),
        put_file(table, "small.parquet", rows.slice(0, 5)),
    ]
    merged(engine(table, row_group_bytes=1 << 20).merge(order(table, *files)))
    assert stored(table).metadata.num_row_groups == 3
    assert written(table).column("id").to_pylist() == [*range(300_000), *range(5)]


def texts(*values: str | None, times: int = 2000) -> pa.Table:
    return pa.table({"text": pa.array(values * times, pa.string())})


def repeating(rows: pa.Table, **options: Any) -> frozenset[str]:
    """The columns of a file with these rows that are read as dictionaries."""
    table = new_parquet_table(columns=rows.schema)
    return SourceReader(table.store).check(put_file(table, "a.parquet", rows, **options)).columns.repeating


def test_texts_that_repeat_are_read_as_dictionaries() -> None:
    rows = pa.table(
        {
            "few": ["a", "b"] * 2000,
            "constant": ["a long text that is always the same"] * 4000,
            "distinct": [f"text {number}" for number in range(4000)],
            "number": [1, 2] * 2000,
            "nested": [{"few": "a"}] * 4000,
            "dotted.name": ["a", "b"] * 2000,
        }
    )
    assert repeating(rows) == {"few", "constant"}


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (texts("a", "b"), {"use_dictionary": False}),
        (texts("a", "b").slice(0, 2), {}),
        (texts("a", times=0), {}),
        (texts(*(f"text {number:06}" for number in range(40_000)), times=12), {"compression": "none"}),
    ],
    ids=["stored-plain", "hardly-any-rows", "no-rows", "large-dictionary"],
)
def test_other_texts_are_read_as_they_are(rows: pa.Table, options: dict[str, Any]) -> None:
    assert repeating(rows, **options) == frozenset()


def test_texts_that_repeat_stay_dictionaries_until_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `columns.repeating` is left empty; or dictionaries are not unified, and the writer gives them up."""
    seen: list[pa.Table] = []
    write = pq.ParquetWriter.write_table

    def watched(writer: pq.ParquetWriter, rows: pa.Table, **options: Any) -> None:
        seen.append(rows)
        write(writer, rows, **options)

    table = new_parquet_table(columns="id BIGINT, text STRING")
    parts = [texts("a", "b"), pa.table({"id": [1, 2]}), texts("c", None, "b")]
    files = [put_file(table, f"{number}.parquet", part) for number, part in enumerate(parts)]
    monkeypatch.setattr(pq.ParquetWriter, "write_table", watched)
    merged(engine(table).merge(order(table, *files)))
    rows = next(rows for rows in seen if rows.num_rows)
    assert rows.schema.field("text").type == pa.dictionary(pa.int32(), pa.string())
    assert {tuple(chunk.dictionary.to_pylist()) for chunk in rows.column("text").chunks} == {("a", "b", "c")}
    assert written(table).schema.field("text").type == pa.string()
    assert written(table).column("text").to_pylist() == ["a", "b"] * 2000 + [None] * 2 + ["c", None, "b"] * 2000


def test_row_groups_are_measured_by_what_readers_will_make_of_them() -> None:
    """Break: a batch counts as large as its numbers into a dictionary."""
    rows = texts("a" * 1000, "b" * 1000, times=5000)
    table = new_parquet_table(columns=rows.schema)
    files = [put_file(table, f"{number}.parquet", rows) for number in range(3)]
    merged(engine(table, row_group_bytes=8 << 20).merge(order(table, *files)))
    assert stored(table).metadata.num_row_groups == 3


class Stop(HeadgateError):
    pass


def test_an_engine_gives_up_between_row_groups() -> None:
    table = new_parquet_table()
    files = append_small(table, 2)

    def stop() -> None:
        raise Stop("stopping")

    with pytest.raises(Stop):
        ArrowEngine(table.store, table.reader.resources, give_up=stop).merge(order(table, *files))
    assert OUTPUT not in data_files(table.store)


def test_small_remote_files_take_three_requests_each() -> None:
    """Break: every column chunk is asked for by itself."""
    store = MemoryStore()
    table = new_parquet_table(store)
    files = append_small(table, 4)
    counting = FaultyStore(store)
    merged(ArrowEngine(counting, table.reader.resources).merge(order(table, *files)))
    assert counting.count("head", "get_range") == 3 * len(files) + 2  # the output's own footer is read, too
