"""`headgate.read` and a snapshot's rows: as Arrow, pandas and Polars, and as a table to DuckDB, Polars and DataFusion."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from datafusion import SessionContext

import headgate
from headgate_table.milvus import LATEST, ColumnGroup, ColumnGroupFile, Transaction

NOT_DURABLE = {"local.durable": "false"}
DAYS = ["mon", "tue", "wed", None]
ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "x": [number / 4 for number in range(40)],
        "day": [DAYS[number % 4] for number in range(40)],
    }
)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    address = str(tmp_path / "events")
    headgate.write(address, ROWS, partition_by=["day"], storage=NOT_DURABLE)
    return address


def fetched(relation: duckdb.DuckDBPyRelation | None) -> list[Any]:
    assert relation is not None
    return relation.fetchall()


def ids(rows: Any) -> list[int]:
    return sorted(row["id"] for row in rows)


def test_everything_is_read_in_the_tables_types(uri: str) -> None:
    rows = headgate.read(uri)
    assert rows.schema == headgate.Table.open(uri).snapshot().schema == ROWS.schema
    assert rows.to_arrow().schema == ROWS.schema
    assert ids(rows.to_arrow().to_pylist()) == list(range(40))
    assert ids(rows.to_pandas().to_dict("records")) == list(range(40))
    assert ids(rows.to_polars().to_dicts()) == list(range(40))
    assert rows.count() == 40


def test_columns_and_conditions_are_those_that_were_asked_for(uri: str) -> None:
    rows = headgate.read(uri, where="day = 'tue' AND id > 20", columns=["x", "id"])
    assert rows.schema.names == rows.to_arrow().column_names == ["x", "id"]
    assert ids(rows.to_arrow().to_pylist()) == [21, 25, 29, 33, 37]
    assert rows.count() == 5
    assert rows.snapshot.num_files == 1


def test_versions_and_times_are_read_as_they_were(uri: str) -> None:
    headgate.write(uri, ROWS.slice(0, 1), mode="overwrite", storage=NOT_DURABLE)
    assert headgate.read(uri).count() == 1
    assert headgate.read(uri, version=1).count() == 40
    assert headgate.read(uri, timestamp="2100-01-01T00:00:00Z", storage=NOT_DURABLE).count() == 1


@pytest.mark.parametrize(
    ("where", "number", "reads"),
    [(None, 40, 0), ("day IN ('mon', 'tue')", 20, 0), ("day IS NULL", 10, 0), ("id < 7", 7, 1), ("day = 'mon' OR id < 2", 11, 1)],
)  # fmt: skip
def test_counting_reads_files_only_where_the_log_does_not_tell(
    uri: str, where: str | None, number: int, reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: bounds are taken for rows, or every file is opened to count what the log knows."""
    scanned: list[Any] = []
    kind = type(headgate.read(uri).snapshot)
    scan = kind.scan

    def watched(*given: Any, **how: Any) -> pa.RecordBatchReader:
        scanned.append(given)
        return scan(*given, **how)

    monkeypatch.setattr(kind, "scan", watched)
    assert headgate.read(uri, where=where).count() == number
    assert len(scanned) == reads


def test_other_libraries_take_a_snapshot_for_a_table(uri: str) -> None:
    snap = headgate.Table.open(uri).snapshot()
    rows = headgate.read(uri, where="id >= 30")
    assert fetched(duckdb.sql("SELECT count(*), sum(id) FROM snap")) == [(40, 780)]
    assert fetched(duckdb.sql("SELECT count(*) FROM rows JOIN snap USING (id)")) == [(10,)]
    assert pl.DataFrame(snap).height == pa.table(snap).num_rows == 40
    structs = pl.from_arrow(rows)
    assert isinstance(structs, pl.Series)  # as Polars takes every stream that is not of PyArrow
    assert ids(structs.struct.unnest().to_dicts()) == list(range(30, 40))
    assert SessionContext().from_arrow(rows).count() == 10


