"""The columns of a Parquet file that a dictionary makes smaller, by a sample of the rows.

Parquet's own writer builds a dictionary for every column and row group until it is full, which takes a third of the
time of writing. Merges and writers of rows use this module instead.
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

    `sample` are rows of the columns of `schema`; dictionary columns of the sample stay dictionaries.
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
