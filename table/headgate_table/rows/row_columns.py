"""Converts the columns of rows to those of a table, and checks the values. With PyArrow alone.

Executors of Spark have these rules in `pyspark_headgate.executor.row_columns`.
"""

import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

_LENGTH = re.compile(rb"\(([0-9]+)\)")
"""In `varchar(20)`, as the schema notes it."""


def conformed(rows: pa.Table, schema: pa.Schema, sources: Mapping[str, int], table: str) -> pa.Table:
    """The columns of `schema`, each from its place among the rows' own. `table` is its address, for messages.

    Raises `ValueError` for values that a column can't hold.
    """
    columns = []
    for wanted in schema:
        column = rows.column(sources[wanted.name])
        if column.null_count and not wanted.nullable:
            raise ValueError(
                f"column {wanted.name!r} has {column.null_count} nulls, but the table at {table} says NOT NULL"
            )
        if column.type != wanted.type:
            try:
                column = column.cast(wanted.type)
            except pa.ArrowException as error:
                raise ValueError(
                    f"column {wanted.name!r} can't become the {wanted.type} of the table at {table}: {error}"
                ) from error
        sized = _LENGTH.search((wanted.metadata or {}).get(b"spark.type", b""))
        if sized and (pc.max(pc.utf8_length(column)).as_py() or 0) > int(sized[1]):
            raise ValueError(
                f"column {wanted.name!r} holds texts of more than {int(sized[1])} characters, the most that the table at "
                f"{table} takes there"
            )
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=schema)
