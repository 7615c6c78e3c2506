"""Which columns of a Parquet file are worth a dictionary, by a sample of the rows.

Parquet's own writer finds out by building a dictionary until it is full, for every row group anew: a third of the time of writing.
Merges and writers of rows ask here.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from headgate_table.parquet.float_statistics import leaf_paths

SAMPLE_ROWS = 20_000
MOSTLY_DISTINCT = 0.5
"""Above this share of distinct values an entry of a dictionary is used less than twice."""


def dictionary_columns(sample: pa.Table, schema: pa.Schema) -> list[str]:
    """The paths of the columns to write with a dictionary, as Parquet spells them. Nested ones always have one.

    `sample` are rows of the columns of `schema`; those that come as dictionaries keep one.
    """
    rows = sample.slice(0, SAMPLE_ROWS)
    without = {
        field.name
        for field, column in zip(rows.schema, rows.columns, strict=True)
        if not types.is_nested(field.type) and not types.is_dictionary(field.type) and _is_mostly_distinct(column)
    }
    return [path for path in leaf_paths(schema) if path not in without]


def _is_mostly_distinct(column: Any) -> bool:
    values = len(column) - column.null_count
    return bool(values > 0 and pc.count_distinct(column).as_py() > MOSTLY_DISTINCT * values)
