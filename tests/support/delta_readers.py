"""Engines that read Delta, as readers of a mirror: each gives the rows of one version, as an Arrow table. None shares our code."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import duckdb
import duckdb_extension_delta
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

Reader = Callable[[str, int], pa.Table]


def by_delta_rs(uri: str, version: int) -> pa.Table:
    """By its own engine. `to_pyarrow_table` can't read partitions of negative decimals: it writes their sign twice."""
    query = QueryBuilder().register("mirror", DeltaTable(uri, version=version))
    return pa.table(query.execute("SELECT * FROM mirror"))


def by_polars(uri: str, version: int) -> pa.Table:
    return pl.scan_delta(uri, version=version).collect().to_arrow()


def by_duckdb(uri: str, version: int) -> pa.Table:
    [folder] = duckdb_extension_delta.__path__
    [extension] = Path(folder).rglob("*.duckdb_extension")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"LOAD '{extension}'")
        return connection.execute("SELECT * FROM delta_scan($1, version => $2)", [uri, version]).to_arrow_table()


READERS: Mapping[str, Reader] = {"delta-rs": by_delta_rs, "polars": by_polars, "duckdb": by_duckdb}


def counted(rows: pa.Table, names: list[str]) -> Counter[str]:
    """The rows as a multiset: NaN equals itself, and -0.0 is not 0.0."""
    return Counter(repr([str(row[name]) for name in names]) for row in rows.to_pylist())