def test_rows_can_be_read_again_and_again_and_what_is_read_was_true_at_once(uri: str) -> None:
    rows = headgate.read(uri)
    assert rows.count() == 40
    headgate.write(uri, ROWS, storage=NOT_DURABLE)
    assert fetched(duckdb.sql("SELECT count(*) FROM (FROM rows UNION ALL FROM rows)")) == [(80,)]


def test_many_small_files_come_in_the_order_of_their_paths_and_a_missing_one_after_those_before_it(uri: str) -> None:
    """Break: files that are decoded ahead of their turn are handed on ahead of it, too."""
    for number in range(12):
        headgate.write(uri, ROWS.slice(number, 1), storage=NOT_DURABLE)
    snapshot = headgate.Table.open(uri).snapshot()
    paths = snapshot.paths()
    wanted = [number for path in paths for number in pq.read_table(Path(uri) / path).column("id").to_pylist()]
    assert snapshot.to_arrow().column("id").to_pylist() == wanted
    (Path(uri) / paths[9]).unlink()
    before = sum(pq.read_metadata(Path(uri) / path).num_rows for path in paths[:9])
    stream, seen = snapshot.scan(), 0
    while seen < before:
        seen += stream.read_next_batch().num_rows
    assert seen == before
    with pytest.raises(headgate.CorruptTable, match="is missing, though the log lists it"):
        stream.read_next_batch()


def test_a_dataset_is_pruned_by_partitions_and_bounds_in_the_engines_themselves(uri: str) -> None:
    data = headgate.Table.open(uri).snapshot().dataset()
    assert len(list(data.get_fragments(filter=pc.field("day") == "mon"))) == 1
    assert len(list(data.get_fragments(filter=pc.field("day").is_null()))) == 1
    assert len(list(data.get_fragments(filter=pc.field("id") > 38))) == 1
    assert len(list(data.get_fragments(filter=pc.field("id").is_null()))) == 4
    assert fetched(duckdb.sql("SELECT sum(id) FROM data WHERE day = 'mon' AND id > 30")) == [(68,)]
    assert ids(pl.scan_pyarrow_dataset(data).filter(pl.col("id") > 37).collect().to_dicts()) == [38, 39]
    context = SessionContext()
    context.register_dataset("data", data)
    assert context.sql("SELECT sum(id) AS s FROM data WHERE day IS NULL").to_pylist() == [{"s": 210}]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"columns": ["idd"]}, "no column 'idd'; did you mean 'id'"),
    ({"columns": "id"}, "columns is 'id'"),
    ({"where": "idd = 1"}, "idd"),
    ({"version": 1, "timestamp": 5}, "by version or by timestamp"),
    ({"version": "1"}, "version is '1'"),
]


@pytest.mark.parametrize(("how", "told"), WRONG, ids=lambda each: str(each)[:30])
def test_what_can_not_be_asked_for_is_refused_at_once(uri: str, how: dict[str, Any], told: str) -> None:
    with pytest.raises(headgate.InvalidInput, match=told):
        headgate.read(uri, **how)


def test_without_pandas_or_polars_the_error_names_them(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = headgate.read(uri)
    for library, convert in (("pandas", rows.to_pandas), ("polars", rows.to_polars)):
        monkeypatch.setitem(__import__("sys").modules, library, None)
        with pytest.raises(headgate.InvalidInput, match=f"to_{library} needs (pandas|Polars): install it"):
            convert()


def test_a_milvus_table_has_no_rows_to_read(tmp_path: Path) -> None:
    transaction = Transaction.open(str(tmp_path), "t", version=LATEST)
    transaction.append_files([ColumnGroup(("id",), (ColumnGroupFile("t/_data/a.parquet", 0, 10),), "parquet")])
    transaction.commit()
    snapshot = headgate.Table.open(tmp_path / "t").snapshot()
    for ask in (snapshot.rows, snapshot.count, snapshot.dataset, snapshot.to_arrow, lambda: snapshot.schema):
        with pytest.raises(headgate.InvalidInput, match="is a Milvus table"):
            ask()
