"""`headgate query`: runs SQL on the rows of tables."""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import time, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.terminal.output import Format, Output
from headgate.cli.terminal.session import Session, command
from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate.query.running import QueryResult

_EXPLAINED = ("table", "version", "where", "files", "files_skipped", "manifests", "manifests_skipped")


class ResultFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


def register(app: typer.Typer) -> None:
    command(app, "query", query, without=("format",))


def query(
    session: Session,
    text: Annotated[
        str,
        typer.Argument(metavar="QUERY", help="Such as \"SELECT count(*) FROM 's3://lake/events' VERSION AS OF 7\"."),
    ],
    form: Annotated[
        ResultFormat | None,
        typer.Option("--format", help="How to print rows; by default a table, or what the name of --output says."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write the rows to this file, once they are complete."),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show which files and manifests are skipped, and the plan. No row is read."),
    ] = False,
) -> None:
    """Query the rows of tables with SQL. It only reads.

    Tables are named by their addresses, in quotes: FROM 's3://lake/events'. VERSION AS OF 7 or TIMESTAMP AS OF '2024-01-01' behind
    one reads it as it was. Joins, subqueries and everything else are DataFusion's SQL.
    """
    from headgate.query.running import run_query

    chosen = form or _form_of(output)
    with session.output.working("Planning ..."):
        result = run_query(text, session.open)
    if explain:
        _explain(session, result, chosen)
    elif chosen is ResultFormat.PARQUET:
        _parquet(result, output)
    elif output is None:
        _print(Output(session.output.data, session.notes, Format(chosen)), result)
    else:
        with _complete(output) as place, open(place, "w", encoding="utf-8", newline="") as stream:
            _print(Output(stream, session.notes, Format(chosen)), result)


def _form_of(output: Path | None) -> ResultFormat:
    suffix = "" if output is None else output.suffix.lower().removeprefix(".")
    return ResultFormat(suffix) if suffix in list(ResultFormat) else ResultFormat.TABLE


def _explain(session: Session, result: "QueryResult", form: ResultFormat) -> None:
    printed = Format.TABLE if form is ResultFormat.PARQUET else Format(form)
    output = Output(session.output.data, session.notes, printed)
    output.rows([asdict(each) for each in result.tables()], _EXPLAINED)
    output.note(result.plan().rstrip())


def _print(output: Output, result: "QueryResult") -> None:
    output.rows(_rows(result), result.schema.names, nothing="No row.")


def _rows(result: "QueryResult") -> Iterator[dict[str, Any]]:
    for batch in result.batches():
        for row in _in_micros(batch).to_pylist(maps_as_pydicts="lossy"):
            yield {name: _shown(value) for name, value in row.items()}


def _in_micros(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Python's own times have no nanoseconds."""
    import pyarrow as pa
    from pyarrow import types

    fields = [
        field.with_type(pa.timestamp("us", field.type.tz))
        if types.is_timestamp(field.type) and field.type.unit == "ns"
        else field
        for field in batch.schema
    ]
    wanted = pa.schema(fields)
    return batch if wanted == batch.schema else batch.cast(wanted, safe=False)


def _shown(value: Any) -> Any:
    """Values without a JSON form become texts."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case timedelta() | time():
            return str(value)
        case list():
            return [_shown(each) for each in value]
        case dict():
            return {key: _shown(each) for key, each in value.items()}
        case _:
            return value


def _parquet(result: "QueryResult", output: Path | None) -> None:
    import pyarrow.parquet as pq

    if output is None and sys.stdout.isatty():
        raise InvalidInput("Parquet is nothing for a terminal: name a file by --output, or send it into a pipe")
    if output is None:
        with pq.ParquetWriter(sys.stdout.buffer, result.schema, compression="zstd") as writer:
            for batch in result.batches():
                writer.write_batch(batch)
        return
    with _complete(output) as place, pq.ParquetWriter(place, result.schema, compression="zstd") as writer:
        for batch in result.batches():
            writer.write_batch(batch)


@contextmanager
def _complete(output: Path) -> Iterator[str]:
    """A temporary name beside the file, which is renamed when the output is complete, so that nobody reads half a
    result.
    """
    place = f"{output}.part"
    try:
        yield place
        os.replace(place, output)
    except OSError as error:
        raise InvalidInput(f"{output} can't be written: {error.strerror or error}") from error
    finally:
        Path(place).unlink(missing_ok=True)
