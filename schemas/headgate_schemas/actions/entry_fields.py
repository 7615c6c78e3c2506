"""The fields of a file entry: their names in the format, our column names, types and Avro field ids.

They are in the order of schema B (docs/format.md, section 2). Schema A is the subset that every known reader keeps;
other fields are written only to tables that already have them.
"""

from dataclasses import dataclass
from enum import Enum


class FieldKind(Enum):
    STRING = "string"
    LONG = "long"
    INT = "int"
    BOOLEAN = "boolean"
    STRING_MAP = "map"
    STRING_LIST = "array"


@dataclass(frozen=True, slots=True)
class EntryField:
    name: str
    """The format's own name, also the key in an add action."""
    column: str
    """Our name: the column of every Arrow table of entries, the attribute of `AddFile`."""
    kind: FieldKind
    field_id: int
    optional: bool
    in_schema_a: bool = True


_S, _L, _I, _B, _M, _A = (
    FieldKind.STRING,
    FieldKind.LONG,
    FieldKind.INT,
    FieldKind.BOOLEAN,
    FieldKind.STRING_MAP,
    FieldKind.STRING_LIST,
)

ENTRY_FIELDS: tuple[EntryField, ...] = (
    EntryField("path", "path", _S, 100, False),
    EntryField("partitionValues", "partition_values", _M, 101, False),
    EntryField("size", "size", _L, 102, False),
    EntryField("modificationTime", "modification_time", _L, 103, False),
    EntryField("dataChange", "data_change", _B, 104, False),
    EntryField("stats", "stats", _S, 110, True),
    EntryField("minValues", "min_values", _M, 111, True),
    EntryField("maxValues", "max_values", _M, 112, True),
    EntryField("numRecords", "num_records", _L, 113, True),
    EntryField("footerStartOffset", "footer_start_offset", _L, 120, True),
    EntryField("footerEndOffset", "footer_end_offset", _L, 121, True),
    EntryField("hasFooterOffsets", "has_footer_offsets", _B, 124, False),
    EntryField("deleteOpstamp", "delete_opstamp", _L, 123, True, in_schema_a=False),
    EntryField("splitTags", "split_tags", _A, 132, True),
    EntryField("numMergeOps", "num_merge_ops", _I, 134, True),
    EntryField("docMappingJson", "doc_mapping_json", _S, 133, True, in_schema_a=False),
    EntryField("docMappingRef", "doc_mapping_ref", _S, 135, True),
    EntryField("uncompressedSizeBytes", "uncompressed_size_bytes", _L, 136, True),
    EntryField("timeRangeStart", "time_range_start", _S, 137, True, in_schema_a=False),
    EntryField("timeRangeEnd", "time_range_end", _S, 138, True, in_schema_a=False),
    EntryField("addedAtVersion", "added_at_version", _L, 140, False),
    EntryField("addedAtTimestamp", "added_at_timestamp", _L, 141, False),
    EntryField("companionSourceFiles", "companion_source_files", _A, 150, True),
    EntryField("companionDeltaVersion", "companion_delta_version", _L, 151, True),
    EntryField("companionFastFieldMode", "companion_fast_field_mode", _S, 152, True),
)

FIELD_BY_COLUMN = {field.column: field for field in ENTRY_FIELDS}
FIELD_BY_NAME = {field.name: field for field in ENTRY_FIELDS}
