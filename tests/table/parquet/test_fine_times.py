"""Times that a table's microseconds can't hold: refused as far as footers show them, and named where a scan comes upon them."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import InvalidInput
from headgate_table.data_file import DataFile
from headgate_table.errors import CorruptTable
from headgate_table.interface.findings import Severity
from headgate_table.parquet.bounds import column_bounds
from headgate_table.parquet.footer import read_footer
from support.merging import append, new_parquet_table, put_file

NS = pa.timestamp("ns", "UTC")
FINE = [[1_500, 2_000], [1_000, -1], [None, 1_001]]


def footer_of(path: Path) -> object:
    data = path.read_bytes()
    return read_footer("file", len(data), lambda start, length: data[start : start + length])


def written(folder: Path, values: pa.Array, **options: object) -> Path:
    path = folder / "a.parquet"
    pq.write_table(pa.table({"t": values}), path, **options)
    return path


@pytest.mark.parametrize("values", FINE)
@pytest.mark.parametrize("unit", [NS, pa.timestamp("ns")])
def test_a_file_with_times_finer_than_microseconds_is_refused(
    tmp_path: Path, values: list[int | None], unit: pa.DataType
) -> None:
    """Break: compare the types alone. Then every scan of the table fails."""
    written(tmp_path, pa.array(values, unit), row_group_size=1)
    with pytest.raises(InvalidInput, match=r"a\.parquet.*column 't' holds -?\d+ ns.*coerce_timestamps='us'"):
        DataFile.of_parquet("a.parquet", root=tmp_path)


def test_milliseconds_beyond_what_microseconds_can_tell_are_refused(tmp_path: Path) -> None:
    written(tmp_path, pa.array([2**62], pa.timestamp("ms")))
    with pytest.raises(InvalidInput, match=r"column 't' holds \d+ ms, which is beyond"):
        DataFile.of_parquet("a.parquet", root=tmp_path)


@pytest.mark.parametrize(
    "values", [pa.array([1_000, None, -2_000], NS), pa.array([1, 2], pa.timestamp("ms")), pa.array([1_001], pa.int64())]
)
def test_whole_microseconds_are_taken_and_read(values: pa.Array) -> None:
    kind = "BIGINT" if values.type == pa.int64() else "TIMESTAMP" if values.type == NS else "TIMESTAMP_NTZ"
    table = new_parquet_table(columns=f"t {kind}")
    append(table, put_file(table, "a.parquet", pa.table({"t": values})))
    assert table.snapshot().scan().read_all().num_rows == len(values)


def test_a_scan_that_comes_upon_one_names_the_file_the_column_and_what_to_do() -> None:
    """A file without statistics: its footer shows nothing."""
    table = new_parquet_table(columns="t TIMESTAMP")
    rows = pa.table({"t": pa.array([1_000, 1_500], NS)})
    append(table, put_file(table, "a.parquet", rows, write_statistics=False))
    with pytest.raises(CorruptTable, match=r"a\.parquet.*'t'.*finer than a microsecond.*coerce_timestamps='us'"):
        table.snapshot().scan().read_all()


def test_verify_names_a_file_whose_footer_shows_one() -> None:
    table = new_parquet_table(columns="t TIMESTAMP")
    good = put_file(table, "a.parquet", pa.table({"t": pa.array([1_000], NS)}))
    append(table, AddFile(good.path, good.partition_values, good.size, good.modification_time))
    bad = pa.BufferOutputStream()
    pq.write_table(pa.table({"t": pa.array([1_500], NS)}), bad)
    table.store.put("a.parquet", bad.getvalue().to_pybytes())
    findings = [each for each in table.verify().findings if each.severity is Severity.ERROR]
    assert any("'t' holds 1500 ns" in each.what for each in findings)


def test_bounds_of_nanoseconds_lie_outside_of_them(tmp_path: Path) -> None:
    """Of a file that somebody adds all the same."""
    path = written(tmp_path, pa.array([-1_001, 2_001], pa.timestamp("ns")))
    assert column_bounds(footer_of(path), without=()) == ({"t": "-2"}, {"t": "3"})  # type: ignore[arg-type]  # a footer
