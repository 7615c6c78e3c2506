"""Ids, times and data files invented from a seed: the same seed gives the same table, bit for bit."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

File = dict[str, Any]
"""A file, keyed by the format's own field names."""

START_MS = 1_775_007_200_000

DOC_MAPPING = (
    '[{"fast":true,"indexed":true,"name":"id","stored":true,"type":"i64"},'
    '{"fast":true,"indexed":true,"name":"text","stored":true,"tokenizer":"raw","type":"text"}]'
)
DOC_MAPPING_HASH = "gC45RGOqJ_Grt0xH"

SCHEMA_STRING = (
    '{"type":"struct","fields":[{"name":"id","type":"integer","nullable":false,"metadata":{}},'
    '{"name":"text","type":"string","nullable":true,"metadata":{}}]}'
)


INTEGER_COLUMNS = ("month", "day")
"""Partition columns that the schema declares as integers; all others are strings."""


def schema_string(partition_columns: tuple[str, ...] = ()) -> str:
    """Spark's JSON for id, text and the partition columns, as text."""
    columns = "".join(
        "," + json.dumps({"name": name, "type": _type(name), "nullable": True, "metadata": {}}, separators=(",", ":"))
        for name in partition_columns
    )
    return SCHEMA_STRING[:-2] + columns + "]}"


def _type(column: str) -> str:
    return "integer" if column in INTEGER_COLUMNS else "string"


class Invented:
    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0
        self.clock_ms = START_MS

    def hex(self, length: int) -> str:
        self._drawn += 1
        return hashlib.sha256(f"{self._seed}/{self._drawn}".encode()).hexdigest()[:length]

    def number(self, low: int, high: int) -> int:
        return low + int(self.hex(12), 16) % (high - low + 1)

    def uuid(self) -> str:
        h = self.hex(32)
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def sync(self) -> bytes:
        return bytes.fromhex(self.hex(32))

    def tick(self) -> int:
        """A later time than every one before, in milliseconds."""
        self.clock_ms += self.number(2, 250)
        return self.clock_ms

    def file(self, partition: Mapping[str, str] | None = None, *, records: int = 2, merged: bool = False) -> File:
        """A data file as a real writer describes it: offsets agree with its size, bounds are strings."""
        values = dict(partition or {})
        folder = "".join(f"{column}={value}/" for column, value in values.items())
        size = self.number(4_000, 9_000)
        footer = size - 3_000
        first = self.number(1, 10_000)
        last = first + records - 1
        return {
            "path": f"{folder}{'' if merged else 'part-'}{self.uuid()}.split",
            "partitionValues": values,
            "size": size,
            "modificationTime": self.tick(),
            "dataChange": not merged,
            "stats": None,
            "minValues": None if merged else {"id": str(first), "text": f"text-{first}"},
            "maxValues": None if merged else {"text": f"text-{last}", "id": str(last)},
            "numRecords": records,
            "footerStartOffset": footer,
            "footerEndOffset": size,
            "hasFooterOffsets": True,
            "splitTags": None,
            "numMergeOps": 1 if merged else 0,
            "docMappingRef": DOC_MAPPING_HASH,
            "uncompressedSizeBytes": footer,
        }

    def files(self, count: int, partition: Mapping[str, str] | None = None) -> list[File]:
        return [self.file(partition) for _ in range(count)]
