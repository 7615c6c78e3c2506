"""Rows into files by partition and size, as tasks do it on executors, which have neither Spark's driver nor Headgate."""

import math
import subprocess
import sys
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyspark_headgate
from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.partition_text import escape_partition_text, unescape_partition_text
from headgate_table.indextables.read.rows.row_shape import RowShape
from pyspark_headgate.executor import parquet_parts
from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.parquet_parts import PartsPlan, TooManyParts, WrittenFile, WrongRows, write_parts
from pyspark_headgate.executor.partition_split import partition_folder, partition_parts

ESCAPES = {ord("/"): "%2F", ord("%"): "%25"}
ID = pa.field("id", pa.int64())
NULL = "__NULL__"


def plan(root: Path, data: list[Any], partition: Sequence[Any] = (), **more: Any) -> PartsPlan:
    columns = [*data, *partition]
    return PartsPlan(
        place=StorePlace("local", str(root), durable=False),
        table=str(root),
        job="job",
        data=pa.schema(data),
        partition=pa.schema(partition),
        sources={field.name: place for place, field in enumerate(columns)},
        escapes=ESCAPES,
        null_text=NULL,
        **more,
    )


def written(of: PartsPlan, *batches: pa.RecordBatch) -> list[WrittenFile]:
    return write_parts(of, iter(batches), 0, 7)


def rows_of(root: Path, file: WrittenFile) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.ParquetFile(root / file.path).read().to_pylist()
    return rows


def test_each_partition_has_a_folder_as_spark_names_it(tmp_path: Path) -> None:
    rows = pa.record_batch({"id": [1, 2, 3], "k": ["a/b", "100%", None], "n": [7, 8, 9]})
    files = written(plan(tmp_path, [ID], [pa.field("k", pa.string()), pa.field("n", pa.int64())]), rows)
    assert [file.path.rpartition("/")[0] for file in files] == ["k=a%2Fb/n=7", "k=100%25/n=8", f"k={NULL}/n=9"]
    assert [file.partition for file in files] == [("a/b", "7"), ("100%", "8"), (None, "9")]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_floating_point_partitions_are_spelled_as_spark_does_and_read_as_written(
    tmp_path: Path, kind: pa.DataType
) -> None:
    """Break: write both zeros as one. They are equal in every predicate, and yet a row has the sign that it was written with."""
    values = [-0.0, 0.0, 1.0, float("nan"), float("inf"), float("-inf")]
    rows = pa.record_batch({"id": range(6), "p": pa.array(values, kind)})
    files = written(plan(tmp_path, [ID], [pa.field("p", kind)]), rows)
    assert [file.partition for file in files] == [("-0.0",), ("0",), ("1",), ("NaN",), ("Infinity",), ("-Infinity",)]
    read = [scalar_of(file.partition[0]) for file in files]
    assert [(math.copysign(1, value), str(value)) for value in read[:3]] == [(-1.0, "-0.0"), (1.0, "0.0"), (1.0, "1.0")]


def scalar_of(text: str | None) -> float:
    """A stored value as scans read it."""
    shape = RowShape(pa.schema([("p", pa.float64())]), {"p": ColumnKind.DOUBLE})
    value = shape.partition_scalars({"p": text}, "a file")["p"].as_py()
    assert isinstance(value, float)
    return value


