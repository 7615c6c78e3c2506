"""The effect of an operation on a table, or the reason for its rejection: pure rules for direct commits and the
committer.

The caller gathers `Evidence` about exactly the paths and the predicate that an operation names (`questions`); nothing
here reads the whole set of live files.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import assert_never

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, Metadata, RemoveFile, SkipFile
from headgate_schemas.columns.column_kinds import FLOATING, ColumnKind, kinds_of
from headgate_schemas.columns.file_columns import FileColumns, columns_misfit
from headgate_schemas.columns.table_schema import additive_evolution, column_kinds
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    CompactState,
    Create,
    Delete,
    Milvus,
    NewManifest,
    Operation,
    Overwrite,
    Purge,
    RejectCode,
    Restore,
    Rewrite,
    Skip,
)
from headgate_schemas.predicates.partition_text import covering, stored_value
from headgate_schemas.predicates.partition_values import misfit, partition_types
from headgate_schemas.predicates.tree import Predicate, columns
from headgate_table.coordination.memory import MAX_PURGED
from headgate_table.coordination.refusals import Refusal
from headgate_table.indextables.format.names import LOG, MANIFESTS, is_manifest_name, manifest_path
from headgate_table.settings.option_conflicts import new_problem
from headgate_table.settings.options import reserved_key, table_options
from headgate_table.store.paths import check_key

_OWN_FOLDERS = frozenset((LOG, "_headgate", "_metadata"))


class Blocked(Enum):
    """The reason why a path that isn't live can't be added either."""

    TOMBSTONED = "a removed file that a state still lists"
    REMOVED = "removed in a version that is still retained"
    RETAINED = "still named by a version that is kept"
    UNTOLD = "perhaps named by a version that is kept and can't be read; `headgate table verify` tells which that is"
    PURGED = "purged, its file may be deleted at any time"


@dataclass(frozen=True, slots=True)
class LiveFile:
    """The facts of a live file that `decide` needs."""

    path: str
    partition_values: Mapping[str, str]
    size: int
    num_records: int | None


@dataclass(frozen=True, slots=True)
class Questions:
    """The facts that the caller must find before it calls `decide`."""

    paths: tuple[str, ...] = ()
    where: Predicate | None = None
    everything: bool = False
    """All live files match (an overwrite without `where`)."""
    version: int | None = None
    """The live files of this version are wanted (restore)."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Facts about the table at the version to which the operation would be applied."""

    live: Mapping[str, LiveFile] = field(default_factory=dict)
    blocked: Mapping[str, Blocked] = field(default_factory=dict)
    matched: Sequence[LiveFile] = ()
    restored: Mapping[str, AddFile] | None = None
    """The files of the version to restore; None when it can't be rebuilt or one of them is deleted."""
    metadata_version: int = 0
    """The version that changed metadata last."""
    manifests: frozenset[str] = frozenset()
    """The manifests that the newest state refers to, as it names them."""
    swap_differs: str | None = None
    """What differs between a swap's manifests and the live set of its base, or may; None when nothing does."""
    conflict: str | None = None
    """What was changed since that a serializable proposal has read; None when nothing was, or when it doesn't matter."""
    can_purge: bool = True
    """Whether the table can remember that these paths are purged."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The content of an accepted operation's version: removes first, then adds, then the rest."""

    removes: tuple[RemoveFile, ...] = ()
    adds: tuple[AddFile, ...] = ()
    metadata: Metadata | None = None
    skips: tuple[SkipFile, ...] = ()
    purged: tuple[str, ...] = ()
    swap: CompactState | None = None
    re_adds: bool = False
    """Removed paths come back, so a state has to follow at once (docs/format.md, section 5.3)."""


class _Refused(Exception):
    def __init__(self, code: RejectCode, reason: str) -> None:
        self.refusal = Refusal(code, reason)
        super().__init__(reason)


def questions(operation: Operation, metadata: Metadata) -> Questions | Refusal:
    """The facts that the decision needs; or the reason if the operation is refused in any case, so that no lookup is
    made.
    """
    try:
        match operation:
            case Append(files):
                return Questions(paths=_paths(files))
            case Overwrite(files, where):
                predicate = None if where is None else _partition_predicate(where, metadata)
                return Questions(paths=_paths(files), where=predicate, everything=where is None)
            case Delete(paths, where):
                return Questions(paths=paths, where=None if where is None else _partition_predicate(where, metadata))
            case Rewrite(removes, adds):
                return Questions(paths=(*removes, *_paths(adds)))
            case Restore(version):
                return Questions(everything=True, version=version)
            case Purge(paths):
                return Questions(paths=paths)
            case CompactState(adds=adds):
                _check_manifest_paths(adds)
                return Questions()
            case Create() | Skip() | Alter() | Milvus():
                return Questions()
            case _:
                assert_never(operation)
    except _Refused as refused:
        return refused.refusal
    except InvalidInput as error:
        return Refusal(RejectCode.INVALID, str(error))


