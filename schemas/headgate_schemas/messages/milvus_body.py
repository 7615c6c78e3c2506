"""A Milvus transaction in a message: its updates, its resolver, and the version that it read. The table room applies
it.
"""

import base64
import binascii
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator, model_validator

from headgate_schemas.messages.message_shape import EACH_UP_TO_THE_FIRST_PROBLEM, KEYS, MAX_ITEMS, AskedMessage, Count
from headgate_schemas.messages.operations import Milvus
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Resolver, Stat, Updates

Long = Annotated[int, Field(ge=-(2**63), lt=2**63)]
Int = Annotated[int, Field(ge=-(2**31), lt=2**31)]
Path = Annotated[str, StringConstraints(min_length=1, max_length=4_096)]
Text = Annotated[str, StringConstraints(max_length=64 << 10)]
"""A name, a key or a property; no reader of manifests takes longer ones."""
TextMap = Annotated[dict[Text, Text], KEYS]
Base64 = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z+/]*={0,2}$")]


class ColumnGroupFileBody(AskedMessage):
    """A data file, and the range of its rows."""

    path: Path
    start_index: Long
    end_index: Long
    metadata: Base64 = ""
    """Bytes that manifests up to version 3 keep with a file, in base64."""
    properties: TextMap = Field(default_factory=dict)
    """What later manifests keep with it instead."""

    @field_validator("metadata")
    @classmethod
    def _is_base64(cls, text: str) -> str:
        try:
            base64.b64decode(text, validate=True)
        except binascii.Error:
            raise ValueError("this is no base64") from None
        return text

    def to_file(self) -> ColumnGroupFile:
        return ColumnGroupFile(
            self.path, self.start_index, self.end_index, base64.b64decode(self.metadata), self.properties
        )


class ColumnGroupBody(AskedMessage):
    """Columns that are stored together, and their files."""

    columns: Annotated[tuple[Text, ...], Field(min_length=1, max_length=MAX_ITEMS, fail_fast=True)]
    files: Annotated[tuple[ColumnGroupFileBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM] = ()
    format: Text = "parquet"

    def to_group(self) -> ColumnGroup:
        return ColumnGroup(self.columns, tuple(file.to_file() for file in self.files), self.format)


Groups = Annotated[tuple[ColumnGroupBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM]


class DeltaLogBody(AskedMessage):
    """A log of deleted rows."""

    path: Path
    num_entries: Long
    kind: Int = 0
    """0 deletes by primary key, 1 by position, 2 by equality."""


class StatBody(AskedMessage):
    """The files under one key of the stats."""

    paths: Annotated[tuple[Path, ...], EACH_UP_TO_THE_FIRST_PROBLEM]
    metadata: TextMap = Field(default_factory=dict)


class MilvusBody(AskedMessage):
    type: Literal["milvus"]
    resolver: Literal["fail", "merge", "overwrite"] = "merge"
    """How it meets what others committed since `readVersion`."""
    read_version: Count | None = None
    """The version that was read, 0 for a table without any; needed for `fail` and `overwrite`."""
    added_column_groups: Groups = ()
    appended_files: Annotated[tuple[Groups, ...], EACH_UP_TO_THE_FIRST_PROBLEM] = ()
    """One item an append: a group for each group of the table."""
    added_delta_logs: Annotated[tuple[DeltaLogBody, ...], EACH_UP_TO_THE_FIRST_PROBLEM] = ()
    stats: Annotated[dict[Text, StatBody], KEYS] = Field(default_factory=dict)
    """By key; each replaces what the key had."""

    @model_validator(mode="after")
    def _is_whole(self) -> "MilvusBody":
        if self.resolver != Resolver.MERGE.value and self.read_version is None:
            raise ValueError(f"resolver {self.resolver} needs readVersion, the version that was read")
        if not (self.added_column_groups or self.appended_files or self.added_delta_logs or self.stats):
            raise ValueError("a transaction without updates changes nothing")
        return self

    def to_operation(self) -> Milvus:
        updates = Updates(
            added_column_groups=tuple(group.to_group() for group in self.added_column_groups),
            appended_files=tuple(tuple(group.to_group() for group in append) for append in self.appended_files),
            added_delta_logs=tuple(DeltaLog(log.path, log.num_entries, log.kind) for log in self.added_delta_logs),
            added_stats={key: Stat(stat.paths, stat.metadata) for key, stat in self.stats.items()},
        )
        return Milvus(updates, Resolver(self.resolver), self.read_version)

    @property
    def files(self) -> tuple[str, ...]:
        """All paths that it names."""
        groups = [*self.added_column_groups, *(group for append in self.appended_files for group in append)]
        return (
            *(file.path for group in groups for file in group.files),
            *(log.path for log in self.added_delta_logs),
            *(path for stat in self.stats.values() for path in stat.paths),
        )


def milvus_body(operation: Milvus) -> MilvusBody:
    """The transaction as a message body. Raises pydantic's `ValidationError` for values that no message may hold."""
    updates = operation.updates
    return MilvusBody(
        type="milvus",
        resolver=operation.resolver.value,
        read_version=operation.read_version,
        added_column_groups=_groups(updates.added_column_groups),
        appended_files=tuple(_groups(append) for append in updates.appended_files),
        added_delta_logs=tuple(
            DeltaLogBody(path=log.path, num_entries=log.num_entries, kind=int(log.type))
            for log in updates.added_delta_logs
        ),
        stats={
            key: StatBody(paths=tuple(stat.paths), metadata=dict(stat.metadata))
            for key, stat in updates.added_stats.items()
        },
    )


def _groups(groups: tuple[ColumnGroup, ...]) -> tuple[ColumnGroupBody, ...]:
    return tuple(
        ColumnGroupBody(columns=tuple(group.columns), files=tuple(map(_file, group.files)), format=group.format)
        for group in groups
    )


def _file(file: ColumnGroupFile) -> ColumnGroupFileBody:
    return ColumnGroupFileBody(
        path=file.path,
        start_index=file.start_index,
        end_index=file.end_index,
        metadata=base64.b64encode(file.metadata).decode("ascii"),
        properties=dict(file.properties),
    )
