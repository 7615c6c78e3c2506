"""The list of the table log's settings: the name of each, its field in `TableOptions`, its parser, and its meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headgate_table.settings.option_texts import columns, flag, folder, hours, one_of, several_of, share, size, whole

MIN_MERGE_TARGET_BYTES = 1 << 20
"""Below a mebibyte, requests cost more than bytes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key without prefix, its field, its parser, and its meaning."""

    key: str
    field: str
    parse: Callable[[str], Any]
    meaning: str
    of_process: bool = False
    """Only a process has it: a table's configuration, which other people write, doesn't reach it."""


SETTINGS: tuple[Setting, ...] = (
    Setting("checkpoint.enabled", "checkpoint_enabled", flag, "Write states (or JSON checkpoints) at all"),
    Setting(
        "checkpoint.interval",
        "checkpoint_interval",
        whole(1),
        "Versions between two states; 1 for readers that know states only",
    ),
    Setting(
        "checkpoint.actionsPerPart",
        "checkpoint_actions_per_part",
        whole(1),
        "Actions in one part of a JSON checkpoint",
    ),
    Setting(
        "transaction.compression.enabled",
        "transaction_compression",
        flag,
        "Compress version files; JSON checkpoints always are",
    ),
    Setting(
        "transaction.retry.maxAttempts",
        "transaction_max_attempts",
        whole(1, 1000),
        "Attempts to commit against other writers",
    ),
    Setting(
        "transaction.retry.baseDelayMs",
        "transaction_base_delay_ms",
        whole(0, 60_000),
        "First wait between two attempts",
    ),
    Setting(
        "transaction.retry.maxDelayMs",
        "transaction_max_delay_ms",
        whole(0, 600_000),
        "Longest wait between two attempts",
    ),
    Setting(
        "transaction.cache.expirationSeconds",
        "cache_expiration_s",
        whole(0),
        "How many seconds an unused immutable object stays in memory",
        of_process=True,
    ),
    Setting(
        "transaction.cache.diskFolder",
        "cache_disk_folder",
        folder,
        "Local folder that keeps decoded manifests between processes",
        of_process=True,
    ),
    Setting("state.format", "state_format", one_of("avro", "json"), "avro states, or JSON checkpoints for old readers"),
    Setting(
        "state.compression", "state_compression", one_of("zstd", "snappy", "none"), "Codec of manifests and states"
    ),
    Setting("state.compressionLevel", "state_compression_level", whole(1, 22), "Level of zstd"),
    Setting(
        "state.entriesPerManifest",
        "state_entries_per_manifest",
        whole(1, 10_000_000),
        "Entries in one manifest, at most",
    ),
    Setting(
        "state.read.parallelism",
        "state_read_parallelism",
        whole(1, 256),
        "Manifests read at the same time",
        of_process=True,
    ),
    Setting("state.retry.maxAttempts", "state_max_attempts", whole(1, 1000), "Attempts to write a state"),
    Setting("state.retry.baseDelayMs", "state_base_delay_ms", whole(0, 60_000), "First wait between two attempts"),
    Setting("state.retry.maxDelayMs", "state_max_delay_ms", whole(0, 600_000), "Longest wait between two attempts"),
    Setting(
        "state.schema.renormalizeThreshold",
        "schema_renormalize_threshold",
        whole(0),
        "More document mappings than this are hashed anew at a state",
    ),
    Setting(
        "state.compaction.tombstoneThreshold",
        "compaction_tombstone_threshold",
        share,
        "Share of dead entries above which compaction is due",
    ),
    Setting(
        "state.compaction.maxManifests",
        "compaction_max_manifests",
        whole(1),
        "Manifests above which compaction is due",
    ),
    Setting(
        "state.compaction.largeRemoveThreshold",
        "compaction_large_remove_threshold",
        whole(0),
        "Removes in one commit above which compaction is due",
    ),
    Setting(
        "state.compaction.afterMerge",
        "compaction_after_merge",
        flag,
        "Compact after a merge, however few entries it has made dead",
    ),
    Setting("state.retention.versions", "retention_versions", whole(1), "States that cleaning keeps; 2 at least"),
    Setting("state.retention.hours", "retention_hours", whole(0), "Age below which cleaning keeps every state"),
    Setting(
        "state.gc.minManifestAgeHours",
        "gc_min_manifest_age_hours",
        whole(0),
        "Age below which cleaning keeps every manifest; 20 minutes at least",
    ),
    Setting(
        "purge.txLogRetentionHours",
        "purge_log_retention_hours",
        whole(0),
        "Age below which cleaning keeps every version file",
    ),
    Setting(
        "purge.defaultRetentionHours",
        "purge_file_retention_hours",
        whole(0),
        "Age below which cleaning keeps every data file",
    ),
    Setting(
        "purge.retentionCheckEnabled", "purge_retention_check", flag, "Refuse to clean files younger than 24 hours"
    ),
    Setting(
        "purge.clockSkewMinutes",
        "purge_clock_skew_minutes",
        whole(0, 24 * 60),
        "How far the clocks of the store and of a cleaner may differ: added to every age above; to that of manifests alone "
        "where `purge.retentionCheckEnabled` is false",
    ),
    Setting(
        "purge.deletesPerSecond",
        "purge_deletes_per_second",
        whole(1, 100_000),
        "Objects that one run of cleaning deletes in a second, at most",
    ),
    Setting(
        "purge.quarantineHours",
        "purge_quarantine_hours",
        whole(0, 24 * 3650),
        "Data files and manifests are not deleted but moved to `_headgate/quarantine/`, and deleted after so many hours more; "
        "0: deleted at once",
    ),
    Setting(
        "merge.targetSize",
        "merge_target_bytes",
        size(MIN_MERGE_TARGET_BYTES),
        "Size of merged files that is aimed at where nobody names one; without it 128M, and 5G in MERGE SPLITS",
    ),
    Setting(
        "merge.codec",
        "merge_codec",
        one_of("source", "zstd", "snappy", "gzip", "brotli", "lz4", "none"),
        "Codec of merged files; source is that of the first file that is merged",
    ),
    Setting(
        "merge.minSources",
        "merge_min_sources",
        whole(2, 1_000_000),
        "Small files of one partition that a worker waits for before it merges them, unless fewer fill a file",
    ),
    Setting(
        "merge.maxSourceSplitsPerMerge",
        "merge_max_sources",
        whole(2, 1_000_000),
        "Files that are merged into one, at most",
    ),
    Setting(
        "merge.sortColumns",
        "merge_sort_columns",
        columns,
        "Columns, with commas between them, that each file's rows are sorted by; a merge keeps that order where the files "
        "allow it",
    ),
    Setting(
        "merge.heapSize",
        "merge_heap_bytes",
        size(2 << 20),
        "Bytes of decoded rows that one merge holds in memory, at most",
    ),
    Setting(
        "merge.tempDirectoryPath",
        "merge_temp_folder",
        folder,
        "Local folder for merged files on their way to a store that isn't local, the system's own without one",
        of_process=True,
    ),
    Setting(
        "mergeOnWrite.enabled",
        "merge_on_write",
        flag,
        "Merge small files as soon as enough of them have been written, not when a worker next comes by",
    ),
    Setting(
        "mergeOnWrite.async.enabled",
        "merge_on_write_async",
        flag,
        "Leave it to the workers; false: who commits directly merges before the commit returns",
    ),
    Setting(
        "mergeOnWrite.targetSize",
        "merge_on_write_target_bytes",
        size(MIN_MERGE_TARGET_BYTES),
        "Size of merged files that merges on write aim at; without it that of `merge.targetSize`",
    ),
    Setting(
        "mergeOnWrite.minSplitsToMerge",
        "merge_on_write_min_sources",
        whole(2, 1_000_000),
        "Small files of one partition that are worth a merge on write; without it that of `merge.minSources`",
    ),
    Setting(
        "mergeOnWrite.minBatchesToTrigger",
        "merge_on_write_min_groups",
        whole(1, 10_000),
        "Groups of such files that must have come together before a merge on write begins",
    ),
    Setting(
        "purgeOnWrite.enabled",
        "purge_on_write",
        flag,
        "Clean the table when it was written to, not when a worker next comes by",
    ),
    Setting(
        "purgeOnWrite.async.enabled",
        "purge_on_write_async",
        flag,
        "Leave it to the workers; false: who commits directly cleans before the commit returns",
    ),
    Setting("purgeOnWrite.triggerAfterMerge", "purge_on_write_after_merge", flag, "Clean after files were merged"),
    Setting(
        "purgeOnWrite.triggerAfterWrites",
        "purge_on_write_after_writes",
        whole(0, 1_000_000),
        "Clean after so many commits that changed data; 0: not for that reason",
    ),
    Setting(
        "purgeOnWrite.splitRetentionHours",
        "purge_on_write_file_hours",
        whole(0),
        "Age below which cleaning on write keeps every data file; without it that of `purge.defaultRetentionHours`",
    ),
    Setting(
        "purgeOnWrite.txLogRetentionHours",
        "purge_on_write_log_hours",
        whole(0),
        "Age below which cleaning on write keeps every version file; without it that of `purge.txLogRetentionHours`",
    ),
    Setting(
        "mirror.formats",
        "mirror_formats",
        several_of("delta"),
        "Logs of other formats that a worker with the role `mirror` keeps beside the table, with commas between them: `delta`",
    ),
    Setting(
        "mirror.checkpointInterval",
        "mirror_checkpoint_interval",
        whole(1, 1_000_000),
        "Commits of a mirror between two of its checkpoints",
    ),
    Setting(
        "mirror.retention.hours",
        "mirror_retention_hours",
        whole(0, 24 * 3650),
        "How long a data file stays after the mirror has published its removal, so that readers of the mirror can finish",
    ),
    Setting("stats.truncation.enabled", "stats_truncation", flag, "Shorten long text statistics"),
    Setting("stats.truncation.maxLength", "stats_max_length", whole(1, 100_000), "Characters of a text statistic"),
    Setting(
        "dataSkippingNumIndexedCols",
        "data_skipping_columns",
        whole(-1, 100_000),
        "Columns with statistics; -1 for all",
    ),
    Setting(
        "coordinator.dedupe.window",
        "dedupe_window_hours",
        hours(1, 24 * 365),
        "How long a decision is known by its proposal's id, and a purged path stays forbidden: hours, or days as `7d`",
    ),
    Setting(
        "coordinator.dedupe.maxIds",
        "dedupe_max_ids",
        whole(1_000, 2_000_000),
        "Accepted proposals known by their id, beside those of the last minute, and as many refused ones; each state carries "
        "them, 16 bytes each",
    ),
    Setting(
        "coordinator.writers.max",
        "max_writers",
        whole(1, 10_000),
        "Apps of writers whose sequence numbers a table remembers; others are refused",
    ),
)
