"""The settings of the table log, by the names that the specifications give them, with defaults, bounds and meaning.

They come from a table's configuration, overridden by what a process sets. `indextables.` and `headgate.` prefixes name the
same setting; a Spark configuration puts `spark.` in front.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate_schemas.actions import COORDINATOR_KEY
from headgate_schemas.errors import InvalidInput

PREFIXES = ("spark.indextables.", "spark.headgate.", "indextables.", "headgate.")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its key without prefix, where it lands, how its text is read, and what it means."""

    key: str
    field: str
    parse: Callable[[str], Any]
    meaning: str


@dataclass(frozen=True, slots=True)
class TableOptions:
    checkpoint_enabled: bool = True
    checkpoint_interval: int = 10
    checkpoint_actions_per_part: int = 100_000
    transaction_compression: bool = True
    transaction_max_attempts: int = 10
    transaction_base_delay_ms: int = 100
    transaction_max_delay_ms: int = 5000
    cache_expiration_s: int = 300
    cache_disk_folder: str = ""
    state_format: str = "avro"
    state_compression: str = "zstd"
    state_compression_level: int = 3
    state_entries_per_manifest: int = 50_000
    state_read_parallelism: int = 8
    state_max_attempts: int = 10
    state_base_delay_ms: int = 100
    state_max_delay_ms: int = 5000
    schema_renormalize_threshold: int = 5
    compaction_tombstone_threshold: float = 0.10
    compaction_max_manifests: int = 20
    compaction_large_remove_threshold: int = 2**31 - 1
    compaction_after_merge: bool = True
    retention_versions: int = 2
    retention_hours: int = 168
    gc_min_manifest_age_hours: int = 1
    purge_log_retention_hours: int = 720
    purge_file_retention_hours: int = 168
    purge_retention_check: bool = True
    stats_truncation: bool = True
    stats_max_length: int = 32
    data_skipping_columns: int = 32
    dedupe_window_hours: int = 168
    dedupe_max_ids: int = 200_000
    max_writers: int = 1_000

    @property
    def codec(self) -> str:
        """The Avro name of `state.compression`."""
        return {"zstd": "zstandard", "snappy": "snappy", "none": "null"}[self.state_compression]


def _flag(text: str) -> bool:
    match text.strip().lower():
        case "true" | "1" | "yes":
            return True
        case "false" | "0" | "no":
            return False
        case _:
            raise ValueError("true or false")


def _whole(low: int, high: int = 2**63 - 1) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if text.strip().upper() == "MAX_INT":
            return min(high, 2**31 - 1)
        try:
            value = int(text)
        except ValueError:
            raise ValueError(f"a whole number from {low}") from None
        if not low <= value <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return value

    return parse


