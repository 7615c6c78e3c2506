"""Every option of `format("headgate")`: its name, values and meaning; and the parsing of the values.

The modules that read or write apply the options. Spark passes their names in lower case.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_TARGET_FILE_BYTES = 256 << 20
"""Large enough for a store's requests not to matter, small enough for many readers to share a table's files."""
DEFAULT_RECEIPT_WITHIN_S = 120.0
"""A committer that restarts or moves is back before."""
MAX_RECEIPT_WITHIN_S = 24 * 3600.0
MAX_OPTION_CHARS = 1 << 20
"""Of one value; options travel with every plan."""

_CODECS = ("snappy", "zstd", "gzip", "lz4", "none")
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30, "gb": 1 << 30}
_SIZE = re.compile(r"([0-9]{1,15})\s*([kmg]?b?)")

SETTING_PREFIXES = ("spark.indextables.", "spark.headgate.", "indextables.", "headgate.")
STORE_PREFIXES = ("s3.", "azure.", "local.", "aws.")
HADOOP_PREFIXES = ("fs.s3a.", "spark.hadoop.fs.s3a.")

_OF_SPARK = frozenset(
    {"paths", "checkpointlocation", "queryname", "header", "inferschema", "basepath"}
    # Spark's catalog keeps these for a table.
    | {"owner", "provider", "location", "comment", "collation", "external", "is_managed_location", "table_type"}
)
"""What Spark, or code that reads any format, passes along without meaning us."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, for the guide and for parsing."""

    name: str
    """As it is documented; any case is understood."""
    field: str
    takes: str
    parse: Callable[[str], Any]
    means: str
    used_in: str
    """write, stream write, read, stream read, read of changes (a plain read with readChangeFeed), or all."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of one read or write. Options that may hold a secret are not shown."""

    path: str = ""
    bus: str | None = field(default=None, repr=False)
    partition_by: tuple[str, ...] | None = None
    replace_where: str | None = None
    partition_overwrite_mode: str = "static"
    merge_schema: bool = False
    target_file_bytes: int | None = None
    compression: str = "snappy"
    receipt_within_s: float = DEFAULT_RECEIPT_WITHIN_S
    version_as_of: int | None = None
    timestamp_as_of: str | None = None
    where: str | None = None
    filter_pushdown: bool = False
    starting_version: int | str | None = None
    starting_timestamp: str | None = None
    max_versions_per_trigger: int | None = None
    max_files_per_trigger: int | None = None
    read_change_feed: bool = False
    ignore_deletes: bool = False
    ignore_changes: bool = False
    skip_change_commits: bool = False
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of the table or its store under their full names, such as `spark.headgate.checkpoint.interval`."""
    store: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Settings of the store, such as `s3.endpoint` and `fs.s3a.endpoint`."""

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "SourceOptions":
        """Raises `InvalidInput` for an invalid value, and for an unknown name."""
        values: dict[str, Any] = {"settings": {}, "store": {}}
        for key, text in options.items():
            name = key.lower()
            if len(text) > MAX_OPTION_CHARS:
                raise _invalid(f"option {key} has {len(text)} characters, more than {MAX_OPTION_CHARS}")
            option = _BY_NAME.get(name)
            if option is not None:
                values[option.field] = _parsed(option, text)
            elif name.startswith(SETTING_PREFIXES):
                values["settings"][name] = text
            elif name.startswith(STORE_PREFIXES + HADOOP_PREFIXES):
                values["store"][name] = text
            elif "." not in name and name not in _OF_SPARK:
                raise _unknown(key)
        return cls(**values)

    def check_path(self) -> None:
        """Raise `InvalidInput` if no table is named."""
        if not self.path:
            raise _invalid(
                "no path of a table was given: load('s3://bucket/table') or save('s3://bucket/table'). Of a table in its catalog "
                "(CREATE TABLE ... USING headgate) Spark doesn't tell a Python source where it lies: write SELECT ... FROM t WITH "
                "(path = 's3://bucket/table'), or CREATE TEMPORARY VIEW t USING headgate OPTIONS (path 's3://bucket/table')"
            )

    def texts(self) -> dict[str, str]:
        """The settings of table and store together, for callers that pass all of them on."""
        return {**self.settings, **self.store}


def _parsed(option: Option, text: str) -> Any:
    try:
        return option.parse(text.strip())
    except ValueError:
        raise _invalid(f"option {option.name} is {text[:200]!r}; it takes {option.takes}") from None


def _unknown(key: str) -> Exception:
    near = difflib.get_close_matches(key.lower(), _BY_NAME, n=1, cutoff=0.6)
    hint = f"did you mean {_BY_NAME[near[0]].name}?" if near else f"known are {', '.join(o.name for o in OPTIONS)}"
    return _invalid(f"there is no option {key[:200]!r} of the format headgate; {hint}")


def _invalid(message: str) -> Exception:
    # Options are parsed where Headgate is installed; executors get their values.
    from headgate_schemas.errors import InvalidInput

    return InvalidInput(message)


def _plain(text: str) -> str:
    if not text:
        raise ValueError
    return text


def _switch(text: str) -> bool:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            raise ValueError


def _columns(text: str) -> tuple[str, ...]:
    """`a, b`, or a JSON list for names that hold commas. Empty: none."""
    if text.startswith("["):
        names = json.loads(text)
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise ValueError
        return tuple(names)
    names = [name.strip() for name in text.split(",")] if text else []
    if not all(names):
        raise ValueError
    return tuple(names)


