"""The engines that live in this process: delta-rs, Polars and DuckDB. Each gives all columns, whatever is asked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import duckdb_extension_delta
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from support.mirror_readers.reader import MirrorReader


def by_delta_rs(uri: str, version: int, columns: Sequence[str] = ()) -> pa.Table:
    """By its own engine. `to_pyarrow_table` can't read partitions of negative decimals: it writes their sign twice."""
    query = QueryBuilder().register("mirror", DeltaTable(uri, version=version))
    return pa.table(query.execute("SELECT * FROM mirror"))


def by_polars(uri: str, version: int, columns: Sequence[str] = ()) -> pa.Table:
    return pl.scan_delta(uri, version=version).collect().to_arrow()


def by_duckdb(uri: str, version: int, columns: Sequence[str] = ()) -> pa.Table:
    [folder] = duckdb_extension_delta.__path__
    [extension] = Path(folder).rglob("*.duckdb_extension")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"LOAD '{extension}'")
        return connection.execute("SELECT * FROM delta_scan($1, version => $2)", [uri, version]).to_arrow_table()


READERS: Mapping[str, MirrorReader] = {
    "delta-rs": MirrorReader(by_delta_rs),
    "polars": MirrorReader(by_polars, believes_folders=True),
    "duckdb": MirrorReader(by_duckdb),
}
