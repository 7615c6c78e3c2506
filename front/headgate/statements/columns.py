"""The result of each operator statement: its columns, their order and types (docs/format.md, section 9).

Data only; executors of statements fill the rows, and their callers convert the types to Arrow's or Spark's.
"""

from enum import Enum
from typing import NamedTuple

from headgate.statements.statements import (
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    PurgeStatement,
    RepairLog,
    Statement,
    TruncateTimeTravel,
)


class ScalarType(Enum):
    STRING = "string"
    LONG = "long"
    INT = "int"
    DOUBLE = "double"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"


class Column(NamedTuple):
    name: str
    type: "ColumnType"


class StructType(NamedTuple):
    fields: tuple[Column, ...]


ColumnType = ScalarType | StructType

_S, _L, _I = ScalarType.STRING, ScalarType.LONG, ScalarType.INT
_D, _B, _T = ScalarType.DOUBLE, ScalarType.BOOLEAN, ScalarType.TIMESTAMP

_CHECKPOINT = (
    Column("table_path", _S),
    Column("status", _S),
    Column("checkpoint_version", _L),
    Column("num_actions", _L),
    Column("num_files", _L),
    Column("protocol_version", _L),
    Column("is_multi_part", _B),
)

_STATE = (
    Column("table_path", _S),
    Column("format", _S),
    Column("version", _L),
    Column("num_files", _L),
    Column("num_manifests", _I),
    Column("num_tombstones", _I),
    Column("tombstone_ratio", _D),
    Column("total_bytes", _L),
    Column("needs_compaction", _B),
    Column("status", _S),
)

_LOG = (
    Column("version", _L),
    Column("log_file_path", _S),
    Column("action_type", _S),
    # Adds, removes and skips.
    Column("path", _S),
    Column("partition_values", _S),
    Column("size", _L),
    Column("data_change", _B),
    Column("tags", _S),
    # Adds.
    Column("modification_time", _T),
    Column("stats", _S),
    Column("min_values", _S),
    Column("max_values", _S),
    Column("num_records", _L),
    Column("footer_start_offset", _L),
    Column("footer_end_offset", _L),
    Column("hotcache_start_offset", _L),
    Column("hotcache_length", _L),
    Column("has_footer_offsets", _B),
    Column("time_range_start", _S),
    Column("time_range_end", _S),
    Column("split_tags", _S),
    Column("delete_opstamp", _L),
    Column("num_merge_ops", _I),
    Column("doc_mapping_json", _S),
    Column("doc_mapping_ref", _S),
    Column("uncompressed_size_bytes", _L),
    # Removes.
    Column("deletion_timestamp", _T),
    Column("extended_file_metadata", _B),
    # Skips.
    Column("skip_timestamp", _T),
    Column("skip_reason", _S),
    Column("skip_operation", _S),
    Column("skip_retry_after", _T),
    Column("skip_count", _I),
    # Protocol.
    Column("protocol_min_reader_version", _I),
    Column("protocol_min_writer_version", _I),
    Column("protocol_reader_features", _S),
    Column("protocol_writer_features", _S),
    # Metadata.
    Column("metadata_id", _S),
    Column("metadata_name", _S),
    Column("metadata_description", _S),
    Column("metadata_format_provider", _S),
    Column("metadata_format_options", _S),
    Column("metadata_schema_string", _S),
    Column("metadata_partition_columns", _S),
    Column("metadata_configuration", _S),
    Column("metadata_created_time", _T),
    Column("is_checkpoint", _B),
)

PURGE_METRICS = StructType(
    (
        Column("status", _S),
        Column("orphaned_files_found", _L),
        Column("orphaned_files_deleted", _L),
        Column("size_mb_deleted", _D),
        Column("retention_hours", _L),
        Column("tx_log_files_deleted", _L),
        Column("expired_states_found", _L),
        Column("expired_states_deleted", _L),
        Column("dry_run", _B),
        Column("duration_ms", _L),
        Column("message", _S),
    )
)

MERGE_METRICS = StructType(
    (
        Column("status", _S),
        Column("merged_files", _L),
        Column("merge_groups", _L),
        Column("original_size_bytes", _L),
        Column("merged_size_bytes", _L),
        Column("message", _S),
    )
)

OUTPUT_COLUMNS: dict[type[Statement], tuple[Column, ...]] = {
    Checkpoint: _CHECKPOINT,
    Compact: _CHECKPOINT,
    DescribeState: _STATE,
    DescribeLog: _LOG,
    PurgeStatement: (Column("table_path", _S), Column("metrics", PURGE_METRICS)),
    TruncateTimeTravel: (
        Column("table_path", _S),
        Column("status", _S),
        Column("checkpoint_version", _L),
        Column("versions_deleted", _L),
        Column("checkpoints_deleted", _L),
        Column("files_preserved", _L),
        Column("message", _S),
    ),
    DropPartitions: (
        Column("table_path", _S),
        Column("status", _S),
        Column("partitions_dropped", _L),
        Column("splits_removed", _L),
        Column("total_size_bytes", _L),
        Column("message", _S),
    ),
    MergeSplits: (
        Column("table_path", _S),
        Column("metrics", MERGE_METRICS),
        Column("temp_directory_path", _S),
        Column("heap_size_bytes", _L),
    ),
    RepairLog: (
        Column("source_path", _S),
        Column("target_path", _S),
        Column("source_version", _L),
        Column("total_splits", _I),
        Column("valid_splits", _I),
        Column("missing_splits", _I),
        Column("status", _S),
    ),
    InvalidateCache: (
        Column("table_path", _S),
        Column("result", _S),
        Column("cache_hits_before", _L),
        Column("cache_misses_before", _L),
        Column("hit_rate_before", _S),
    ),
}