def decide(operation: Operation, metadata: Metadata, evidence: Evidence, now_ms: int) -> Effect | Refusal:
    """The effect of `operation`, or the reason why it is refused. `now_ms` only dates removes; no decision depends on
    it.
    """
    if evidence.conflict is not None:
        return Refusal(RejectCode.READ_CONFLICT, evidence.conflict)
    try:
        match operation:
            case Create():
                return Refusal(RejectCode.ALREADY_EXISTS, f"the table exists already, with id {metadata.id}")
            case Append(files):
                _check_adds(files, metadata, evidence)
                _check_partition_values(files, metadata)
                _check_columns(operation.columns, metadata)
                return Effect(adds=files)
            case Overwrite():
                return _overwrite(operation, metadata, evidence, now_ms)
            case Delete():
                return _delete(operation, metadata, evidence, now_ms)
            case Rewrite():
                return _rewrite(operation, metadata, evidence, now_ms)
            case Restore():
                return _restore(operation, evidence, now_ms)
            case Skip(skips):
                return Effect(skips=skips)
            case Alter():
                return _alter(operation, metadata, evidence)
            case Purge():
                return _purge(operation, evidence)
            case CompactState():
                return _compact(operation, evidence)
            case Milvus():
                return Refusal(
                    RejectCode.INVALID, "this table is a log of versions, not of Milvus manifests: append files instead"
                )
            case _:
                assert_never(operation)
    except _Refused as refused:
        return refused.refusal
    except InvalidInput as error:
        return Refusal(RejectCode.INVALID, str(error))


def _overwrite(operation: Overwrite, metadata: Metadata, evidence: Evidence, now_ms: int) -> Effect:
    if operation.where is not None:
        is_inside = covering(_partition_predicate(operation.where, metadata), _kinds(metadata))
        for file in operation.files:
            if not is_inside(file.partition_values):
                raise _Refused(
                    RejectCode.OUTSIDE_WHERE,
                    f"{file.path} with partition {dict(file.partition_values)} lies outside of the overwritten range: {operation.where}",
                )
    _check_adds(operation.files, metadata, evidence)
    _check_partition_values(operation.files, metadata)
    _check_columns(operation.columns, metadata)
    return Effect(removes=_removes(evidence.matched, now_ms, data_change=True), adds=operation.files)


def _delete(operation: Delete, metadata: Metadata, evidence: Evidence, now_ms: int) -> Effect:
    if operation.where is not None and operation.paths:
        raise _Refused(RejectCode.INVALID, "a delete names paths or a predicate, not both")
    if operation.where is not None:
        _partition_predicate(operation.where, metadata)
        return Effect(removes=_removes(evidence.matched, now_ms, data_change=True))
    files = [_live(path, evidence, RejectCode.NOT_LIVE) for path in _distinct(operation.paths)]
    return Effect(removes=_removes(files, now_ms, data_change=True))


def _rewrite(operation: Rewrite, metadata: Metadata, evidence: Evidence, now_ms: int) -> Effect:
    sources = [_live(path, evidence, RejectCode.SOURCE_GONE) for path in _distinct(operation.removes)]
    if not sources:
        raise _Refused(RejectCode.INVALID, "a rewrite names no source")
    _check_adds(operation.adds, metadata, evidence)
    kinds = {column: kind for column, kind in _kinds(metadata).items() if column in metadata.partition_columns}
    allowed = {_partition_key(source.partition_values, metadata, kinds) for source in sources}
    for add in operation.adds:
        if _partition_key(add.partition_values, metadata, kinds) not in allowed:
            raise _Refused(
                RejectCode.PARTITION_MISMATCH,
                f"{add.path} has partition {dict(add.partition_values)}, which none of the rewritten files has",
            )
    _check_columns(operation.columns, metadata)
    _check_same_records([source.num_records for source in sources], [add.num_records for add in operation.adds])
    adds = tuple(replace(add, data_change=False) for add in operation.adds)
    return Effect(removes=_removes(sources, now_ms, data_change=False), adds=adds)


