"""The columns that each statement answers with, written out, so that a change of one is seen."""

from typing import get_args

from headgate.statements import DescribeLog, DescribeState, MergeSplits, PurgeStatement, Statement
from headgate.statements.columns import MERGE_METRICS, OUTPUT_COLUMNS, PURGE_METRICS, ScalarType

LOG_COLUMNS = [
    "version",
    "log_file_path",
    "action_type",
    "path",
    "partition_values",
    "size",
    "data_change",
    "tags",
    "modification_time",
    "stats",
    "min_values",
    "max_values",
    "num_records",
    "footer_start_offset",
    "footer_end_offset",
    "hotcache_start_offset",
    "hotcache_length",
    "has_footer_offsets",
    "time_range_start",
    "time_range_end",
    "split_tags",
    "delete_opstamp",
    "num_merge_ops",
    "doc_mapping_json",
    "doc_mapping_ref",
    "uncompressed_size_bytes",
    "deletion_timestamp",
    "extended_file_metadata",
    "skip_timestamp",
    "skip_reason",
    "skip_operation",
    "skip_retry_after",
    "skip_count",
    "protocol_min_reader_version",
    "protocol_min_writer_version",
    "protocol_reader_features",
    "protocol_writer_features",
    "metadata_id",
    "metadata_name",
    "metadata_description",
    "metadata_format_provider",
    "metadata_format_options",
    "metadata_schema_string",
    "metadata_partition_columns",
    "metadata_configuration",
    "metadata_created_time",
    "is_checkpoint",
]


def test_every_statement_has_columns() -> None:
    assert set(OUTPUT_COLUMNS) == set(get_args(Statement))


def test_the_log_has_its_forty_seven_columns_in_order() -> None:
    assert [column.name for column in OUTPUT_COLUMNS[DescribeLog]] == LOG_COLUMNS
    assert len(LOG_COLUMNS) == 47


def test_the_times_in_the_log_are_timestamps() -> None:
    times = {column.name for column in OUTPUT_COLUMNS[DescribeLog] if column.type is ScalarType.TIMESTAMP}
    assert times == {
        "modification_time",
        "deletion_timestamp",
        "skip_timestamp",
        "skip_retry_after",
        "metadata_created_time",
    }


def test_the_state_is_described_by_ten_columns() -> None:
    assert OUTPUT_COLUMNS[DescribeState] == (
        ("table_path", ScalarType.STRING),
        ("format", ScalarType.STRING),
        ("version", ScalarType.LONG),
        ("num_files", ScalarType.LONG),
        ("num_manifests", ScalarType.INT),
        ("num_tombstones", ScalarType.INT),
        ("tombstone_ratio", ScalarType.DOUBLE),
        ("total_bytes", ScalarType.LONG),
        ("needs_compaction", ScalarType.BOOLEAN),
        ("status", ScalarType.STRING),
    )


def test_purging_answers_a_struct_of_metrics() -> None:
    assert dict(OUTPUT_COLUMNS[PurgeStatement])["metrics"] is PURGE_METRICS
    assert [column.name for column in PURGE_METRICS.fields] == [
        "status",
        "orphaned_files_found",
        "orphaned_files_deleted",
        "size_mb_deleted",
        "retention_hours",
        "tx_log_files_deleted",
        "expired_states_found",
        "expired_states_deleted",
        "dry_run",
        "duration_ms",
        "message",
    ]


def test_merging_answers_a_struct_of_metrics() -> None:
    assert dict(OUTPUT_COLUMNS[MergeSplits])["metrics"] is MERGE_METRICS
    assert [column.name for column in MERGE_METRICS.fields] == [
        "status",
        "merged_files",
        "merge_groups",
        "original_size_bytes",
        "merged_size_bytes",
        "message",
    ]
