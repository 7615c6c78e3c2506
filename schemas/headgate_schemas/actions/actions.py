"""The actions of a table log as values: protocol, metadata, added, removed and skipped files, commit info.

`action_json` is their JSON form; `entry_fields` the Avro form of live files. Times are epoch milliseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""How writers store a null partition value (docs/format.md, section 7)."""


class StoredTexts(dict[str, str]):
    """Partition values in the stored form of a log. Functions that expect plain values don't convert them a second
    time.
    """

    __slots__ = ()


COORDINATOR_KEY = "headgate.coordinator"
"""Where the configuration of a state's metadata carries what its committer must not forget."""

MAX_PROTOCOL_VERSION = 4
"""The newest protocol that we read and write."""


@dataclass(frozen=True, slots=True)
class Protocol:
    min_reader_version: int = MAX_PROTOCOL_VERSION
    min_writer_version: int = MAX_PROTOCOL_VERSION
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    id: str
    schema_string: str
    """The table's columns as Spark's JSON; `table_schema` turns it into Arrow and back."""
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    format_provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None
    coordinator: str | None = field(default=None, compare=False, repr=False)
    """What stands in the configuration under `COORDINATOR_KEY`: no part of it, nor of what the metadata says."""


@dataclass(frozen=True, slots=True)
class AddFile:
    """A file that becomes live: the columns of `entry_fields`, and the few fields that exist only in version files."""

    path: str
    partition_values: Mapping[str, str]
    size: int
    modification_time: int
    data_change: bool = True
    stats: str | None = None
    min_values: Mapping[str, str] | None = None
    max_values: Mapping[str, str] | None = None
    num_records: int | None = None
    footer_start_offset: int | None = None
    footer_end_offset: int | None = None
    has_footer_offsets: bool = False
    delete_opstamp: int | None = None
    split_tags: tuple[str, ...] | None = None
    num_merge_ops: int | None = None
    doc_mapping_json: str | None = None
    doc_mapping_ref: str | None = None
    uncompressed_size_bytes: int | None = None
    time_range_start: str | None = None
    time_range_end: str | None = None
    companion_source_files: tuple[str, ...] | None = None
    companion_delta_version: int | None = None
    companion_fast_field_mode: str | None = None
    tags: Mapping[str, str] | None = None
    hotcache_start_offset: int | None = None
    hotcache_length: int | None = None


@dataclass(frozen=True, slots=True)
class RemoveFile:
    path: str
    deletion_timestamp: int | None = None
    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str] | None = None
    size: int | None = None
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class SkipFile:
    """A file that maintenance should leave alone for a while ("mergeskip" in the log)."""

    path: str
    skip_timestamp: int
    reason: str
    operation: str
    partition_values: Mapping[str, str] | None = None
    size: int | None = None
    retry_after: int | None = None
    skip_count: int = 1


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """The author and the decisions of a version. Known other readers ignore the line (docs/format.md, section 3)."""

    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UnknownAction:
    """A line with an unknown action; kept so that `describe` can show it, otherwise without effect."""

    key: str


Action = Protocol | Metadata | AddFile | RemoveFile | SkipFile | CommitInfo | UnknownAction