def _check_same_records(before: Sequence[int | None], after: Sequence[int | None]) -> None:
    """Check the counts as far as they are known. Without an output, the sources must certainly have no rows."""
    old, new = sum(value or 0 for value in before), sum(value or 0 for value in after)
    if not after and None in before:
        raise _Refused(
            RejectCode.RECORDS_DIFFER,
            "the rewrite has no output, but nobody knows how many records its sources hold: delete them, if they shall go",
        )
    if (old > new and None not in after) or (new > old and None not in before):
        raise _Refused(RejectCode.RECORDS_DIFFER, f"the rewritten files hold {old} records, their replacements {new}")


def _restore(operation: Restore, evidence: Evidence, now_ms: int) -> Effect:
    if evidence.restored is None:
        raise _Refused(
            RejectCode.GONE, f"version {operation.version} or one of its files is gone, so it can't be restored"
        )
    live = {file.path: file for file in evidence.matched}
    removes = [file for path, file in live.items() if path not in evidence.restored]
    # Rows come back, also in files that a merge had added without changing data.
    adds = tuple(replace(file, data_change=True) for path, file in evidence.restored.items() if path not in live)
    return Effect(removes=_removes(removes, now_ms, data_change=True), adds=adds, re_adds=bool(adds))


def _alter(operation: Alter, metadata: Metadata, evidence: Evidence) -> Effect:
    if evidence.metadata_version > operation.based_on:
        raise _Refused(
            RejectCode.METADATA_CHANGED,
            f"the metadata changed in version {evidence.metadata_version}, after {operation.based_on}: read it again",
        )
    reserved = reserved_key(operation.configuration)
    if reserved is not None:
        raise _Refused(RejectCode.INVALID, f"{reserved} belongs to the committer and can't be set")
    # once in the table, a setting that this check refuses would stop every later commit
    table_options(operation.configuration)
    schema_string = metadata.schema_string
    if operation.schema_string is not None:
        reason = additive_evolution(metadata.schema_string, operation.schema_string)
        if reason is not None:
            raise _Refused(RejectCode.SCHEMA_CHANGE, reason)
        schema_string = operation.schema_string
    configuration = {key: value for key, value in metadata.configuration.items() if key not in operation.configuration}
    configuration |= {key: value for key, value in operation.configuration.items() if value is not None}
    problem = new_problem(metadata.configuration, operation.configuration, configuration)
    if problem is not None:
        raise _Refused(RejectCode.INVALID, problem)
    changed = replace(
        metadata,
        configuration=configuration,
        schema_string=schema_string,
        description=metadata.description if operation.description is None else operation.description,
        name=metadata.name if operation.name is None else operation.name,
    )
    return Effect(metadata=changed)


def _purge(operation: Purge, evidence: Evidence) -> Effect:
    for path in operation.paths:
        if path in evidence.live:
            raise _Refused(RejectCode.STILL_NEEDED, f"{path} is live")
        blocked = evidence.blocked.get(path)
        if blocked is not None and blocked is not Blocked.PURGED:
            raise _Refused(RejectCode.STILL_NEEDED, f"{path} is {blocked.value}")
    if not evidence.can_purge:
        raise _Refused(
            RejectCode.OVER_BOUND,
            f"the table remembers {MAX_PURGED} purged paths at most, for the time of `coordinator.dedupe.window`; "
            f"purge fewer, or wait until older ones are forgotten",
        )
    return Effect(purged=_distinct(operation.paths))


def _compact(operation: CompactState, evidence: Evidence) -> Effect:
    gone = [path for path in operation.removes if path not in evidence.manifests]
    if gone:
        raise _Refused(
            RejectCode.BASE_GONE, f"the newest state no longer refers to {gone[0]}: plan the compaction again"
        )
    if evidence.swap_differs is not None:
        raise _Refused(
            RejectCode.BASE_GONE, f"the new manifests don't hold the same live files for sure: {evidence.swap_differs}"
        )
    return Effect(swap=operation)


def _check_adds(files: Sequence[AddFile], metadata: Metadata, evidence: Evidence) -> None:
    seen: set[str] = set()
    expected = set(metadata.partition_columns)
    for file in files:
        check_key(file.path)
        # File systems that ignore case take other spellings for the same folder.
        if file.path.partition("/")[0].casefold() in _OWN_FOLDERS and "/" in file.path:
            raise _Refused(RejectCode.INVALID, f"{file.path} lies in a folder that is not for data files")
        if file.path in seen:
            raise _Refused(RejectCode.PATH_IN_USE, f"{file.path} is added twice")
        seen.add(file.path)
        if set(file.partition_values) != expected:
            raise _Refused(
                RejectCode.PARTITION_MISMATCH,
                f"{file.path} has the partition columns {sorted(file.partition_values)}, the table has {sorted(expected)}",
            )
        if file.path in evidence.live:
            raise _Refused(RejectCode.PATH_IN_USE, f"{file.path} is live already")
        blocked = evidence.blocked.get(file.path)
        if blocked is not None:
            raise _Refused(RejectCode.PATH_IN_USE, f"{file.path} is {blocked.value}; write the file under a new name")