def test_a_file_ends_where_nan_comes_in_a_column_that_has_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_parts, "SPLIT_ROWS", 1)  # each row is a row group
    nan = float("nan")
    fields = [ID, pa.field("x", pa.float64()), pa.field("y", pa.float64())]
    batches = [
        pa.record_batch({"id": [number], "x": [x], "y": [y]}, pa.schema(fields))
        for number, (x, y) in enumerate([(1.0, 1.0), (2.0, 2.0), (nan, 3.0), (4.0, 4.0), (nan, nan), (6.0, 6.0)])
    ]
    files = written(plan(tmp_path, fields, buffered_bytes=1, target_file_bytes=1 << 20, notes={"a": "b"}), *batches)
    held = []
    for file in files:
        footer = pq.read_metadata(pa.BufferReader(zlib.decompress(file.footer)))
        groups = [footer.row_group(place) for place in range(footer.num_row_groups)]
        told = [[group.column(place).statistics is not None for place in (1, 2)] for group in groups]
        held.append(([row["id"] for row in rows_of(tmp_path, file)], told[0]))
        assert all(one == told[0] for one in told)
        assert (footer.metadata or {})[b"a"] == b"b"
    assert held == [([0, 1], [True, True]), ([2, 3], [False, True]), ([4, 5], [False, False])]


def test_the_empty_text_is_the_partition_of_nulls(tmp_path: Path) -> None:
    rows = pa.record_batch({"id": [1, 2], "k": ["", None]})
    [file] = written(plan(tmp_path, [ID], [pa.field("k", pa.string())]), rows)
    assert file.partition == (None,)
    assert rows_of(tmp_path, file) == [{"id": 1}, {"id": 2}]


def test_what_the_driver_gets_is_the_files_own_footer(tmp_path: Path) -> None:
    [file] = written(plan(tmp_path, [ID]), pa.record_batch({"id": [3, 1, 2]}))
    footer = pq.read_metadata(pa.BufferReader(zlib.decompress(file.footer)))
    assert footer.equals(pq.read_metadata(tmp_path / file.path))
    assert file.size == (tmp_path / file.path).stat().st_size


def test_a_file_that_has_its_size_is_followed_by_another(tmp_path: Path) -> None:
    half = [pa.record_batch({"id": list(range(begin, begin + 70_000))}) for begin in (0, 70_000, 140_000, 210_000)]
    files = written(plan(tmp_path, [ID], target_file_bytes=100_000, compression="none"), *half)
    assert len(files) == 2
    assert [row["id"] for file in files for row in rows_of(tmp_path, file)] == list(range(280_000))


def test_no_more_is_held_in_memory_than_is_allowed(tmp_path: Path) -> None:
    batches = [pa.record_batch({"id": list(range(140_000)), "k": [place % 2] * 140_000}) for place in range(4)]
    bounded = plan(tmp_path, [ID], [pa.field("k", pa.int64())], buffered_bytes=1_000_000)
    groups = [pq.read_metadata(tmp_path / file.path).num_row_groups for file in written(bounded, *batches)]
    assert groups == [2, 2]


def test_a_few_rows_that_wait_for_more_do_not_hold_others_in_memory(tmp_path: Path) -> None:
    rows, rounds = 140_000, 12
    held: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(rounds):
            held.append(pa.total_allocated_bytes())
            yield pa.record_batch({"id": list(range(rows)), "k": [1] + [0] * (rows - 1)})

    narrow = plan(tmp_path, [ID], [pa.field("k", pa.int64())], buffered_bytes=rows * 8)
    write_parts(narrow, batches(), 0, 7)
    assert held[-1] - held[2] < 2 * rows * 8


def test_with_few_files_open_every_row_is_still_written_once(tmp_path: Path) -> None:
    batches = [pa.record_batch({"id": list(range(140_000)), "k": [n % 8 for n in range(140_000)]}) for _ in range(3)]
    narrow = plan(tmp_path, [ID], [pa.field("k", pa.int64())], buffered_bytes=200_000, open_files=2)
    files = written(narrow, *batches)
    assert len(files) > 8
    assert sum(len(rows_of(tmp_path, file)) for file in files) == 3 * 140_000


def test_rows_that_fall_into_too_many_files_are_refused_by_name_of_the_bound(tmp_path: Path) -> None:
    rows = pa.record_batch({"id": [1, 2, 3], "k": [1, 2, 3]})
    with pytest.raises(TooManyParts, match="FILES_PER_TASK"):
        written(plan(tmp_path, [ID], [pa.field("k", pa.int64())], files_per_task=2), rows)


