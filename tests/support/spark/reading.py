"""Tables in a local folder, and both ways by which Spark reads them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import headgate
import headgate.spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WAYS = ("source", "native")


def table_of(
    folder: Path, columns: "str | pa.Schema", partition_by: Sequence[str] = (), **settings: Any
) -> headgate.Table:
    return headgate.Table.create(str(folder), columns, partition_by, storage={"local.durable": "false"}, **settings)


def untold(file: headgate.DataFile) -> headgate.DataFile:
    """The same file without what its footer says of its columns, which a table would compare with its own at once."""
    return headgate.DataFile(path=file.path, size=file.size, modification_time=file.modification_time)


def written(
    table: headgate.Table,
    path: str,
    rows: "pa.Table | Mapping[str, Any]",
    partition_values: Mapping[str, str | None] | None = None,
    **options: Any,
) -> headgate.DataFile:
    """A Parquet file of the table's folder, which the log doesn't know yet."""
    place = Path(table.uri) / path
    place.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.table(dict(rows)), place, **options)
    return headgate.DataFile.of_parquet(path, store=table.store, partition_values=partition_values)


def frame(spark: "SparkSession", table: headgate.Table, way: str, **asked: Any) -> "DataFrame":
    """By `format("headgate")` or by `headgate.spark.read`."""
    if way == "native":
        return headgate.spark.read(spark, table.uri, **asked)
    reader = spark.read.format("headgate")
    names = {"where": "where", "version": "versionAsOf", "timestamp": "timestampAsOf"}
    for name, option in names.items():
        if name in asked:
            reader = reader.option(option, asked[name])
    return reader.load(table.uri)


def column(frame: "DataFrame", name: str) -> list[Any]:
    """Its values, sorted, nulls first."""
    values = [row[name] for row in frame.select(name).collect()]
    return sorted(values, key=lambda value: (value is not None, value))
