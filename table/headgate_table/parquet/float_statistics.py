"""The columns of a Parquet file that may have statistics: those without NaN in any row.

Writers leave NaN out of statistics, but Spark and others order it above all numbers: they would skip a row group of 1.0
and NaN when they look for values above 2.0. Executors of Spark have these rules in
`pyspark_headgate.executor.float_statistics`.
"""

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types


def leaf_paths(schema: pa.Schema) -> list[str]:
    """The stored columns, in Parquet's spelling and order."""
    sink = pa.BufferOutputStream()
    pq.write_metadata(schema, sink)
    stored = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    return [stored.column(number).path for number in range(len(stored))]


def floats(schema: pa.Schema) -> frozenset[int]:
    """The places among `leaf_paths` of floating point columns."""
    leaves = [leaf for field in schema for leaf in _leaf_types(field.type)]
    return frozenset(place for place, leaf in enumerate(leaves) if types.is_floating(leaf))


def with_nan(rows: pa.Table) -> frozenset[int]:
    """The places among `leaf_paths` of columns that hold NaN."""
    found: set[int] = set()
    start = 0
    for column in rows.columns:
        width = len(list(_leaf_types(column.type)))
        if any(types.is_floating(leaf) for leaf in _leaf_types(column.type)):
            for chunk in column.chunks:
                places = enumerate(_leaves(chunk), start)
                found.update(place for place, leaf in places if types.is_floating(leaf.type) and _has_nan(leaf))
        start += width
    return frozenset(found)


def statistics_option(paths: list[str], without: Collection[int]) -> "bool | list[str]":
    """For `write_statistics` of PyArrow."""
    return [path for place, path in enumerate(paths) if place not in without] if without else True


def _has_nan(leaf: pa.Array) -> bool:
    return bool(pc.any(pc.is_nan(leaf)).as_py())


def _leaf_types(type_: Any) -> Iterator[pa.DataType]:
    if types.is_struct(type_):
        for place in range(type_.num_fields):
            yield from _leaf_types(type_.field(place).type)
    elif types.is_map(type_):
        yield from _leaf_types(type_.key_type)
        yield from _leaf_types(type_.item_type)
    elif types.is_nested(type_):
        yield from _leaf_types(type_.value_type)
    else:
        yield type_


def _leaves(array: Any) -> Iterator[pa.Array]:
    """The columns in the order of `_leaf_types`. They may contain slots of null structs, which does no harm."""
    if types.is_struct(array.type):
        for place in range(array.type.num_fields):
            yield from _leaves(array.field(place))
    elif types.is_map(array.type):
        start = array.offsets[0].as_py()
        length = array.offsets[-1].as_py() - start
        yield from _leaves(array.keys.slice(start, length))
        yield from _leaves(array.items.slice(start, length))
    elif types.is_nested(array.type):
        yield from _leaves(array.flatten())
    else:
        yield array
