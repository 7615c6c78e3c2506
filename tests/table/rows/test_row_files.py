"""Files of rows: by partition and size, with statistics that hold, in bounded memory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import StoreError
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.rows.file_writer import FileLimits, FileWriter, file_layout
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.memory import rss_growth_of
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient

NAN = float("nan")


def local(folder: Path) -> Store:
    return open_store(str(folder), StoreSettings(local_durable=False), SteadyAmbient())


def written(
    store: Store, ddl: str, partition: tuple[str, ...], *tables: pa.Table, limits: FileLimits | None = None
) -> list[AddFile]:
    """`tables` hold the columns of files, then those of partitions."""
    text = schema_string_of(ddl)
    whole, kinds = arrow_schema(text), kinds_of(column_kinds(text))
    shape = RowShape(
        pa.schema([whole.field(name) for name in partition]), {name: kinds[name] for name in partition}, {}, whole.names
    )
    with FileWriter(store, file_layout(whole, whole.names, partition, shape, "w"), limits) as writer:
        for table in tables:
            writer.take(table)
        return list(writer.finish())


def rows_of(store: Store, file: AddFile) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = pq.read_table(pa.BufferReader(store.get(file.path))).to_pylist()
    return found


def test_each_partition_has_its_file_and_folder_and_rows_keep_their_order() -> None:
    store = MemoryStore()
    table = pa.table({"id": range(6), "p": ["a", "b", None, "a", "b/c", ""]})
    files = written(store, "id BIGINT, p STRING", ("p",), table)
    found = {file.partition_values["p"]: [row["id"] for row in rows_of(store, file)] for file in files}
    assert found == {"a": [0, 3], "b": [1], "b/c": [4], None: [2, 5]} or found == {
        "a": [0, 3],
        "b": [1],
        "b/c": [4],
        "__HIVE_DEFAULT_PARTITION__": [2, 5],
    }
    assert {file.path.partition("/")[0] for file in files} == {"p=a", "p=b", "p=b%2Fc", "p=__HIVE_DEFAULT_PARTITION__"}


@pytest.mark.parametrize("place", ["local", "memory"])
def test_a_file_ends_at_its_target_size_and_tells_its_footer(tmp_path: Path, place: str) -> None:
    store = MemoryStore() if place == "memory" else local(tmp_path / "t")
    tables = [pa.table({"id": pa.array(range(start, start + 1000), pa.int64())}) for start in range(0, 10_000, 1000)]
    limits = FileLimits(target_file_bytes=3_000, row_group_rows=1000)
    files = written(store, "id BIGINT", (), *tables, limits=limits)
    assert len(files) > 2
    assert [file.num_records for file in files] == [
        pq.read_metadata(pa.BufferReader(store.get(f.path))).num_rows for f in files
    ]
    assert sum(file.num_records or 0 for file in files) == 10_000
    assert all(file.size == len(store.get(file.path)) for file in files)
    assert (dict(files[0].min_values or {}), dict(files[-1].max_values or {})) == ({"id": "0"}, {"id": "9999"})


def test_a_file_ends_where_nan_comes_in_a_column_that_has_statistics() -> None:
    """Break: readers skip a file by bounds that leave its NaN out."""
    store = MemoryStore()
    tables = [pa.table({"x": [1.0, 2.0]}), pa.table({"x": [3.0, NAN]}), pa.table({"x": [4.0]})]
    files = written(store, "x DOUBLE", (), *tables, limits=FileLimits(row_group_rows=1))
    assert [(file.num_records, dict(file.max_values or {})) for file in files] == [(2, {"x": "2.0"}), (3, {})]


def test_the_fullest_partition_is_written_when_too_much_waits() -> None:
    store = MemoryStore()
    small, large = pa.table({"id": range(10), "p": ["a"] * 10}), pa.table({"id": range(1000), "p": ["b"] * 1000})
    limits = FileLimits(buffered_bytes=8_000)
    files = written(store, "id BIGINT, p STRING", ("p",), small, large, large, limits=limits)
    groups = {f.path[:3]: pq.read_metadata(pa.BufferReader(store.get(f.path))).num_row_groups for f in files}
    assert groups == {"p=a": 1, "p=b": 2}
    assert {f.path[:3]: f.num_records for f in files} == {"p=a": 10, "p=b": 2000}


def test_no_more_files_are_open_than_allowed() -> None:
    store = MemoryStore()
    table = pa.table({"id": range(40), "p": [f"p{number % 8}" for number in range(40)]})
    limits = FileLimits(row_group_rows=1, open_files=2)
    files = written(store, "id BIGINT, p STRING", ("p",), table, table, limits=limits)
    assert sum(file.num_records or 0 for file in files) == 80
    assert len({file.path for file in files}) == len(files) > 8


def test_more_files_than_one_write_may_have_are_refused_with_the_bound() -> None:
    table = pa.table({"id": range(4), "p": range(4)})
    with pytest.raises(InvalidInput, match="more than 3 files"):
        written(MemoryStore(), "id BIGINT, p BIGINT", ("p",), table, limits=FileLimits(files=3))


UNREADABLE = [
    ("STRING", "__HIVE_DEFAULT_PARTITION__", "would be read as None"),
    ("STRING", "a\0b", "can't be used"),
    ("STRING", "x" * 300, "longer than 255 bytes"),
    ("DATE", -1_000_000, "can't hold the partition"),
    ("DATE", 2**31 - 1, "can't hold the partition"),
    ("TIMESTAMP", -(2**59), "can't hold the partition"),
    ("STRING NOT NULL", "", "says NOT NULL"),
]


@pytest.mark.parametrize(("kind", "value", "told"), UNREADABLE, ids=lambda each: str(each)[:12])
def test_a_partition_value_that_nobody_could_read_back_is_refused_before_a_file_is_written(
    kind: str, value: Any, told: str
) -> None:
    schema = arrow_schema(schema_string_of(f"id BIGINT, p {kind}"))
    table = pa.Table.from_arrays(
        [pa.chunked_array([[1]]), pa.chunked_array([pa.array([value], schema.field("p").type)])], schema=schema
    )
    store = MemoryStore()
    with pytest.raises(InvalidInput, match=told):
        written(store, f"id BIGINT, p {kind}", ("p",), table)
    assert list(store.list()) == []


class FullStore(MemoryStore):
    def put_stream(self, key: str, stream: Any) -> None:
        raise StoreError(f"{key}: the disk is full")


def test_a_failure_ends_the_write_and_leaves_no_thread_behind() -> None:
    with pytest.raises(StoreError, match="the disk is full"):
        written(FullStore(), "id BIGINT", (), pa.table({"id": range(10)}))


def test_an_unfinished_write_leaves_no_file_on_a_local_disk(tmp_path: Path) -> None:
    store = local(tmp_path / "t")
    good, bad = pa.table({"id": [1], "p": ["a"]}), pa.table({"id": [1], "p": ["x" * 300]})
    with pytest.raises(InvalidInput):
        written(store, "id BIGINT, p STRING", ("p",), good, bad, limits=FileLimits(row_group_rows=1))
    assert [info.key for info in store.list()] == []


WRITE = """
import sys
import pyarrow as pa
import headgate

