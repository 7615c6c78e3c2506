"""The operations on a table, and their outcomes. One operation changes one table, atomically or not at all.

Predicates are texts. Other modules encode operations as messages, and the table room decides their effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_schemas.columns.file_columns import FileColumns
from headgate_schemas.milvus import Resolver, Updates

MAX_SEQ = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Writer:
    """The name of an application and its own counter. A `seq` that was committed once is never committed again.

    Examples:
        >>> headgate.Writer("nightly", seq=17)
        Writer(app='nightly', seq=17)
    """

    app: str
    seq: int


@dataclass(frozen=True, slots=True)
class Create:
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    table_id: str | None = None


@dataclass(frozen=True, slots=True)
class Append:
    files: tuple[AddFile, ...]
    columns: tuple[FileColumns, ...] = ()
    """What the author has read of the files' columns, which may be nothing."""


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Remove all files that match `where` (all, without it) at commit time, and add files."""

    files: tuple[AddFile, ...]
    where: str | None = None
    columns: tuple[FileColumns, ...] = ()


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove named files, or all files that match `where` at commit time."""

    paths: tuple[str, ...] = ()
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    """Make the live files those of an earlier version again."""

    version: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replace files with files that hold the same records."""

    removes: tuple[str, ...]
    adds: tuple[AddFile, ...]
    columns: tuple[FileColumns, ...] = ()


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave these files alone for a while."""

    skips: tuple[SkipFile, ...]


@dataclass(frozen=True, slots=True)
class Alter:
    """Change metadata. A configuration value of None removes the key."""

    based_on: int
    configuration: Mapping[str, str | None] = field(default_factory=dict)
    description: str | None = None
    name: str | None = None
    schema_string: str | None = None


@dataclass(frozen=True, slots=True)
class Purge:
    """Forbid these paths for good, so that their files may be deleted."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompactState:
    """Swap manifests of the state `base` for others with the same live entries.

    `tombstones` are those that the swap makes unnecessary: the new manifests don't have their entries.
    """

    base: int
    removes: tuple[str, ...]
    adds: tuple["NewManifest", ...]
    tombstones: tuple[str, ...] = ()
    mappings: Mapping[str, str] = field(default_factory=dict)
    """Document mappings, by bare hash, that the new manifests refer to under names that the table doesn't know yet."""


@dataclass(frozen=True, slots=True)
class NewManifest:
    """A manifest that compaction has written."""

    path: str
    num_entries: int
    min_added_at_version: int
    max_added_at_version: int
    total_bytes: int
    partition_bounds: Mapping[str, tuple[str | None, str | None]] | None = None


@dataclass(frozen=True, slots=True)
class Milvus:
    """One transaction on a Milvus table. `read_version` is required unless it merges; 0 is a table without manifests."""

    updates: Updates
    resolver: Resolver = Resolver.MERGE
    read_version: int | None = None


class Isolation(Enum):
    """The condition under which a proposal that read the table may still commit."""

    SNAPSHOT = "snapshot"
    """Nothing: what it adds and removes is judged by itself."""
    SERIALIZABLE = "serializable"
    """No later commit changed the data of files that match what was read."""


@dataclass(frozen=True, slots=True)
class ReadSet:
    """What a serializable proposal has read: the files that match `reads` (all, without it) at version `based_on`."""

    based_on: int
    reads: str | None = None


Operation = Create | Append | Overwrite | Delete | Restore | Rewrite | Skip | Alter | Purge | CompactState | Milvus


class RejectCode(Enum):
    """Why a proposal was refused. docs/messages.md says what each means and what to do.

    Examples:
        >>> headgate.RejectCode("path_in_use")
        <RejectCode.PATH_IN_USE: 'path_in_use'>
    """

    ALREADY_EXISTS = "already_exists"
    PATH_IN_USE = "path_in_use"
    PARTITION_MISMATCH = "partition_mismatch"
    SCHEMA_MISMATCH = "schema_mismatch"
    OUTSIDE_WHERE = "outside_where"
    NOT_A_PARTITION = "not_a_partition"
    NOT_LIVE = "not_live"
    GONE = "gone"
    SOURCE_GONE = "source_gone"
    RECORDS_DIFFER = "records_differ"
    METADATA_CHANGED = "metadata_changed"
    SCHEMA_CHANGE = "schema_change"
    STILL_NEEDED = "still_needed"
    BASE_GONE = "base_gone"
    READ_CONFLICT = "read_conflict"
    RESOLVER_REFUSED = "resolver_refused"
    INVALID = "invalid"
    EXPIRED = "expired"
    SEQ_SKIPPED = "seq_skipped"
    SUPERSEDED = "superseded"
    UNREADABLE = "unreadable"
    UNKNOWN_TABLE = "unknown_table"
    MISPLACED = "misplaced"
    OVER_BOUND = "over_bound"


@dataclass(frozen=True, slots=True)
class Committed:
    """The change is in exactly this version.

    Examples:
        >>> headgate.Committed(version=1, proposal_id="x")
        Committed(version=1, proposal_id='x')
    """

    version: int
    proposal_id: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The change was committed before, in this version.

    Examples:
        >>> headgate.Duplicate(version=1, proposal_id="x")
        Duplicate(version=1, proposal_id='x')
    """

    version: int
    proposal_id: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The change is in no version. For `EXPIRED` and `SUPERSEDED`, nobody can tell whether an earlier attempt is in one.

    Examples:
        >>> match headgate.Rejected(headgate.RejectCode.NOT_LIVE, "a.parquet is not live", "x"):
        ...     case headgate.Rejected(code=code, reason=reason):
        ...         print(f"{code.value}: {reason}")
        not_live: a.parquet is not live
    """

    code: RejectCode
    reason: str
    proposal_id: str


Receipt = Committed | Duplicate | Rejected
