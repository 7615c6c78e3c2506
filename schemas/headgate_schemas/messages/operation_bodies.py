"""Operations in messages: one model each, distinguished by `type`. The table room applies them."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, assert_never

from pydantic import Field, StringConstraints

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, SkipFile
from headgate_schemas.columns.file_columns import MAX_COLUMNS_CHARS, FileColumns
from headgate_schemas.messages.message_shape import (
    EACH_UP_TO_THE_FIRST_PROBLEM,
    KEYS,
    MAX_ITEMS,
    AskedMessage,
    Count,
    Identity,
    ShortText,
)
from headgate_schemas.messages.milvus_body import MilvusBody, milvus_body
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
    Restore,
    Rewrite,
    Skip,
)

MAX_FILES = MAX_ITEMS
"""Files that one proposal names at most."""

Long = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Int = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=4_096)]
Paths = Annotated[tuple[Path, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
Where = Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
Name = Annotated[str, StringConstraints(max_length=4_096)]
"""A column or a key of configuration."""
Text = Annotated[str, StringConstraints(max_length=4 << 20)]
"""Schemas and document mappings; the message as a whole has its own bound."""
Texts = Annotated[tuple[str, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
TextMap = Annotated[dict[Name, str], KEYS]
MapWithNulls = Annotated[dict[Name, str | None], KEYS]


class FileBody(AskedMessage):
    """A file to add: the fields of the table log's `add` action."""

    path: Path
    partition_values: MapWithNulls
    size: Count
    modification_time: Long
    data_change: bool = True
    stats: str | None = None
    min_values: TextMap | None = None
    max_values: TextMap | None = None
    num_records: Count | None = None
    footer_start_offset: Long | None = None
    footer_end_offset: Long | None = None
    has_footer_offsets: bool = False
    delete_opstamp: Long | None = None
    split_tags: Texts | None = None
    num_merge_ops: Int | None = None
    doc_mapping_json: str | None = None
    doc_mapping_ref: str | None = None
    uncompressed_size_bytes: Long | None = None
    time_range_start: str | None = None
    time_range_end: str | None = None
    companion_source_files: Texts | None = None
    companion_delta_version: Long | None = None
    companion_fast_field_mode: str | None = None
    tags: TextMap | None = None
    hotcache_start_offset: Long | None = None
    hotcache_length: Long | None = None

    def to_file(self) -> AddFile:
        fields: dict[str, Any] = self.__dict__.copy()
        fields["partition_values"] = _without_nulls(self.partition_values)
        return AddFile(**fields)


class SkipBodyFile(AskedMessage):
    """A file that maintenance should leave alone for a while."""

    path: Path
    skip_timestamp: Long
    reason: ShortText
    operation: ShortText
    partition_values: TextMap | None = None
    size: Long | None = None
    retry_after: Long | None = None
    skip_count: Int = 1

    def to_file(self) -> SkipFile:
        return SkipFile(**self.__dict__)


class ManifestBody(AskedMessage):
    """A manifest that compaction has written."""

    path: Path
    num_entries: Count
    min_added_at_version: Count
    max_added_at_version: Count
    total_bytes: Count
    partition_bounds: Annotated[dict[Name, tuple[str | None, str | None]], KEYS] | None = None


class FileColumnsBody(AskedMessage):
    """The columns that some of the files have, as their author has read them."""

    path: Path
    """One of these files."""
    types: Annotated[str, StringConstraints(max_length=MAX_COLUMNS_CHARS)]
    """JSON: an array of pairs of a name and a type, as in a `schemaString`; null for a type that no table holds."""
    nulls: Annotated[tuple[Name, ...], EACH_UP_TO_THE_FIRST_PROBLEM] = ()
    """The columns that hold a null in some of these files."""


