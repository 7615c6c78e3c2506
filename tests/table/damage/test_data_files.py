"""Damage to data files: `verify` names what no reader can read, and readers name every changed bit of a page."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_table.errors import CorruptTable
from headgate_table.table import Table

SPREAD = 0x9E3779B97F4A7C15
ROWS = pa.table(
    {
        "id": [number * SPREAD % 2**62 for number in range(2_000)],
        "text": [f"row {number}" for number in range(2_000)],
    }
)


def written(root: Path) -> tuple[Table, Path]:
    """A table with one file, and this file."""
    table = Table.create(str(root / "t"), ROWS.schema, storage={"local.durable": "false"})
    table.write(ROWS)
    return table, root / "t" / table.snapshot().paths()[0]


@pytest.mark.parametrize("how", ["zeros", "text", "end", "half"])
def test_a_live_file_that_is_no_parquet_file_any_more_is_an_error_of_verify(tmp_path: Path, how: str) -> None:
    table, file = written(tmp_path)
    data = file.read_bytes()
    file.write_bytes(
        {
            "zeros": bytes(len(data)),
            "text": (b"some text\n" * len(data))[: len(data)],
            "end": data[:-4] + b"XXXX",
            "half": data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
        }[how]
    )
    report = table.verify()
    assert not report.ok
    assert [finding.object for finding in report.findings] == [file.name]
    assert "can't be read" in report.findings[0].what


def test_a_live_file_without_bounds_that_lost_its_end_is_an_error_of_verify(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"), ROWS.schema, storage={"local.durable": "false"})
    table.alter(configuration={"indextables.dataSkippingNumIndexedCols": "0"})
    table.write(ROWS)
    file = tmp_path / "t" / table.snapshot().paths()[0]
    file.write_bytes(file.read_bytes()[:-4] + b"XXXX")
    assert [finding.object for finding in table.verify().findings] == [file.name]


def test_a_file_with_another_number_of_rows_than_its_entry_says_is_an_error(tmp_path: Path) -> None:
    table, file = written(tmp_path)
    size = file.stat().st_size
    pq.write_table(ROWS.slice(0, 100), file)
    padding = size - file.stat().st_size
    data = file.read_bytes()
    file.write_bytes(data[:4] + bytes(padding) + data[4:])
    report = table.verify()
    assert [finding.object for finding in report.findings] == [file.name]
    assert "holds 100 rows, but its entry says 2000" in report.findings[0].what


def reads_rightly_or_names_the_file(table: Table, file: Path) -> None:
    try:
        rows = table.snapshot().scan().read_all()
    except CorruptTable as error:
        if file.name not in str(error):
            raise AssertionError(f"the error names no file: {error}") from error
    else:
        assert rows == ROWS.cast(rows.schema)


def test_a_changed_bit_in_a_page_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    """Numbers without a pattern are stored as they are: without checksums, a reader shows another number."""
    table, file = written(tmp_path)
    data = bytearray(file.read_bytes())
    chunk = pq.read_metadata(file).row_group(0).column(0)
    data[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 4
    file.write_bytes(bytes(data))
    with pytest.raises(CorruptTable, match=file.name):
        table.snapshot().scan().read_all()
    with pytest.raises(OSError, match="checksum"):
        table.snapshot().dataset().to_table()
    assert table.verify().ok  # reads footers only


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_bit_that_changed_anywhere_in_the_pages_makes_no_wrong_row(share: float, bit: int) -> None:
    with tempfile.TemporaryDirectory(prefix="headgate-pages-") as folder:
        table, file = written(Path(folder))
        data = bytearray(file.read_bytes())
        end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        data[4 + int(share * (end - 4))] ^= 1 << bit
        file.write_bytes(bytes(data))
        reads_rightly_or_names_the_file(table, file)
