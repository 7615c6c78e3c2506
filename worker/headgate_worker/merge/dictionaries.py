"""Which columns of an output are worth a dictionary: those whose values repeat, as their first rows show.

Parquet's own writer finds out by building one until it is full, for every row group anew: a third of the time of writing.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types

SAMPLE_ROWS = 20_000
MOSTLY_DISTINCT = 0.5
"""Above this share of distinct values an entry of a dictionary is used less than twice."""


def dictionary_columns(sample: pa.Table) -> list[str]:
    """The paths of the columns to write with a dictionary, as Parquet spells them. Nested ones always have one."""
    rows = sample.slice(0, SAMPLE_ROWS)
    without = {
        field.name
        for field, column in zip(rows.schema, rows.columns, strict=True)
        if not types.is_nested(field.type) and _is_mostly_distinct(column)
    }
    return [path for path in _leaves(sample.schema) if path not in without]


def _is_mostly_distinct(column: Any) -> bool:
    values = len(column) - column.null_count
    return bool(values > 0 and pc.count_distinct(column).as_py() > MOSTLY_DISTINCT * values)


def _leaves(schema: pa.Schema) -> list[str]:
    """The stored columns: a file without rows tells how they are called."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    stored = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
    return [stored.column(number).path for number in range(len(stored))]
