"""Writes a batch as Parquet files, one for each partition of the table that has rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headgate_producer.errors import JobStopped
from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.predicates.partition_text import escape_partition_text
from headgate_table.data_file import DataFile
from headgate_table.store.interface import Store

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FILES_PER_BATCH = 1_000
"""A batch that falls into more partitions makes files too small to be read well."""

_SPELLED = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "-0": "0"}
"""Arrow's floating point numbers, as all readers of a table understand them. Both zeros are one partition."""


def write_files(store: Store, rows: "pa.Table", partition_columns: Sequence[str], name: str) -> list[DataFile]:
    """Write the rows to the store. `name` must be new, so that no attempt meets files of another one."""
    missing = [column for column in partition_columns if column not in rows.column_names]
    if missing:
        raise JobStopped(
            f"the rows of a batch have no column {missing[0]!r}, by which the table at {store.uri} is partitioned"
        )
    return [
        _write(store, part, dict(zip(partition_columns, texts, strict=True)), name)
        for texts, part in _parts(rows, partition_columns)
        if part.num_rows
    ]


def _parts(rows: "pa.Table", columns: Sequence[str]) -> "list[tuple[tuple[str | None, ...], pa.Table]]":
    import pyarrow as pa

    if not columns:
        return [((), rows)]
    texts = [_texts(rows.column(column)) for column in columns]
    found: dict[tuple[str | None, ...], list[int]] = {}
    for number, values in enumerate(zip(*texts, strict=True)):
        found.setdefault(tuple(value or None for value in values), []).append(number)
    if len(found) > MAX_FILES_PER_BATCH:
        raise JobStopped(
            f"a batch falls into {len(found)} partitions, more than {MAX_FILES_PER_BATCH} (MAX_FILES_PER_BATCH): "
            f"make batches smaller, or partition the table by less"
        )
    rest = rows.drop_columns(list(columns))
    return [(values, rest.take(pa.array(numbers))) for values, numbers in found.items()]


def _texts(column: "pa.ChunkedArray") -> list[str | None]:
    import pyarrow as pa

    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    if pa.types.is_floating(column.type):
        return [None if text is None else _SPELLED.get(text, text) for text in texts]
    return texts


def _write(store: Store, part: "pa.Table", values: dict[str, str | None], name: str) -> DataFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from headgate_table.parquet.bounds import STATISTICS_NOTE, WITHOUT_NAN
    from headgate_table.parquet.float_statistics import leaf_paths, statistics_option, with_nan

    folder = "".join(
        f"{escape_partition_text(column)}={NULL_PARTITION if text is None else escape_partition_text(text)}/"
        for column, text in values.items()
    )
    path = f"{folder}{name}.parquet"
    sink = pa.BufferOutputStream()
    statistics = statistics_option(leaf_paths(part.schema), with_nan(part))
    with pq.ParquetWriter(sink, part.schema, compression="zstd", write_statistics=statistics) as writer:
        writer.add_key_value_metadata({STATISTICS_NOTE: WITHOUT_NAN})
        writer.write_table(part)
    store.put(path, sink.getvalue().to_pybytes())
    return DataFile.of_parquet(path, store=store, partition_values=values)
