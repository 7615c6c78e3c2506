"""Parquet files as bytes, for tests that put them on a store."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def parquet(table: pa.Table, **options: Any) -> bytes:
    """A file with these rows; options are those of `pyarrow.parquet.write_table`."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **options)
    return bytes(sink.getvalue())
