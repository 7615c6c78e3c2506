"""A program that reads mirrors by chdb. It runs where chdb is installed."""

import os
from collections.abc import Sequence

import chdb
import pyarrow as pa

from support.mirror_readers.answering import serve

# Strings may hold any bytes, as ClickHouse's own do; the asking side knows which columns are text.
QUERY = (
    "SELECT {columns} FROM deltaLakeLocal('{path}') "
    "SETTINGS delta_lake_snapshot_version = {version}, output_format_arrow_string_as_string = 0"
)


def read(uri: str, version: int, columns: Sequence[str]) -> pa.Table:
    """These columns alone: it fails at a table of which one column has values that ClickHouse can't hold."""
    names = ", ".join(f"`{_escaped(name, '`')}`" for name in columns)
    answer = chdb.query(QUERY.format(columns=names, path=_escaped(uri, "'"), version=version), "ArrowStream")
    return pa.ipc.open_stream(answer.bytes()).read_all()


def _escaped(text: str, quote: str) -> str:
    return text.replace("\\", "\\\\").replace(quote, "\\" + quote)


if __name__ == "__main__":
    # It reads local tables below the working directory only.
    os.chdir("/")
    serve(lambda: read)
