"""Values that a column's type can't hold are refused wherever they are read, and never become others in silence."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.text import parse_predicate
from headgate_schemas.predicates.tree import leaves
from headgate_table.errors import CorruptTable
from headgate_table.indextables.read.column_statistics import statistics_test
from headgate_table.indextables.read.rows.column_defaults import column_defaults
from headgate_table.table import Table
from headgate_worker.merge.report import MergeStatus
from pyspark_headgate.executor.file_rows import UnreadableFile, _cast
from support.logs.strangers_adds import added_elsewhere
from support.merging import append, merge, new_parquet_table, put_file
from support.parquet import parquet

NARROWED = [
    ("FLOAT", pa.array([0.1], pa.float64())),
    ("FLOAT", pa.array([1e39], pa.float64())),
    ("FLOAT", pa.array([0.5], pa.float64()).dictionary_encode()),
    ("FLOAT", pa.array([2**24 + 1], pa.int64())),
    ("DOUBLE", pa.array([2**53 + 1], pa.int64())),
    ("INT", pa.array([2**40], pa.int64())),
    ("TINYINT", pa.array([128], pa.int32())),
    ("BIGINT", pa.array([2**64 - 1], pa.uint64())),
    ("BIGINT", pa.array([1.5], pa.float64())),
    ("DECIMAL(5,1)", pa.array([Decimal("1.25")], pa.decimal128(9, 2))),
    ("DECIMAL(5,1)", pa.array([Decimal("99999.5")], pa.decimal128(9, 1))),
    ("TIMESTAMP", pa.array([1], pa.timestamp("ns", "UTC"))),
    ("STRUCT<a: FLOAT>", pa.array([{"a": 0.1}], pa.struct([("a", pa.float64())]))),
    ("STRUCT<a: INT>", pa.array([{"a": "5"}], pa.struct([("a", pa.string())]))),
    ("ARRAY<FLOAT>", pa.array([[0.1]], pa.list_(pa.float64()))),
    ("ARRAY<STRUCT<a: FLOAT>>", pa.array([[{"a": 0.1}]], pa.list_(pa.struct([("a", pa.float64())])))),
    ("MAP<STRING, FLOAT>", pa.array([[("k", 0.1)]], pa.map_(pa.string(), pa.float64()))),
]
WIDENED: list[tuple[str, Any, Any]] = [
    ("DOUBLE", pa.array([0.5], pa.float32()), 0.5),
    ("FLOAT", pa.array([2**24], pa.int64()), 2.0**24),
    ("BIGINT", pa.array([5], pa.int8()), 5),
    ("INT", pa.array([5], pa.int64()), 5),
    ("STRUCT<a: DOUBLE>", pa.array([{"a": 0.5}], pa.struct([("a", pa.float32())])), {"a": 0.5}),
    ("ARRAY<DOUBLE>", pa.array([[0.5]], pa.list_(pa.float32())), [0.5]),
]


def _table(column: str, values: pa.Array) -> Table:
    table = new_parquet_table(columns=f"id BIGINT, c {column}")
    for number in range(2):
        data = parquet(pa.table({"id": [number], "c": values}))
        table.store.put(f"{number}.parquet", data)
        # As one that doesn't tell its columns, which would be compared with the table's at once.
        append(table, AddFile(f"{number}.parquet", {}, len(data), 0))
    return table


@pytest.mark.parametrize(("column", "values"), NARROWED)
def test_what_does_not_fit_is_an_error_that_names_the_file_and_the_column(column: str, values: pa.Array) -> None:
    table = _table(column, values)
    with pytest.raises(CorruptTable, match=r"0\.parquet.* holds 'c' as .*, which can't be read as the table's"):
        table.snapshot().scan().read_all()
    assert merge(table).status is not MergeStatus.SUCCESS
    wanted = pa.field("c", table.snapshot().scan().schema.field("c").type)
    with pytest.raises(UnreadableFile, match="holds 'c' as"):
        _cast(values, wanted, "the data file")


@pytest.mark.parametrize(("column", "values", "read"), WIDENED)
def test_what_fits_is_read_as_it_is(column: str, values: pa.Array, read: Any) -> None:
    table = _table(column, values)
    assert table.snapshot().scan(["c"]).read_all().column("c").to_pylist() == [read, read]
    wanted = pa.field("c", table.snapshot().scan().schema.field("c").type)
    assert _cast(values, wanted, "the data file").to_pylist() == [read]


@pytest.mark.parametrize("text", ["1e39", "-1e39", "1e400"])
def test_a_partition_value_beyond_its_type_is_refused(text: str) -> None:
    table = new_parquet_table(columns="id BIGINT, p FLOAT", partition_by=["p"])
    file = put_file(table, "a.parquet", pa.table({"id": [1]}), {"p": text})
    added_elsewhere(table.store, 1, file.path, file.size, {"p": text})
    with pytest.raises(CorruptTable, match=r"partition value '-?1e[0-9]+' for 'p', which is no float"):
        table.snapshot().scan().read_all()


def test_a_default_of_nan_is_nan() -> None:
    schema = (
        '{"type":"struct","fields":[{"name":"x","type":"double","nullable":true,'
        '"metadata":{"EXISTS_DEFAULT":"CAST(\'NaN\' AS DOUBLE)"}}]}'
    )
    assert str(column_defaults(schema, pa.schema([("x", pa.float64())]))["x"]) == "nan"


@pytest.mark.parametrize("kind", [ColumnKind.FLOAT, ColumnKind.DOUBLE])
@pytest.mark.parametrize("text", ["0.1", "0.10000000149011612"])
@pytest.mark.parametrize(
    "where", ["x = 0.10000000149011612", "x > 0.1", "x IN (0.10000000149011612)", "x >= 0.1000000014"]
)
def test_bounds_of_narrow_numbers_may_be_written_with_more_digits(where: str, text: str, kind: ColumnKind) -> None:
    """0.1 in 32 bits is 0.10000000149…, and either is how some writer puts it into a log. A wider column may have such a file."""
    assert all(statistics_test(leaf, kind)(text, text) for leaf in leaves(parse_predicate(where)))
