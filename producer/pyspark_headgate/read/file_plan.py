"""Divides files, or parts of them, among tasks. For drivers, pure; `executor.file_rows` runs the task."""

import os
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_table.indextables.read.rows.row_shape import RowShape
from pyspark_headgate.executor.file_rows import FileSlices

FILE_COST_BYTES = 4 << 20
"""What opening a file costs, in bytes that could be read instead: as Spark has it (spark.sql.files.openCostInBytes)."""
MAX_TASK_BYTES = 128 << 20
"""As Spark has it (spark.sql.files.maxPartitionBytes)."""
TASKS_PER_CORE = 2
"""Small enough parts for cores to finish together. Counted by the driver's cores: nobody tells a source the cluster's."""
WHOLE = (1 << 63) - 1
"""The end of a file's last part: beyond any file, so that no row is lost to a size that the log has wrong."""


def planned(files: pa.Table, shape: RowShape, table: str, extra: Sequence[str] = ()) -> list[FileSlices]:
    """Tasks for `files` (path, partition_values, size). `shape` names the partition columns to read, and their types.

    `extra` are further columns of `files`; each value is a constant for all rows of its file.
    """
    if files.num_rows == 0:
        return []
    ordered = files.select(["path", "partition_values", "size", *extra]).sort_by("path")
    constants = partition_columns(ordered, shape, table)
    constants |= {name: ordered.column(name) for name in extra}
    sizes = [max(0, size) for size in ordered.column("size").to_pylist()]
    most = task_bytes(sizes)
    rows: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    costs: list[int] = []
    for row, size in enumerate(sizes):
        for start, end in cut(size, most):
            rows.append(row)
            starts.append(start)
            ends.append(end)
            costs.append(min(end, size) - start + FILE_COST_BYTES)
    taken = pa.array(rows, pa.int64())
    columns = [ordered.column("path").take(taken), pa.array(starts, pa.int64()), pa.array(ends, pa.int64())]
    columns += [array.take(taken) for array in constants.values()]
    # The first three columns are found by position: a constant may have any name.
    slices = pa.Table.from_arrays(columns, names=["path", "start", "end", *constants])
    return [FileSlices.of(slices.slice(first, count)) for first, count in filled(costs, most)]


def task_bytes(sizes: list[int]) -> int:
    """The most bytes for one task, unless a row group has more."""
    total = sum(sizes) + FILE_COST_BYTES * len(sizes)
    share = total // (TASKS_PER_CORE * max(1, os.cpu_count() or 1))
    return min(MAX_TASK_BYTES, max(FILE_COST_BYTES, share))


def cut(size: int, most: int) -> list[tuple[int, int]]:
    """Even parts of a file, each of at most `most` bytes."""
    parts = max(1, -(-size // most))
    bounds = [size * number // parts for number in range(parts)]
    return list(zip(bounds, [*bounds[1:], WHOLE], strict=True))


def filled(costs: list[int], most: int) -> Iterator[tuple[int, int]]:
    """Runs of neighbours, as (first, count), each as long as fits."""
    first = total = 0
    for place, cost in enumerate(costs):
        if place > first and total + cost > most + FILE_COST_BYTES:
            yield first, place - first
            first, total = place, 0
        total += cost
    if len(costs) > first:
        yield first, len(costs) - first


def partition_columns(files: pa.Table, shape: RowShape, table: str) -> dict[str, pa.Array]:
    """The typed partition values of `files` (path, partition_values), a column each; every distinct set is parsed once."""
    places: dict[tuple[tuple[str, str | None], ...], int] = {}
    found: list[Mapping[str, pa.Scalar]] = []
    which: list[int] = []
    paths = files.column("path")
    for row, pairs in enumerate(files.column("partition_values").to_pylist()):
        key = tuple(pairs or ())
        place = places.get(key)
        if place is None:
            place = places[key] = len(found)
            name = f"the data file {paths[row].as_py()} of {table}"
            found.append(shape.partition_scalars(dict(key), name))
        which.append(place)
    taken = pa.array(which, pa.int64())
    return {
        field.name: pa.array([values[field.name].as_py() for values in found], field.type).take(taken)
        for field in shape.schema
        if field.name in shape.partition_kinds
    }


def shape_of(schema: pa.Schema, kinds: Mapping[str, ColumnKind], partition_by: tuple[str, ...]) -> RowShape:
    """The shape of rows with these columns; those in `partition_by` come from the log."""
    return RowShape(schema, {name: kinds[name] for name in partition_by if name in schema.names})