def _check_partition_values(files: Sequence[AddFile], metadata: Metadata) -> None:
    """Whether readers can show the values. A rewrite stays in the partitions of its sources, however other writers
    spell them.
    """
    types = partition_types(metadata.schema_string, tuple(metadata.partition_columns))
    for file in files:
        for wanted in types:
            problem = misfit(file.partition_values.get(wanted.column), wanted)
            if problem is not None:
                raise _Refused(
                    RejectCode.PARTITION_MISMATCH,
                    f"{file.path}: {problem}, so that nobody could read the file; give a value that fits",
                )


def _check_columns(columns: Iterable[FileColumns], metadata: Metadata) -> None:
    """Whether readers can read the files as the table's columns, according to the author's description of the files."""
    if metadata.format_provider != "parquet":
        return
    partition_columns = tuple(metadata.partition_columns)
    for each in columns:
        problem = columns_misfit(each.types, each.nulls, metadata.schema_string, partition_columns)
        if problem is not None:
            raise _Refused(
                RejectCode.SCHEMA_MISMATCH, f"{each.path}: {problem}; write the file in the table's columns and types"
            )


def _partition_predicate(where: str, metadata: Metadata) -> Predicate:
    """Raises `PredicateError` for unreadable text, or if a literal doesn't fit its column."""
    from headgate_schemas.predicates.text import parse_predicate  # imports sqlglot, which only predicates need

    predicate = parse_predicate(where)
    for column in sorted(columns(predicate)):
        if column not in metadata.partition_columns:
            known = ", ".join(metadata.partition_columns) or "none: the table is not partitioned"
            raise _Refused(
                RejectCode.NOT_A_PARTITION,
                f"{column!r} in the predicate is no partition column, so it can't select whole files; partition columns: {known}",
            )
    covering(predicate, _kinds(metadata))
    return predicate


def _kinds(metadata: Metadata) -> Mapping[str, ColumnKind]:
    return kinds_of(column_kinds(metadata.schema_string))


def _check_manifest_paths(manifests: Sequence[NewManifest]) -> None:
    """Manifests have a fixed place, so that no path leads out of the log, and cleaning recognises them."""
    for manifest in manifests:
        folder, _, name = manifest.path.rpartition("/")
        if folder != MANIFESTS or not is_manifest_name(name):
            raise _Refused(
                RejectCode.INVALID,
                f"{manifest.path!r} is no path of a new manifest; they are {manifest_path('<id>')}, with digits and small letters",
            )


def _live(path: str, evidence: Evidence, code: RejectCode) -> LiveFile:
    file = evidence.live.get(path)
    if file is None:
        raise _Refused(code, f"{path} is not live")
    return file


def _removes(files: Iterable[LiveFile], now_ms: int, *, data_change: bool) -> tuple[RemoveFile, ...]:
    return tuple(
        RemoveFile(
            path=file.path,
            deletion_timestamp=now_ms,
            data_change=data_change,
            extended_file_metadata=True,
            partition_values=file.partition_values,
            size=file.size,
        )
        for file in files
    )


def _partition_key(
    values: Mapping[str, str], metadata: Metadata, kinds: Mapping[str, ColumnKind]
) -> tuple[object, ...]:
    """Equal for partitions whose rows read alike, however their values are spelled."""
    return tuple(
        _partition_identity(values.get(column), kinds.get(column, ColumnKind.STRING))
        for column in metadata.partition_columns
    )


def _partition_identity(stored: str | None, kind: ColumnKind) -> object:
    if stored is None or stored in ("", NULL_PARTITION):
        return None
    value = stored_value(stored, kind)
    if value is None:
        return stored  # not a value of the column: equal only to itself
    # Rows keep the sign of a zero, although comparisons ignore it.
    return (value, stored.startswith("-")) if kind in FLOATING else value


def _paths(files: Iterable[AddFile]) -> tuple[str, ...]:
    return tuple(file.path for file in files)


def _distinct(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(paths))
