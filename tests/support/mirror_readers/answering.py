"""How a program that reads mirrors is spoken with: a request is a line of JSON, an answer a line of JSON and an Arrow stream.

A request names `uri`, `version` and `columns`. An answer has `bytes`, the size of the stream that follows, or `error`.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence

import pyarrow as pa

Read = Callable[[str, int, Sequence[str]], pa.Table]
LONGEST_ERROR = 2_000


def serve(open_engine: Callable[[], Read]) -> None:
    """Answer until the input ends. `open_engine` returns the function that reads a version."""
    answers = os.fdopen(os.dup(1), "wb")
    # Engines and their processes may write to the standard output, too.
    os.dup2(2, 1)
    read = open_engine()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            body = _stream(read(request["uri"], request["version"], request["columns"]))
            head: dict[str, object] = {"bytes": len(body)}
        except Exception as error:  # noqa: BLE001 - whatever an engine raises is its answer
            body, head = b"", {"error": f"{type(error).__name__}: {error}"[:LONGEST_ERROR]}
        answers.write(json.dumps(head).encode() + b"\n" + body)
        answers.flush()


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
