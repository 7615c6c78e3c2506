"""The files of a scan, grouped by partition and packed for the JVM. Pure; `native_scan` sends them there."""

import struct
from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa
from pyarrow import types

from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.read.rows.row_shape import RowShape

_NULL = b"\0"
_TEXT, _BOOLEAN, _LONG, _DECIMAL = 1, 2, 6, 9
_NUMBERS = {
    "int8": (3, struct.Struct(">bb")),
    "int16": (4, struct.Struct(">bh")),
    "int32": (5, struct.Struct(">bi")),
    "date32[day]": (5, struct.Struct(">bi")),
    "int64": (_LONG, struct.Struct(">bq")),
    "float": (7, struct.Struct(">bf")),
    "double": (8, struct.Struct(">bd")),
}
"""Before each value stands its kind, as `HeadgateFileIndex.value` reads it; 0 is null."""


@dataclass(frozen=True, slots=True)
class PackedFiles:
    """The input of `HeadgateFileIndex`: the number of partitions; for each, its values, the number of its files, and
    the files.
    """

    data: bytes
    files: int
    partitions: int

    @property
    def digest(self) -> str:
        return sha256(self.data).hexdigest()


def packed_files(files: pa.Table, shape: RowShape, table: str) -> PackedFiles:
    """`files` (path, partition_values, size, modification_time) by partition; `shape` names the partition columns.

    Values are those of the log, typed; files with equal values are one partition for Spark.
    """
    packed_of: dict[tuple[tuple[str, str | None], ...], bytes] = {}
    members: dict[bytes, list[bytes]] = {}
    columns = [files.column(name).to_pylist() for name in ("path", "partition_values", "size", "modification_time")]
    for path, pairs, size, modified in zip(*columns, strict=True):
        key = tuple(pairs or ())
        packed = packed_of.get(key)
        if packed is None:
            scalars = shape.partition_scalars(dict(key), f"the data file {path} of {table}")
            packed = packed_of[key] = b"".join(_value(scalars[name]) for name in shape.partition_kinds)
        members.setdefault(packed, []).append(_text(path) + struct.pack(">qq", size, modified))
    body = [struct.pack(">i", len(members))]
    for packed, entries in members.items():
        body += [packed, struct.pack(">i", len(entries)), *entries]
    return PackedFiles(b"".join(body), files.num_rows, len(members))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">i", len(encoded)) + encoded


def _value(scalar: pa.Scalar) -> bytes:
    """One value, after its kind."""
    if not scalar.is_valid:
        return _NULL
    type_ = scalar.type
    number = _NUMBERS.get(str(type_))
    if number is not None:
        kind, form = number
        return form.pack(kind, scalar.value if types.is_date32(type_) else scalar.as_py())
    if types.is_string(type_):
        return bytes([_TEXT]) + _text(scalar.as_py())
    if types.is_boolean(type_):
        return bytes([_BOOLEAN, scalar.as_py()])
    if types.is_timestamp(type_):
        return struct.pack(">bq", _LONG, scalar.value)
    if types.is_decimal(type_):
        return struct.pack(">bii", _DECIMAL, type_.precision, type_.scale) + _text(str(scalar.as_py()))
    raise InvalidInput(f"a table can't be partitioned by values of type {type_}")