def _size(text: str) -> int:
    match = _SIZE.fullmatch(text.lower())
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 0 < size < 2**62:
        raise ValueError
    return size


def _count(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**62:
        raise ValueError
    return number


def _positive(text: str) -> int:
    number = _count(text)
    if number == 0:
        raise ValueError
    return number


def _start(text: str) -> int | str:
    return text.lower() if text.lower() in ("latest", "earliest") else _count(text)


def _seconds(text: str) -> float:
    seconds = float(text.lower().removesuffix("s"))
    if not 0 < seconds <= MAX_RECEIPT_WITHIN_S:
        raise ValueError
    return seconds


def _one_of(*known: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in known:
            raise ValueError
        return text.lower()

    return parse


def _codec(text: str) -> str:
    return "none" if text.lower() == "uncompressed" else _one_of(*_CODECS)(text)


OPTIONS = (
    Option("path", "path", "the table's address", _plain, "The table, as in `load(uri)` and `save(uri)`.", "all"),
    Option(
        "bus",
        "bus",
        "the address of a bus",
        _plain,
        "Where commits are proposed, such as `kafka://broker:9092`. Without it, batch writes commit directly.",
        "write, stream write",
    ),
    Option(
        "partitionBy",
        "partition_by",
        "column names, as in `a, b`, or none",
        _columns,
        "By which columns a table that isn't there yet is partitioned; must agree with one that is.",
        "write, stream write",
    ),
    Option(
        "replaceWhere",
        "replace_where",
        "a predicate on partition columns",
        _plain,
        "With mode overwrite: replaces only what matches, and takes only rows that match.",
        "write",
    ),
    Option(
        "partitionOverwriteMode",
        "partition_overwrite_mode",
        "static or dynamic",
        _one_of("static", "dynamic"),
        "With mode overwrite, `dynamic` replaces only partitions that rows are written to.",
        "write",
    ),
    Option(
        "mergeSchema",
        "merge_schema",
        "true or false",
        _switch,
        "Adds columns that the table lacks to its schema, as nullable ones at its end.",
        "write, stream write",
    ),
    Option(
        "targetFileSize",
        "target_file_bytes",
        "a size, such as 256MB",
        _size,
        "About how large a file becomes before another is begun (default 256MB).",
        "write, stream write",
    ),
    Option(
        "compression",
        "compression",
        f"one of {', '.join(_CODECS)}",
        _codec,
        "The codec of Parquet files (default snappy).",
        "write, stream write",
    ),
    Option(
        "codec",
        "compression",
        f"one of {', '.join(_CODECS)}",
        _codec,
        "Another name of `compression`.",
        "write, stream write",
    ),
    Option(
        "receiptWithin",
        "receipt_within_s",
        "seconds, up to a day",
        _seconds,
        "How long a commit waits for its receipt, asking again with the same proposal (default 120).",
        "write, stream write",
    ),
    Option("versionAsOf", "version_as_of", "a version", _count, "Reads the table as of that version.", "read"),
    Option(
        "timestampAsOf",
        "timestamp_as_of",
        "a time in ISO 8601, or epoch milliseconds",
        _plain,
        "Reads the newest version of that time.",
        "read",
    ),
    Option(
        "where",
        "where",
        "a predicate",
        _plain,
        "Reads only rows that match, and opens only files that may hold some, by partitions and statistics.",
        "read",
    ),
    Option(
        "filterPushdown",
        "filter_pushdown",
        "true or false",
        _switch,
        "Leaves out files and rows by the filters that Spark pushes to Python sources, where "
        "`spark.sql.python.filterPushdown.enabled` is on. For a DataFrame that is used once: Spark 4 shows other queries of it "
        "only what the last filters left.",
        "read",
    ),
    Option(
        "startingVersion",
        "starting_version",
        "a version, earliest or latest",
        _start,
        "The first version whose changes are read. A stream without it begins with the table as it stands.",
        "stream read, read of changes",
    ),
    Option(
        "startingTimestamp",
        "starting_timestamp",
        "a time in ISO 8601, or epoch milliseconds",
        _plain,
        "Reads the changes from that time on.",
        "stream read, read of changes",
    ),
    Option(
        "maxVersionsPerTrigger",
        "max_versions_per_trigger",
        "a number above 0",
        _positive,
        "How many versions one micro-batch takes at most (default 1000).",
        "stream read",
    ),
    Option(
        "maxFilesPerTrigger",
        "max_files_per_trigger",
        "a number above 0",
        _positive,
        "How many files one micro-batch takes at most (default 1000).",
        "stream read",
    ),
    Option(
        "readChangeFeed",
        "read_change_feed",
        "true or false",
        _switch,
        "Reads removed rows as well, with the columns `_change_type`, `_commit_version` and `_commit_timestamp`.",
        "stream read, read of changes",
    ),
    Option(
        "ignoreDeletes",
        "ignore_deletes",
        "true or false",
        _switch,
        "Passes over versions that only remove rows; without it, they end the query.",
        "stream read",
    ),
    Option(
        "ignoreChanges",
        "ignore_changes",
        "true or false",
        _switch,
        "Of versions that remove rows, reads those that they add: what replaces rows comes again.",
        "stream read",
    ),
    Option(
        "skipChangeCommits",
        "skip_change_commits",
        "true or false",
        _switch,
        "Known from elsewhere, and refused: a version may hold appends of others beside what removes rows.",
        "stream read",
    ),
)
"""All there are, in the order of the guide."""

_BY_NAME = {option.name.lower(): option for option in OPTIONS}