folder, millions, partitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def batches(count):
    for start in range(0, count, 100_000):
        numbers = pa.array(range(start, start + 100_000), pa.int64())
        rest = pa.array([number % max(1, partitions) for number in range(100_000)], pa.int32())
        yield pa.record_batch({"id": numbers, "text": numbers.cast(pa.string()), "p": rest})

by = ["p"] if partitions else None
headgate.write(folder + "/warm", batches(100_000), partition_by=by, storage={"local.durable": "false"})
settled()
receipt = headgate.write(folder + "/t", batches(millions * 1_000_000), partition_by=by, storage={"local.durable": "false"})
assert headgate.Table.open(folder + "/t").snapshot().num_records == millions * 1_000_000, receipt
"""


READ = """
import sys
import pyarrow as pa
import headgate

folder, millions = sys.argv[1], int(sys.argv[2])

def batches():
    for start in range(0, millions * 1_000_000, 100_000):
        numbers = pa.array(range(start, start + 100_000), pa.int64())
        yield pa.record_batch({"id": numbers, "text": numbers.cast(pa.string())})

headgate.write(folder + "/t", batches(), storage={"local.durable": "false"}, target_file_size="4M")
assert next(iter(headgate.read(folder + "/t").reader())).num_rows
settled()
assert sum(batch.num_rows for batch in headgate.read(folder + "/t").reader()) == millions * 1_000_000
"""


def test_rows_are_streamed_out_in_bounded_memory(tmp_path: Path) -> None:
    """250 MB of rows. Break: all files that are opened ahead are decoded ahead."""
    growth = rss_growth_of(READ, str(tmp_path), "12")
    assert growth < 190 << 20, f"{growth >> 20} MB"


@pytest.mark.parametrize(("millions", "partitions", "bound_mb"), [(12, 0, 220), (8, 200, 330)])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, millions: int, partitions: int, bound_mb: int) -> None:
    """300 and 200 MB of rows. Break: rows are collected, or nothing is written while too much waits."""
    growth = rss_growth_of(WRITE, str(tmp_path), str(millions), str(partitions))
    assert growth < bound_mb << 20, f"{growth >> 20} MB"
