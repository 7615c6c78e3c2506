"""Drawn columns with NaN, through a file of another writer and a merge: no statistics and no bounds deny a value that is there."""

import math
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_table.table import Table
from support.merging import append, merge, new_parquet_table, put_file

CELLS = st.sampled_from((1.0, -1.5, 0.0, -0.0, 1e308, math.inf, -math.inf, math.nan)) | st.none()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=2, max_size=5), st.integers(1, 4))
def test_whatever_is_merged_nothing_is_denied_that_is_there(
    files: list[list[float | None]], row_group_rows: int
) -> None:
    table = new_parquet_table(columns="x DOUBLE")
    for number, cells in enumerate(files):
        append(table, put_file(table, f"{number}.parquet", pa.table({"x": pa.array(cells, pa.float64())})))
    _judge_bounds(table)
    merge(table, row_group_rows=row_group_rows)
    (path,) = table.snapshot().paths()
    _judge_bounds(table)
    _judge_row_groups(table.store.get(path))
    rows = table.snapshot().scan().read_all().column("x").to_pylist()
    assert Counter(map(str, rows)) == Counter(str(cell) for cells in files for cell in cells)


def _judge_bounds(table: Table) -> None:
    """NaN is above all numbers, so that no file with NaN has an upper bound."""
    for file in table.snapshot().files(("path", "min_values", "max_values")).to_pylist():
        rows = pq.read_table(pa.BufferReader(table.store.get(file["path"]))).column("x").to_pylist()
        held = [cell for cell in rows if cell is not None]
        lower, upper = (dict(file[name] or ()).get("x") for name in ("min_values", "max_values"))
        if lower is not None:
            assert all(math.isnan(cell) or cell >= float(lower) for cell in held), (
                f"{lower} is no lower bound of {held}"
            )
        if upper is not None:
            assert all(cell <= float(upper) for cell in held), f"{upper} is no upper bound of {held}"


def _judge_row_groups(data: bytes) -> None:
    """Spark believes statistics that leave NaN out, and skips the row group."""
    file = pq.ParquetFile(pa.BufferReader(data))
    for number in range(file.num_row_groups):
        cells = file.read_row_group(number).column("x").to_pylist()
        statistics = file.metadata.row_group(number).column(0).statistics
        has_nan = any(cell is not None and math.isnan(cell) for cell in cells)
        assert not (has_nan and statistics is not None and statistics.has_min_max), f"the statistics of {cells}"