FilesColumns = Annotated[tuple[FileColumnsBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM]


class CreateBody(AskedMessage):
    type: Literal["create"]
    schema_string: Text
    partition_columns: Texts = ()
    configuration: TextMap = Field(default_factory=dict)
    name: ShortText | None = None
    description: ShortText | None = None
    table_id: Identity | None = None


class AppendBody(AskedMessage):
    type: Literal["append"]
    files: Annotated[tuple[FileBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
    columns: FilesColumns = ()


class OverwriteBody(AskedMessage):
    type: Literal["overwrite"]
    files: Annotated[tuple[FileBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
    where: Where | None = None
    columns: FilesColumns = ()


class DeleteBody(AskedMessage):
    type: Literal["delete"]
    paths: Paths = ()
    where: Where | None = None


class RestoreBody(AskedMessage):
    type: Literal["restore"]
    version: Count


class RewriteBody(AskedMessage):
    type: Literal["rewrite"]
    removes: Paths
    adds: Annotated[tuple[FileBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
    columns: FilesColumns = ()


class SkipBody(AskedMessage):
    type: Literal["skip"]
    skips: Annotated[tuple[SkipBodyFile, ...], EACH_UP_TO_THE_FIRST_PROBLEM]


class AlterBody(AskedMessage):
    type: Literal["alter"]
    based_on: Count
    configuration: MapWithNulls = Field(default_factory=dict)
    description: ShortText | None = None
    name: ShortText | None = None
    schema_string: Text | None = None


class PurgeBody(AskedMessage):
    type: Literal["purge"]
    paths: Paths


class CompactStateBody(AskedMessage):
    type: Literal["compact_state"]
    base: Count
    removes: Paths
    adds: Annotated[tuple[ManifestBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
    tombstones: Paths = ()
    mappings: TextMap = Field(default_factory=dict)


OperationBody = Annotated[
    CreateBody
    | AppendBody
    | OverwriteBody
    | DeleteBody
    | RestoreBody
    | RewriteBody
    | SkipBody
    | AlterBody
    | PurgeBody
    | CompactStateBody
    | MilvusBody,
    Field(discriminator="type"),
]


def operation_of(body: OperationBody) -> Operation:
    """The operation in a body."""
    match body:
        case AppendBody():
            return Append(_files(body.files), _columns(body.columns))
        case OverwriteBody():
            return Overwrite(_files(body.files), body.where, _columns(body.columns))
        case DeleteBody():
            return Delete(body.paths, body.where)
        case RewriteBody():
            return Rewrite(body.removes, _files(body.adds), _columns(body.columns))
        case CompactStateBody():
            adds = tuple(NewManifest(**manifest.__dict__) for manifest in body.adds)
            return CompactState(body.base, body.removes, adds, body.tombstones, body.mappings)
        case RestoreBody():
            return Restore(body.version)
        case SkipBody():
            return Skip(tuple(skip.to_file() for skip in body.skips))
        case PurgeBody():
            return Purge(body.paths)
        case AlterBody():
            return Alter(body.based_on, body.configuration, body.description, body.name, body.schema_string)
        case CreateBody():
            return Create(
                body.schema_string,
                body.partition_columns,
                body.configuration,
                body.name,
                body.description,
                body.table_id,
            )
        case MilvusBody():
            return body.to_operation()
        case _:
            assert_never(body)


def body_of(operation: Operation) -> OperationBody:
    """The body for an operation. Raises pydantic's `ValidationError` for values that no message may hold."""
    match operation:
        case Append(files, columns):
            return AppendBody(type="append", files=_bodies(files), columns=_column_bodies(columns))
        case Overwrite(files, where, columns):
            return OverwriteBody(type="overwrite", files=_bodies(files), where=where, columns=_column_bodies(columns))
        case Delete(paths, where):
            return DeleteBody(type="delete", paths=paths, where=where)
        case Rewrite(removes, adds, columns):
            return RewriteBody(type="rewrite", removes=removes, adds=_bodies(adds), columns=_column_bodies(columns))
        case CompactState():
            manifests = tuple(
                ManifestBody(
                    path=manifest.path,
                    num_entries=manifest.num_entries,
                    min_added_at_version=manifest.min_added_at_version,
                    max_added_at_version=manifest.max_added_at_version,
                    total_bytes=manifest.total_bytes,
                    partition_bounds=None if manifest.partition_bounds is None else dict(manifest.partition_bounds),
                )
                for manifest in operation.adds
            )
            return CompactStateBody(
                type="compact_state",
                base=operation.base,
                removes=operation.removes,
                adds=manifests,
                tombstones=operation.tombstones,
                mappings=dict(operation.mappings),
            )
        case Restore(version):
            return RestoreBody(type="restore", version=version)
        case Skip(skips):
            return SkipBody(type="skip", skips=tuple(SkipBodyFile(**_attributes(skip, SkipBodyFile)) for skip in skips))
        case Purge(paths):
            return PurgeBody(type="purge", paths=paths)
        case Alter():
            return AlterBody(
                type="alter",
                based_on=operation.based_on,
                configuration=dict(operation.configuration),
                description=operation.description,
                name=operation.name,
                schema_string=operation.schema_string,
            )
        case Create():
            return CreateBody(
                type="create",
                schema_string=operation.schema_string,
                partition_columns=operation.partition_columns,
                configuration=dict(operation.configuration),
                name=operation.name,
                description=operation.description,
                table_id=operation.table_id,
            )
        case Milvus():
            return milvus_body(operation)
        case _:
            assert_never(operation)


def _files(bodies: tuple[FileBody, ...]) -> tuple[AddFile, ...]:
    return tuple(body.to_file() for body in bodies)


def _bodies(files: tuple[AddFile, ...]) -> tuple[FileBody, ...]:
    return tuple(FileBody(**_attributes(file, FileBody)) for file in files)


def _columns(bodies: tuple[FileColumnsBody, ...]) -> tuple[FileColumns, ...]:
    return tuple(FileColumns(body.path, body.types, body.nulls) for body in bodies)


def _column_bodies(columns: tuple[FileColumns, ...]) -> tuple[FileColumnsBody, ...]:
    return tuple(FileColumnsBody(path=each.path, types=each.types, nulls=each.nulls) for each in columns)


def _attributes(value: object, model: type[AskedMessage]) -> dict[str, Any]:
    """The fields that are set; mappings as plain dicts."""
    found = {name: getattr(value, name) for name in model.model_fields}
    return {name: dict(item) if isinstance(item, Mapping) else item for name, item in found.items() if item is not None}


def _without_nulls(values: Mapping[str, str | None]) -> dict[Name, str]:
    return {column: NULL_PARTITION if value is None else value for column, value in values.items()}
