"""Parses values of a command line: times, durations, lists of names, schemas."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate_schemas.messages.operations import Writer

_DURATION = re.compile(r"([0-9]{1,9})\s*([hdw])", re.IGNORECASE)
_WAIT = re.compile(r"([0-9]{1,6})\s*(ms|s|m|h)", re.IGNORECASE)
_SIZE = re.compile(r"([0-9]{1,12})\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_WRITER = re.compile(r"(.+):([0-9]{1,18})")
_UNIT_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_UNIT_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_MAX_SCHEMA_BYTES = 16 << 20

Uri = Annotated[
    str, typer.Argument(metavar="URI", help="The table's address: a path, s3://bucket/path or az://container/path.")
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="EXPR", help="A predicate, such as \"date = '2024-01-01' AND region IN ('eu', 'us')\"."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what the command would do.")]
Log = Annotated[str | None, typer.Option("--log", metavar="FORM", help="The format of events: auto, console or json.")]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="HOST:PORT",
        help="Serve /healthz, /readyz and /metrics over HTTP at this address. Or set HEADGATE_LISTEN.",
    ),
]


def wrong(message: str, option: str) -> typer.BadParameter:
    """The exception for an invalid value of an option: shows the usage, exits with 2."""
    return typer.BadParameter(message, param_hint=f"'{option}'")


def duration_hours(text: str, option: str) -> int:
    """`24h`, `7d`, `2w`: whole hours, as retentions are."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise wrong(f"{text!r} is no number of hours, days or weeks: write 24h, 7d or 2w", option)
    return int(found[1]) * _UNIT_HOURS[found[2].lower()]


def size_bytes(text: str, option: str) -> int:
    """`128M`, `1G`, `1048576`: bytes, in binary units, as in the format's settings."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or not (1 << 20) <= (size := int(found[1]) * _UNIT_BYTES[found[2].lower()]) < 1 << 62:
        raise wrong(f"{text!r} is no size from 1M: write 128M, 1G or a number of bytes", option)
    return size


def seconds(text: str, option: str) -> float:
    """`30s`, `500ms`, `5m`, `1h`: a duration in seconds."""
    found = _WAIT.fullmatch(text.strip())
    if found is None:
        raise wrong(f"{text!r} is no time to wait: write 30s, 5m or 500ms", option)
    return int(found[1]) * _UNIT_SECONDS[found[2].lower()]


def moment(text: str) -> int | str:
    """A time as `Table.snapshot` takes it: epoch milliseconds or ISO 8601."""
    stripped = text.strip()
    return int(stripped) if re.fullmatch(r"-?[0-9]{1,19}", stripped) else stripped


def names(text: str | None, option: str) -> list[str] | None:
    """`a,b` as a list."""
    if text is None:
        return None
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise wrong(f"{text!r} names no column: write a,b", option)
    return found


def pairs(given: Sequence[str], option: str, example: str) -> dict[str, str]:
    """`KEY=VALUE` options as a dictionary; the last value of a key counts."""
    found: dict[str, str] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise wrong(f"{text!r} is no KEY=VALUE, such as {example}", option)
        found[key.strip()] = value
    return found


def app_and_seq(text: str, option: str) -> "Writer":
    """`nightly:17`: an app and its seq."""
    from headgate_schemas.messages.operations import Writer

    found = _WRITER.fullmatch(text)
    if found is None:
        raise wrong(f"{text!r} is no APP:SEQ, such as nightly:17", option)
    return Writer(found[1], int(found[2]))


def schema(text: str) -> "pa.Schema | str":
    """A schema from a file (Spark's JSON, columns in SQL, or an Arrow or Parquet file's own), or columns in the text
    itself.
    """
    path = Path(text)
    suffix = path.suffix.lower()
    looks_like_file = suffix in (".json", ".ddl", ".sql", ".txt", ".arrow", ".feather", ".parquet")
    if not looks_like_file:
        return text
    try:
        if suffix == ".parquet":
            return _parquet_schema(path)
        if suffix in (".arrow", ".feather"):
            return _arrow_schema(path)
        if path.stat().st_size > _MAX_SCHEMA_BYTES:
            raise InvalidInput(
                f"the schema file {text} has more than {_MAX_SCHEMA_BYTES >> 20} MiB; is it the right one?"
            )
        return path.read_text(encoding="utf-8").strip().removesuffix(";")
    except OSError as error:
        raise InvalidInput(f"the schema file {text} can't be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"the schema file {text} is not text in UTF-8") from None


def _parquet_schema(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(path)
    except pa.ArrowInvalid as error:
        raise InvalidInput(f"the schema file {path} is no Parquet file: {error}") from None


def _arrow_schema(path: Path) -> Any:
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        for opened in (pa.ipc.open_file, pa.ipc.open_stream):
            try:
                source.seek(0)
                return opened(source).schema
            except pa.ArrowInvalid:
                continue  # the other one of the two kinds
    raise InvalidInput(f"the schema file {path} is no Arrow file")
