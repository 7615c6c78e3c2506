"""Reads rows of users' files: Parquet, CSV, and JSON with one object per line, in batches, from the file system or a
stream.

The target table's columns, or those of the first file, give the types of a CSV or JSON file. Without either, its first megabytes
do (`text_files`).
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from glob import glob, has_magic
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.parquet as pq

from headgate_schemas.columns.rows_fit import fit_rows
from headgate_schemas.columns.table_schema import row_schema_string
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.read.rows.scan import DAMAGE
from headgate_table.rows.text_files import BLOCK_BYTES, ByteSource, csv_batches, ndjson_batches

PARQUET_BATCH_ROWS = 1 << 16
STANDARD_INPUT = "-"

_COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}


class InputFormat(StrEnum):
    PARQUET = "parquet"
    CSV = "csv"
    NDJSON = "ndjson"


_SUFFIXES = {
    ".parquet": InputFormat.PARQUET,
    ".pq": InputFormat.PARQUET,
    ".csv": InputFormat.CSV,
    ".ndjson": InputFormat.NDJSON,
    ".jsonl": InputFormat.NDJSON,
    ".json": InputFormat.NDJSON,
}


@dataclass(frozen=True, slots=True)
class InputFile:
    path: str
    """Or `-`."""
    form: InputFormat
    size: int
    """0 where nobody knows."""

    @property
    def name(self) -> str:
        return "standard input" if self.path == STANDARD_INPUT else self.path


def input_files(named: Sequence[str], form: InputFormat | None) -> list[InputFile]:
    """The files that paths and patterns name, each once, in this order.

    Raises `InvalidInput` for a pattern without a match, a missing file, and a file of unknown format.
    """
    found: dict[str, InputFile] = {}
    for text in named:
        for path in _matching(text):
            if path in found:
                raise InvalidInput(f"{path} is named twice; its rows would be written twice")
            size = 0 if path == STANDARD_INPUT else _size(path)
            found[path] = InputFile(path, form or _form_of(path), size)
    return list(found.values())


def input_rows(
    files: Sequence[InputFile],
    types: Mapping[str, pa.DataType],
    standard_input: BinaryIO,
    watch: Callable[[int], None] = lambda done: None,
) -> Iterator[pa.RecordBatch]:
    """The rows of all files, one after the other, with the columns of the first; all files must have the same.

    `types` are those of the table's columns, if there is a table. `watch` is called with the bytes read so far. Raises
    `InvalidInput` that names the file.
    """
    schema: pa.Schema | None = None
    before = 0
    for file in files:
        with ExitStack() as stack:
            known = types if schema is None else {field.name: field.type for field in schema}
            reader = _Reader(file, known, standard_input, stack)
            for batch in reader.batches():
                schema = batch.schema if schema is None else schema
                yield _aligned(batch, schema, file.name, files[0].name)
                watch(before + reader.done())
        before += file.size
        watch(before)


def _matching(text: str) -> list[str]:
    if text == STANDARD_INPUT or os.path.exists(text) or not has_magic(text):
        return [text]
    found = sorted(path for path in glob(text, recursive=True) if os.path.isfile(path))
    if not found:
        raise InvalidInput(f"no file matches {text}")
    return found


def _form_of(path: str) -> InputFormat:
    if path == STANDARD_INPUT:
        raise InvalidInput("nobody can tell the format of standard input: give --input-format parquet, csv or ndjson")
    stem, suffix = os.path.splitext(path.lower())
    if suffix in _COMPRESSED:
        suffix = os.path.splitext(stem)[1]
    if suffix not in _SUFFIXES:
        raise InvalidInput(f"the name of {path} doesn't tell its format: give --input-format parquet, csv or ndjson")
    return _SUFFIXES[suffix]


def _size(path: str) -> int:
    try:
        if os.path.isdir(path):
            raise InvalidInput(f"{path} is a folder; name its files, as in '{path.rstrip('/')}/*.parquet'")
        return os.stat(path).st_size
    except OSError as error:
        raise InvalidInput(f"{path} can't be read: {error.strerror}") from error


class _Reader:
    """One file. `stack` closes everything that it opens."""

    def __init__(
        self, file: InputFile, types: Mapping[str, pa.DataType], standard_input: BinaryIO, stack: ExitStack
    ) -> None:
        self._file = file
        self._types = types
        self._stack = stack
        self._rows = self._all_rows = 0
        try:
            self._raw = standard_input if file.path == STANDARD_INPUT else open(file.path, "rb")  # noqa: SIM115  # see below
        except OSError as error:
            raise InvalidInput(f"{file.name} can't be read: {error.strerror}") from error
        if self._raw is not standard_input:
            stack.callback(self._raw.close)

    def done(self) -> int:
        """The approximate number of bytes read so far."""
        if self._all_rows:
            return self._file.size * self._rows // self._all_rows
        with suppress(OSError, ValueError):  # a pipe has no place
            return min(self._raw.tell(), self._file.size)
        return 0

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            match self._file.form:
                case InputFormat.PARQUET:
                    yield from self._parquet()
                case InputFormat.CSV:
                    yield from csv_batches(self._text(), self._types, self._file.name)
                case InputFormat.NDJSON:
                    yield from ndjson_batches(self._text(), self._types, self._file.name)
        except DAMAGE as error:
            raise InvalidInput(f"{self._file.name} can't be read as {self._file.form}: {error}") from error

    def _parquet(self) -> Iterator[pa.RecordBatch]:
        source = self._raw
        if self._file.path == STANDARD_INPUT:  # which has no end to begin with
            source = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  # closed with the stack
            self._stack.callback(source.close)
            while block := self._raw.read(BLOCK_BYTES):
                source.write(block)
            source.seek(0)
        file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", page_checksum_verification=True)
        self._all_rows = file.metadata.num_rows
        if not self._all_rows:
            yield _empty(file.schema_arrow)
        for batch in file.iter_batches(PARQUET_BATCH_ROWS):
            self._rows += batch.num_rows
            yield batch

    def _text(self) -> ByteSource:
        codec = _COMPRESSED.get(os.path.splitext(self._file.path.lower())[1])
        if codec is None:
            return self._raw
        return cast(ByteSource, pa.CompressedInputStream(pa.PythonFile(self._raw, mode="r"), codec))


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, so that a file without rows has columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _aligned(batch: pa.RecordBatch, schema: pa.Schema, name: str, first: str) -> pa.RecordBatch:
    """In the order and the types of the first file's columns."""
    if batch.schema.equals(schema):
        return batch
    lacking = [column for column in schema.names if column not in batch.schema.names]
    spare = [column for column in batch.schema.names if column not in schema.names]
    if lacking or spare or len(set(schema.names)) < len(schema.names):
        what = f"lacks the column {lacking[0]!r}" if lacking else f"has a column {(spare or schema.names)[0]!r} more"
        raise InvalidInput(f"{name} {what}, beside {first}; load files of other columns by themselves")
    chosen = batch.select(schema.names)
    try:
        fit_rows(row_schema_string(chosen.schema), row_schema_string(schema), first, merge_schema=False)
        return chosen.cast(schema)
    except (InvalidInput, pa.ArrowException) as error:
        raise InvalidInput(
            f"{name} has columns of other types than {first}: {error}. Load it by itself, or make the table first"
        ) from error
