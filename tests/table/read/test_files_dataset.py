"""A snapshot's files as a PyArrow dataset: the same rows as a scan, pruned soundly, and refused where PyArrow would read other rows."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds, schema_string_of
from headgate_schemas.messages.operations import Committed, Create
from headgate_table.data_file import DataFile
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.read.rows.file_guarantees import file_guarantees
from headgate_table.indextables.write.create import create_table
from headgate_table.parquet.statistics import text_bounds
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.stores.memory import MemoryStore


def table_of(ddl: str, *files: pa.Table, partition: Mapping[str, str | None] | None = None, **options: Any) -> Table:
    """Files as others write them, one by one."""
    ambient = FakeAmbient()
    store = MemoryStore(ambient)
    create_table(LogReader(store, one_thread()), ambient, Create(schema_string_of(ddl), tuple(partition or ())))
    table = Table(store, ambient, one_thread())
    for number, rows in enumerate(files):
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, **options)
        store.put(f"{number}.parquet", sink.getvalue().to_pybytes())
        receipt = table.append(
            [DataFile.of_parquet(f"{number}.parquet", store=store, partition_values=partition or {})]
        )
        assert isinstance(receipt, Committed), receipt
    return table


def test_types_narrower_than_the_tables_are_widened() -> None:
    rows = pa.table({"id": pa.array([1, None], pa.int32()), "x": pa.array([0.5, 1.5], pa.float32())})
    table = table_of("id BIGINT, x DOUBLE", rows)
    found = table.snapshot().dataset().to_table()
    assert found.to_pylist() == table.snapshot().to_arrow().to_pylist()
    assert found.schema.types == [pa.int64(), pa.float64()]


def test_the_partition_is_what_the_log_says_whatever_a_file_holds() -> None:
    table = table_of("id BIGINT, p STRING", pa.table({"id": [1], "p": ["other"]}), partition={"p": "a"})
    data = table.snapshot().dataset()
    assert data.to_table().to_pylist() == [{"id": 1, "p": "a"}]
    assert data.to_table(filter=pc.field("p") == "other").num_rows == 0
    assert data.to_table(filter=pc.field("p") == "a").num_rows == 1


def test_a_column_that_came_later_has_its_default() -> None:
    ddl = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}},{"name":"n","type":"long","nullable":true,"metadata":{"EXISTS_DEFAULT":"7","CURRENT_DEFAULT":"7"}}]}'
    table = table_of(
        ddl,
        pa.table({"id": [1]}),
        pa.table({"id": [2], "n": [None]}, schema=pa.schema([("id", pa.int64()), ("n", pa.int64())])),
    )
    data = table.snapshot().dataset()
    assert [row["n"] for row in data.to_table().to_pylist()] == [7, None]
    assert data.to_table(filter=pc.field("n") == 7).to_pylist() == [{"id": 1, "n": 7}]


def test_a_file_that_pyarrow_would_read_wrongly_is_named_and_scan_still_reads_it() -> None:
    """Break: a column in another case is read as nulls."""
    table = table_of("id BIGINT, x STRING", pa.table({"id": [1], "x": ["a"]}))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [2], "X": ["b"]}), sink)
    table.store.put("odd.parquet", sink.getvalue().to_pybytes())
    table.append([DataFile(path="odd.parquet", size=len(sink.getvalue()), modification_time=0)])
    with pytest.raises(UnsupportedTable, match=r"odd.parquet .* spells the column 'x' as 'X'; .* scan\(\) does"):
        table.snapshot().dataset()
    assert [row["x"] for row in table.snapshot().to_arrow().to_pylist()] == ["a", "b"]


def test_wider_numbers_than_the_tables_are_not_cut() -> None:
    table = table_of("id BIGINT, x FLOAT", pa.table({"id": [1], "x": pa.array([0.5], pa.float32())}))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [2], "x": [0.1]}), sink)
    table.store.put("wide.parquet", sink.getvalue().to_pybytes())
    table.append([DataFile(path="wide.parquet", size=len(sink.getvalue()), modification_time=0)])
    with pytest.raises(UnsupportedTable, match="holds 'x' as double, and the table as float"):
        table.snapshot().dataset()


def test_missing_and_damaged_files_are_named() -> None:
    table = table_of("id BIGINT", pa.table({"id": [1]}))
    table.store.put("0.parquet", b"PAR1 nothing PAR1")
    with pytest.raises(CorruptTable, match=r"0.parquet .* can't be read as Parquet"):
        table.snapshot().dataset()
    table.store.delete(["0.parquet"])
    with pytest.raises(CorruptTable, match=r"0.parquet .* is missing, though the log lists it"):
        table.snapshot().dataset()


def test_an_empty_table_is_an_empty_dataset() -> None:
    found = table_of("id BIGINT").snapshot().dataset()
    assert (found.schema.names, found.count_rows()) == (["id"], 0)


KINDS: dict[str, tuple[str, Any]] = {
    "BIGINT": ("l", st.integers(-(2**63), 2**63 - 1)),
    "INT": ("i", st.integers(-(2**31), 2**31 - 1)),
    "STRING": (
        "s",
        st.text(st.sampled_from("ab?\U00010000\uffff") | st.characters(exclude_categories=["Cs"]), max_size=6),
    ),
    "DATE": ("d", st.dates()),
    "TIMESTAMP": ("t", st.datetimes(timezones=st.just(UTC))),
    "TIMESTAMP_NTZ": ("n", st.datetimes()),
    "DOUBLE": ("x", st.floats()),
    "DECIMAL(9,2)": ("c", st.decimals(-99999, 99999, places=2)),
}


@settings(max_examples=200, deadline=None)
@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)), cut=st.integers(1, 4))
def test_what_bounds_promise_is_true_of_every_row_and_every_match_is_kept(
    data: st.DataObject, kind: str, cut: int
) -> None:
    """Break: a bound that was cut off, or is ordered otherwise, leaves out a file that holds a match."""
    name, values = KINDS[kind]
    drawn = data.draw(st.lists(st.none() | values, min_size=1, max_size=6))
    literal = data.draw(values)
    schema = arrow_schema(schema_string_of(f"{name} {kind}"))
    rows = pa.table([pa.array(drawn, schema.field(0).type)], schema=schema)
    lows, highs = _bounds_as_logged(name, drawn, cut)
    promises = list(file_guarantees(schema, kinds_of(column_kinds(schema_string_of(f"{name} {kind}"))), lows, highs))
    for promise in promises:
        assert rows.filter(promise).num_rows == rows.num_rows, (lows, highs, str(promise))
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, write_statistics=False)
    fragment = ds.ParquetFileFormat().make_fragment(
        pa.BufferReader(sink.getvalue()), partition_expression=_all(promises)
    )
    scalar = pa.scalar(literal, schema.field(0).type)
    field = pc.field(name)
    for condition in (
        field == scalar,
        field <= scalar,
        field >= scalar,
        field < scalar,
        field > scalar,
        field.is_null(),
    ):
        found = ds.FileSystemDataset([fragment], schema, ds.ParquetFileFormat()).to_table(filter=condition)
        assert found.num_rows == rows.filter(condition).num_rows, str(condition)


def _all(promises: list[pc.Expression]) -> pc.Expression | None:
    found = None
    for promise in promises:
        found = promise if found is None else found & promise
    return found


def _bounds_as_logged(name: str, drawn: list[Any], cut: int) -> tuple[dict[str, str], dict[str, str]]:
    """As writers put them into a log: days, microseconds, texts cut off."""
    known = [each for each in drawn if each is not None and each == each]
    if not known:
        return {}, {}
    low, high = min(known), max(known)
    if isinstance(low, str):
        # Ours shorten an upper bound to a text above it; others just cut it off.
        found = text_bounds(low, high, cut) if cut % 2 else (low[:cut], high[:cut])
        return ({}, {}) if found is None else ({name: found[0]}, {name: found[1]})
    return {name: _logged(low)}, {name: _logged(high)}


def _logged(value: Any) -> str:
    if isinstance(value, datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
        span = zoned - datetime(1970, 1, 1, tzinfo=UTC)
        return str((span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds)
    return str((value - date(1970, 1, 1)).days) if isinstance(value, date) else str(value)
