"""One version as one commit of a Delta log: a pure function of the version, so that all writers write the same bytes."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_table.coordination.commit_info import CommitRecord, commit_record
from headgate_table.delta.schema import DeltaColumns, Unmirrorable
from headgate_table.delta.values import delta_path, partition_texts, statistics_text
from headgate_table.indextables.log.predecessor import mark_of

ENGINE = "headgate-mirror/2"
"""Grows when the bytes of a commit change."""
KEY = "headgate"
"""Where a commit's `commitInfo` says which version of which table it is."""

_OPERATIONS = {
    "Create": "CREATE TABLE",
    "Append": "WRITE",
    "Overwrite": "WRITE",
    "Delete": "DELETE",
    "Rewrite": "OPTIMIZE",
    "Restore": "RESTORE",
    "Group": "WRITE",
    "Alter": "SET TBLPROPERTIES",
}
_MODES = {"Append": "Append", "Overwrite": "Overwrite"}


@dataclass(frozen=True, slots=True)
class MirroredVersion:
    """The table and the version that a commit mirrors. Two versions with the same table and number differ by their
    mark.
    """

    table: str
    version: int
    mark: str


@dataclass(frozen=True, slots=True)
class VersionToMirror:
    """A version, with the table's metadata after it."""

    table_uri: str
    version: int
    actions: Sequence[Action]
    """Empty where only a state tells of the version."""
    metadata: Metadata
    is_first: bool = False
    """The mirror begins here, so that it says what the columns are."""

    @property
    def identity(self) -> MirroredVersion:
        return MirroredVersion(self.metadata.id, self.version, mark_of(self.actions) if self.actions else "")


def commit_bytes(version: VersionToMirror, columns: DeltaColumns) -> bytes:
    """Raises `Unmirrorable` for a file that Delta can't name."""
    record = commit_record(version.actions) or CommitRecord()
    lines: list[dict[str, Any]] = [{"commitInfo": _commit_info(version, record)}]
    if version.is_first or any(isinstance(action, Metadata) for action in version.actions):
        lines += [{"protocol": columns.protocol}, {"metaData": metadata_body(version.metadata, columns)}]
    lines += [{"txn": body} for body in _transactions(record)]
    for action in _last_of_each_path(version.actions):
        if isinstance(action, AddFile):
            lines.append({"add": add_body(action, columns, version.table_uri)})
        else:
            lines.append({"remove": _remove_body(action, version.table_uri, record)})
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines).encode()


def identity_of(commit: bytes) -> MirroredVersion | None:
    """The version that a commit file mirrors; None if no mirror wrote it."""
    try:
        for line in commit.splitlines():
            body = json.loads(line)
            if "commitInfo" in body:
                told = body["commitInfo"][KEY]
                return MirroredVersion(str(told["table"]), int(told["version"]), str(told["mark"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return None


def metadata_body(metadata: Metadata, columns: DeltaColumns) -> dict[str, Any]:
    body: dict[str, Any] = {"id": metadata.id}
    if metadata.name is not None:
        body["name"] = metadata.name
    if metadata.description is not None:
        body["description"] = metadata.description
    body |= {
        "format": {"provider": "parquet", "options": {}},
        "schemaString": columns.schema_string,
        "partitionColumns": list(columns.partition_columns),
        "configuration": {},
    }
    if metadata.created_time is not None:
        body["createdTime"] = metadata.created_time
    return body


def add_body(add: AddFile, columns: DeltaColumns, table_uri: str) -> dict[str, Any]:
    if not is_parquet(add):
        raise Unmirrorable(f"{add.path} is a .split file; Delta has Parquet alone")
    body: dict[str, Any] = {
        "path": delta_path(add.path, table_uri),
        "partitionValues": partition_texts(add.partition_values, columns, add.path),
        "size": add.size,
        "modificationTime": add.modification_time,
        "dataChange": add.data_change,
    }
    statistics = statistics_text(add, columns)
    if statistics is not None:
        body["stats"] = statistics
    return body


def is_parquet(add: AddFile) -> bool:
    return not add.path.endswith(".split") and add.split_tags is None


def _remove_body(remove: RemoveFile, table_uri: str, record: CommitRecord) -> dict[str, Any]:
    return {
        "path": delta_path(remove.path, table_uri),
        "deletionTimestamp": record.time_ms or remove.deletion_timestamp or 0,
        "dataChange": remove.data_change,
    }


def _commit_info(version: VersionToMirror, record: CommitRecord) -> dict[str, Any]:
    identity = version.identity
    mode = _MODES.get(record.operation)
    return {
        "timestamp": record.time_ms,
        "operation": _OPERATIONS.get(record.operation, "MAINTENANCE"),
        "operationParameters": {} if mode is None else {"mode": mode},
        "engineInfo": ENGINE,
        KEY: {
            "table": identity.table,
            "version": identity.version,
            "mark": identity.mark,
            "operation": record.operation,
        },
    }


def _transactions(record: CommitRecord) -> list[dict[str, Any]]:
    """The newest seq of each writer with a proposal in the version."""
    newest: dict[str, int] = {}
    for decision in record.decisions:
        if decision.accepted and decision.writer is not None:
            app, seq = decision.writer.app, decision.writer.seq
            newest[app] = max(seq, newest.get(app, seq))
    return [{"appId": app, "version": seq, "lastUpdated": record.time_ms} for app, seq in newest.items()]


def _last_of_each_path(actions: Iterable[Action]) -> list[AddFile | RemoveFile]:
    """A Delta commit names a path once, so the last one of a version's actions counts."""
    last: dict[str, AddFile | RemoveFile] = {}
    for action in actions:
        if isinstance(action, AddFile | RemoveFile):
            last.pop(action.path, None)
            last[action.path] = action
    return list(last.values())
