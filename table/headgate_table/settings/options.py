"""The settings of the table log under the specifications' names, with their defaults; `option_list` has bounds and meaning.

They come from a table's configuration, overridden by the process's own settings. The prefixes `indextables.` and
`headgate.` name the same setting; a Spark configuration adds `spark.` in front.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate_schemas.actions.actions import COORDINATOR_KEY
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.option_list import SETTINGS as SETTINGS
from headgate_table.settings.option_list import Setting as Setting

PREFIXES = ("spark.indextables.", "spark.headgate.", "indextables.", "headgate.")
MIN_FILE_AGE_HOURS = 24
"""The youngest age at which files that no version names are deleted, unless a setting says that less is meant."""


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
    merge_target_bytes: int | None = None
    merge_codec: str = "source"
    merge_min_sources: int = 5
    merge_max_sources: int = 1_000
    merge_sort_columns: tuple[str, ...] = ()
    merge_heap_bytes: int = 64 << 20
    merge_temp_folder: str = ""
    merge_on_write: bool = False
    merge_on_write_async: bool = True
    merge_on_write_target_bytes: int | None = None
    merge_on_write_min_sources: int | None = None
    merge_on_write_min_groups: int = 1
    purge_on_write: bool = False
    purge_on_write_async: bool = True
    purge_on_write_after_merge: bool = True
    purge_on_write_after_writes: int = 0
    purge_on_write_file_hours: int | None = None
    purge_on_write_log_hours: int | None = None
    purge_clock_skew_minutes: int = 15
    purge_deletes_per_second: int = 1_000
    purge_quarantine_hours: int = 0
    mirror_formats: tuple[str, ...] = ()
    mirror_checkpoint_interval: int = 100
    mirror_retention_hours: int = 168
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


_BY_KEY = {setting.key.lower(): setting for setting in SETTINGS}


def table_options(*sources: Mapping[str, str | None]) -> TableOptions:
    """Options from configurations; later ones override earlier ones. Other keys are ignored.

    Raises `InvalidInput` for an invalid value, unless a later one replaces it.
    """
    given: dict[Setting, tuple[str, str]] = {}
    for source in sources:
        for key, text in source.items():
            setting = _BY_KEY.get(bare_key(key).lower())
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
    """A key among these that belongs to the committer, and that nobody else may set or remove."""
    return next((key for key in configuration if key.startswith(COORDINATOR_KEY) and not _is_setting(key)), None)


def _is_setting(key: str) -> bool:
    return bare_key(key).lower() in _BY_KEY


def bare_key(key: str) -> str:
    """A setting's key without its prefix."""
    for prefix in PREFIXES:
        if key.startswith(prefix):
            return key[len(prefix) :]
    return key