def _hours(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        bare = text.strip().lower()
        number, factor = (bare[:-1], 24 if bare[-1] == "d" else 1) if bare.endswith(("d", "h")) else (bare, 1)
        if not (number.isascii() and number.isdigit() and len(number) < 8 and low <= int(number) * factor <= high):
            raise ValueError(f"hours from {low} to {high}, or days as 7d")
        return int(number) * factor

    return parse


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("a number from 0 to 1") from None
    if not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return value


def _folder(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("the absolute path of a local folder")
    return text


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().lower() not in choices:
            raise ValueError(" or ".join(choices))
        return text.strip().lower()

    return parse


SETTINGS: tuple[Setting, ...] = (
    Setting("checkpoint.enabled", "checkpoint_enabled", _flag, "Write states (or JSON checkpoints) at all"),
    Setting(
        "checkpoint.interval",
        "checkpoint_interval",
        _whole(1),
        "Versions between two states; 1 for readers that know states only",
    ),
    Setting(
        "checkpoint.actionsPerPart",
        "checkpoint_actions_per_part",
        _whole(1),
        "Actions in one part of a JSON checkpoint",
    ),
    Setting("transaction.compression.enabled", "transaction_compression", _flag, "Compress version files"),
    Setting(
        "transaction.retry.maxAttempts",
        "transaction_max_attempts",
        _whole(1, 1000),
        "Attempts to commit against other writers",
    ),
    Setting(
        "transaction.retry.baseDelayMs",
        "transaction_base_delay_ms",
        _whole(0, 60_000),
        "First wait between two attempts",
    ),
    Setting(
        "transaction.retry.maxDelayMs",
        "transaction_max_delay_ms",
        _whole(0, 600_000),
        "Longest wait between two attempts",
    ),
    Setting(
        "transaction.cache.expirationSeconds",
        "cache_expiration_s",
        _whole(0),
        "How long an unused immutable object stays in memory",
    ),
    Setting(
        "transaction.cache.diskFolder",
        "cache_disk_folder",
        _folder,
        "Local folder that keeps decoded manifests between processes; only a process can set it, not a table",
    ),
    Setting(
        "state.format", "state_format", _one_of("avro", "json"), "avro states, or JSON checkpoints for old readers"
    ),
    Setting(
        "state.compression", "state_compression", _one_of("zstd", "snappy", "none"), "Codec of manifests and states"
    ),
    Setting("state.compressionLevel", "state_compression_level", _whole(1, 22), "Level of zstd"),
    Setting(
        "state.entriesPerManifest",
        "state_entries_per_manifest",
        _whole(1, 10_000_000),
        "Entries in one manifest, at most",
    ),
    Setting("state.read.parallelism", "state_read_parallelism", _whole(1, 256), "Manifests read at the same time"),
    Setting("state.retry.maxAttempts", "state_max_attempts", _whole(1, 1000), "Attempts to write a state"),
    Setting("state.retry.baseDelayMs", "state_base_delay_ms", _whole(0, 60_000), "First wait between two attempts"),
    Setting("state.retry.maxDelayMs", "state_max_delay_ms", _whole(0, 600_000), "Longest wait between two attempts"),
    Setting(
        "state.schema.renormalizeThreshold",
        "schema_renormalize_threshold",
        _whole(0),
        "More document mappings than this are hashed anew at a state",
    ),
    Setting(
        "state.compaction.tombstoneThreshold",
        "compaction_tombstone_threshold",
        _share,
        "Share of dead entries above which compaction is due",
    ),
    Setting(
        "state.compaction.maxManifests",
        "compaction_max_manifests",
        _whole(1),
        "Manifests above which compaction is due",
    ),
    Setting(
        "state.compaction.largeRemoveThreshold",
        "compaction_large_remove_threshold",
        _whole(0),
        "Removes in one commit above which compaction is due",
    ),
    Setting(
        "state.compaction.afterMerge",
        "compaction_after_merge",
        _flag,
        "Compact after a merge, however few entries it has made dead",
    ),
    Setting("state.retention.versions", "retention_versions", _whole(1), "States that cleaning keeps; 2 at least"),
    Setting("state.retention.hours", "retention_hours", _whole(0), "Age below which cleaning keeps every state"),
    Setting(
        "state.gc.minManifestAgeHours",
        "gc_min_manifest_age_hours",
        _whole(0),
        "Age below which cleaning keeps every manifest; 20 minutes at least",
    ),
    Setting(
        "purge.txLogRetentionHours",
        "purge_log_retention_hours",
        _whole(0),
        "Age below which cleaning keeps every version file",
    ),
    Setting(
        "purge.defaultRetentionHours",
        "purge_file_retention_hours",
        _whole(0),
        "Age below which cleaning keeps every data file",
    ),
    Setting(
        "purge.retentionCheckEnabled", "purge_retention_check", _flag, "Refuse to clean files younger than 24 hours"
    ),
    Setting("stats.truncation.enabled", "stats_truncation", _flag, "Shorten long text statistics"),
    Setting("stats.truncation.maxLength", "stats_max_length", _whole(1, 100_000), "Characters of a text statistic"),
    Setting(
        "dataSkippingNumIndexedCols",
        "data_skipping_columns",
        _whole(-1, 100_000),
        "Columns with statistics; -1 for all",
    ),
    Setting(
        "coordinator.dedupe.window",
        "dedupe_window_hours",
        _hours(1, 24 * 365),
        "How long a decision is known by its proposal's id, and a purged path stays forbidden: hours, or days as `7d`",
    ),
    Setting(
        "coordinator.dedupe.maxIds",
        "dedupe_max_ids",
        _whole(1_000, 2_000_000),
        "Decisions known by their proposal's id, at most; each state carries them, 16 bytes each",
    ),
    Setting(
        "coordinator.writers.max",
        "max_writers",
        _whole(1, 10_000),
        "Apps of writers whose sequence numbers a table remembers; others are refused",
    ),
)

_BY_KEY = {setting.key.lower(): setting for setting in SETTINGS}


def table_options(*sources: Mapping[str, str | None]) -> TableOptions:
    """Options from configurations, later ones first in rank; keys that name no setting of the log are left alone.

    Raises `InvalidInput` for a value that makes no sense, unless another one takes its place.
    """
    given: dict[Setting, tuple[str, str]] = {}
    for source in sources:
        for key, text in source.items():
            setting = _BY_KEY.get(_bare(key).lower())
            if setting is not None and text is not None:
                given[setting] = (key, text)
    values: dict[str, Any] = {}
    for setting, (key, text) in given.items():
        try:
            values[setting.field] = setting.parse(text)
        except ValueError as error:
            raise InvalidInput(f"the setting {key} is {text!r}; it takes {error}") from None
    return TableOptions(**values)


def reserved_key(configuration: Mapping[str, str | None]) -> str | None:
    """A key among these that belongs to the committer, and that nobody else may set or take away."""
    return next((key for key in configuration if key.startswith(COORDINATOR_KEY) and not _is_setting(key)), None)


def _is_setting(key: str) -> bool:
    return _bare(key).lower() in _BY_KEY


def _bare(key: str) -> str:
    for prefix in PREFIXES:
        if key.startswith(prefix):
            return key[len(prefix) :]
    return key
