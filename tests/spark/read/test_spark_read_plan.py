"""Which task reads which part of which file, before any Spark is involved."""

import io
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import ColumnKind
from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.file_rows import FileRows, FileSlices, UnreadableFile
from pyspark_headgate.read.file_plan import (
    FILE_COST_BYTES,
    MAX_TASK_BYTES,
    WHOLE,
    cut,
    filled,
    planned,
    shape_of,
    task_bytes,
)

SHAPE = shape_of(pa.schema({"id": pa.int64()}), {"id": ColumnKind.INTEGER}, ())


def listed(*files: tuple[str, int], values: dict[str, str | None] | None = None) -> pa.Table:
    return pa.table(
        {
            "path": [path for path, _ in files],
            "partition_values": pa.array(
                [list((values or {}).items())] * len(files), pa.map_(pa.string(), pa.string())
            ),
            "size": [size for _, size in files],
        }
    )


def rows_of(folder: Path, schema: pa.Schema = SHAPE.schema, **how: Any) -> FileRows:
    return FileRows("the table", StorePlace("local", str(folder)), schema, tuple(schema.names), **how)


def ids(reader: FileRows, tasks: list[FileSlices]) -> list[int]:
    return [value for task in tasks for batch in reader.read(task.table()) for value in batch.column(0).to_pylist()]


@given(size=st.integers(0, 1 << 40), most=st.integers(1 << 20, 1 << 30))
def test_the_parts_of_a_file_follow_each_other_and_the_last_has_no_end(size: int, most: int) -> None:
    parts = cut(size, most)
    assert [parts[0][0], *(end for _, end in parts)] == [*(start for start, _ in parts), WHOLE]
    assert all(end - start <= most for start, end in parts[:-1])


@given(costs=st.lists(st.integers(1, 1 << 28), max_size=40), most=st.integers(1 << 20, 1 << 28))
def test_every_part_is_in_one_task_and_no_task_of_several_is_too_large(costs: list[int], most: int) -> None:
    tasks = list(filled(costs, most))
    assert [place for first, count in tasks for place in range(first, first + count)] == list(range(len(costs)))
    assert all(count == 1 or sum(costs[first : first + count]) <= most + FILE_COST_BYTES for first, count in tasks)


def test_a_task_has_no_more_bytes_than_one_of_spark() -> None:
    assert task_bytes([1 << 40]) == MAX_TASK_BYTES


def test_small_tables_are_cut_for_all_cores_but_not_into_crumbs() -> None:
    assert task_bytes([10]) == FILE_COST_BYTES


def test_a_large_file_is_read_by_several_tasks_each_row_once(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"id": list(range(10_000))}), tmp_path / "a.parquet", row_group_size=500, compression="none"
    )
    size = (tmp_path / "a.parquet").stat().st_size
    slices = [pa.table({"path": ["a.parquet"], "start": [start], "end": [end]}) for start, end in cut(size, size // 7)]
    parts = [[v for batch in rows_of(tmp_path).read(part) for v in batch.column(0).to_pylist()] for part in slices]
    assert sum(map(bool, parts)) > 3
    assert sorted(value for part in parts for value in part) == list(range(10_000))


def test_no_row_is_lost_to_a_size_that_the_log_has_wrong(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": list(range(10_000))}), tmp_path / "a.parquet", row_group_size=500)
    tasks = planned(listed(("a.parquet", 100)), SHAPE, "the table")
    assert sorted(ids(rows_of(tmp_path), tasks)) == list(range(10_000))


def test_tasks_that_travel_hold_no_more_than_their_own_files() -> None:
    files = listed(*((f"{number:06}.parquet", 64 << 20) for number in range(1000)))
    tasks = planned(files, SHAPE, "the table")
    assert max(len(pickle.dumps(task)) for task in tasks) < 2_000


def test_a_reader_that_travels_shows_no_secret() -> None:
    place = StorePlace("s3", "bucket/table", {"secret_key": "hush"})
    reader = FileRows("s3://bucket/table", place, SHAPE.schema, ("id",))
    assert "hush" not in repr(reader)
    travelled = pickle.loads(pickle.dumps(reader))  # noqa: S301  # our own
    assert travelled.place.access == {"secret_key": "hush"}


def test_a_missing_file_is_named() -> None:
    tasks = planned(listed(("gone.parquet", 100)), SHAPE, "the table")
    with pytest.raises(UnreadableFile, match=r"the data file gone\.parquet of the table is missing"):
        ids(rows_of(Path("/nowhere")), tasks)


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"not at all, whatever its name may say")
    with pytest.raises(UnreadableFile, match=r"a\.parquet of the table can't be read as Parquet"):
        ids(rows_of(tmp_path), planned(listed(("a.parquet", 37)), SHAPE, "the table"))


def test_a_null_where_the_schema_allows_none_is_an_error(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, None]}), tmp_path / "a.parquet")
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    with pytest.raises(UnreadableFile, match="NOT NULL"):
        ids(rows_of(tmp_path, strict), planned(listed(("a.parquet", 100)), SHAPE, "the table"))


def test_a_text_is_never_read_as_a_number(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["1"]}), tmp_path / "a.parquet")
    with pytest.raises(UnreadableFile, match="can't be read as the table's int64"):
        ids(rows_of(tmp_path), planned(listed(("a.parquet", 100)), SHAPE, "the table"))


def test_a_narrower_number_is_read_as_the_tables(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": pa.array([7], pa.int16())}), tmp_path / "a.parquet")
    assert ids(rows_of(tmp_path), planned(listed(("a.parquet", 100)), SHAPE, "the table")) == [7]


def test_only_row_groups_that_may_match_are_read(tmp_path: Path) -> None:
    import pyarrow.compute as pc

    pq.write_table(pa.table({"id": list(range(1000))}), tmp_path / "a.parquet", row_group_size=100)
    damaged = bytearray((tmp_path / "a.parquet").read_bytes())
    begin = pq.read_metadata(io.BytesIO(damaged)).row_group(0).column(0)
    start = begin.dictionary_page_offset or begin.data_page_offset
    damaged[start : start + begin.total_compressed_size] = b"\xff" * begin.total_compressed_size
    (tmp_path / "a.parquet").write_bytes(damaged)
    above = pc.field("id") > 898
    reader = rows_of(tmp_path, where=above, groups=above, groups_columns=("id",))
    assert ids(reader, planned(listed(("a.parquet", 100)), SHAPE, "the table")) == list(range(899, 1000))
