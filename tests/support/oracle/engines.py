"""Parquet files of many writers: PyArrow, DuckDB, Polars and pandas, each with options that are drawn.

What a file holds is what PyArrow reads back from it, whatever its writer made of the rows.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support.oracle.values.cells import Cell, arrow_array, cells_of
from support.oracle.values.columns import Column

ENGINES = ("pyarrow", "pyarrow", "duckdb", "polars", "pandas")


def draw_engine(random: Random) -> str:
    return random.choice(ENGINES)


def write(random: Random, engine: str, place: Path, columns: Mapping[str, Any]) -> None:
    """`columns` are Arrow arrays by name."""
    place.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(dict(columns))
    if engine == "duckdb":
        _by_duckdb(random, place, table)
    elif engine == "polars":
        _by_polars(random, place, table)
    elif engine == "pandas":
        _by_pandas(random, place, table)
    else:
        _by_pyarrow(random, place, table)


def read_back(place: Path) -> tuple[dict[str, list[Cell]], int]:
    """The cells of a file by the names of its columns, and how many rows it has."""
    table = pq.ParquetFile(place, coerce_int96_timestamp_unit="us").read()
    return {name: cells_of(table.column(name)) for name in table.column_names}, table.num_rows


def arrow_columns(columns: Sequence[Column], cells: Mapping[str, Sequence[Cell]]) -> dict[str, Any]:
    return {column.name: arrow_array(cells[column.name], column.arrow) for column in columns}


def _by_pyarrow(random: Random, place: Path, table: pa.Table) -> None:
    options: dict[str, Any] = {
        "row_group_size": random.choice((1, 2, 3, 100)),
        "compression": random.choice(("snappy", "zstd", "none", "gzip")),
        "use_dictionary": random.random() < 0.5,
        "data_page_version": random.choice(("1.0", "2.0")),
        "write_statistics": random.random() < 0.9,
        "store_schema": random.random() < 0.7,
        "write_page_index": random.random() < 0.3,
    }
    if random.random() < 0.08 and _fits_int96(table):
        options["use_deprecated_int96_timestamps"] = True
    pq.write_table(table, place, **options)


def _fits_int96(table: pa.Table) -> bool:
    # Through nanoseconds, which PyArrow wraps around silently.
    limit = 9_000_000_000_000_000
    return all(
        cell is None or (isinstance(cell, int) and abs(cell) < limit)
        for name in table.column_names
        if pa.types.is_timestamp(table.schema.field(name).type)
        for cell in cells_of(table.column(name))
    )


@functools.cache
def _duckdb() -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _by_duckdb(random: Random, place: Path, table: pa.Table) -> None:
    connection = _duckdb()
    connection.register("rows", table)
    try:
        codec = random.choice(("snappy", "zstd", "uncompressed"))
        path = str(place).replace("'", "''")
        # Not version 2, of which PyArrow can't read all that DuckDB writes.
        connection.execute(f"COPY rows TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION V1)")
    finally:
        connection.unregister("rows")


def _by_polars(random: Random, place: Path, table: pa.Table) -> None:
    import polars

    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    frame.write_parquet(
        place,
        row_group_size=random.choice((1, 2, 3, 100)),
        statistics=random.choice((True, "full")),
        compression="zstd",
    )


def _by_pandas(random: Random, place: Path, table: pa.Table) -> None:
    import pandas

    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    frame.to_parquet(place, index=False, row_group_size=random.choice((1, 2, 100)))


def counts_by_duckdb(places: Sequence[Path]) -> dict[str, int]:
    """How many rows DuckDB finds in each of these files."""
    if not places:
        return {}
    found = _duckdb().read_parquet(
        [str(place) for place in places], filename=True, hive_partitioning=False, union_by_name=True
    )
    return dict(found.aggregate("filename, count(*)").fetchall())


def lies_of_statistics(place: Path) -> str | None:
    """A column chunk that holds NaN and has bounds nevertheless: readers that skip by them lose the row."""
    file = pq.ParquetFile(place)
    for group in range(file.metadata.num_row_groups):
        for index in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(index)
            if chunk.physical_type not in ("FLOAT", "DOUBLE") or chunk.statistics is None:
                continue
            if not chunk.statistics.has_min_max:
                continue
            name = chunk.path_in_schema
            if name in file.schema_arrow.names:
                cells = file.read_row_group(group, columns=[name]).column(name).to_pylist()
                if any(cell is not None and cell != cell for cell in cells):
                    return f"row group {group} of column {name!r} holds NaN and has bounds"
    return None