def test_values_become_the_tables_types(tmp_path: Path) -> None:
    [file] = written(plan(tmp_path, [ID]), pa.record_batch({"id": pa.array([1], pa.int8())}))
    assert pq.read_schema(tmp_path / file.path).field("id").type == pa.int64()


def test_a_null_where_the_table_says_not_null_is_refused(tmp_path: Path) -> None:
    needed = pa.field("id", pa.int64(), nullable=False)
    with pytest.raises(WrongRows, match="column 'id' has 1 nulls"):
        written(plan(tmp_path, [needed]), pa.record_batch({"id": pa.array([1, None], pa.int64())}))


def test_a_text_longer_than_the_column_takes_is_refused(tmp_path: Path) -> None:
    short = pa.field("s", pa.string(), metadata={"spark.type": "varchar(3)"})
    with pytest.raises(WrongRows, match="more than 3 characters"):
        written(plan(tmp_path, [short]), pa.record_batch({"s": ["äöü", "four"]}))


def test_no_rows_make_no_file(tmp_path: Path) -> None:
    assert written(plan(tmp_path, [ID]), pa.record_batch({"id": pa.array([], pa.int64())})) == []


VALUES = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.one_of(st.none(), st.sampled_from(["", "a", "b/c", "%2F", "ä ö"])),
        st.one_of(st.none(), st.booleans()),
    ),
    max_size=40,
)


@settings(max_examples=50, deadline=None)
@given(VALUES)
def test_taking_rows_apart_and_together_again_changes_nothing(
    values: list[tuple[int, str | None, bool | None]],
) -> None:
    partition = pa.schema([pa.field("n", pa.int64()), pa.field("s", pa.string()), pa.field("b", pa.bool_())])
    columns = list(zip(*values, strict=True)) or [(), (), ()]
    rows = pa.table(
        [
            pa.array(range(len(values)), pa.int64()),
            *(pa.array(c, f.type) for c, f in zip(columns, partition, strict=True)),
        ],
        schema=pa.schema([ID, *partition]),
    )
    expected: dict[tuple[str | None, ...], list[int]] = {}
    for place, (number, text, flag) in enumerate(values):
        key = (str(number), text or None, None if flag is None else str(flag).lower())
        expected.setdefault(key, []).append(place)
    assert {
        key: part.column("id").to_pylist() for key, part in partition_parts(rows, partition.names, ["id"])
    } == expected


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_folder_says_the_partition_that_it_stands_for(text: str) -> None:
    escapes = {code: escape_partition_text(chr(code)) for code in range(128)}
    folder = partition_folder((text,), ["k"], escapes, NULL)
    assert folder.count("/") == 1
    assert unescape_partition_text(folder.removesuffix("/").removeprefix("k=")) == text


def modules_of_the_writer() -> Iterator[str]:
    yield from ("options", "write.batch_sink", "write.change", "write.stream_sink")
    yield from ("executor.arrow_store", "executor.map_task", "executor.parquet_parts")


def test_executors_need_nothing_of_headgate_to_run_a_writer(tmp_path: Path) -> None:
    package = Path(pyspark_headgate.__file__).parent.parent
    program = f"""
import importlib, sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "headgate" or name.startswith("headgate_"):
            raise AssertionError(f"{{name}} was imported")
sys.meta_path.insert(0, Nothing())
sys.path = [{str(package)!r}, *(place for place in sys.path if "site-packages" in place or "lib" in place)]
for name in {list(modules_of_the_writer())!r}:
    importlib.import_module("pyspark_headgate." + name)
import pyarrow as pa
from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.parquet_parts import PartsPlan, write_parts
schema = pa.schema([pa.field("id", pa.int64())])
plan = PartsPlan(StorePlace("local", {str(tmp_path)!r}), "t", "job", schema, pa.schema([]), {{"id": 0}})
print(len(write_parts(plan, iter([pa.record_batch({{"id": [1]}})]), 0, 0)))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("1", "")
