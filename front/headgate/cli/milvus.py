"""`headgate milvus show`: prints one manifest of a Milvus table, and the committer's record of it."""

import base64
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headgate.cli.terminal.given import Uri
from headgate.cli.terminal.output import Format
from headgate.cli.terminal.session import Session, command
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, DeltaLogType, Stat

if TYPE_CHECKING:
    from headgate_table.milvus.committed.records import VersionRecord
    from headgate_table.milvus.format.manifest import Manifest


def register(app: typer.Typer) -> None:
    milvus = typer.Typer(help="Read tables of Milvus manifests.", no_args_is_help=True)
    command(milvus, "show", show)
    app.add_typer(milvus, name="milvus")


def show(
    session: Session,
    uri: Uri,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="The version. Default: the newest.", min=1)
    ] = None,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Print paths as readers resolve them, not as they are stored.")
    ] = False,
) -> None:
    """Print a manifest as JSON, or its data files with --format csv."""
    from headgate_table.errors import TableNotFound
    from headgate_table.milvus.committed.log import RecordedLog
    from headgate_table.milvus.format.paths import ManifestBase
    from headgate_table.milvus.format.paths import resolved as resolve
    from headgate_table.milvus.snapshot import FILE_COLUMNS, MilvusSnapshot

    log = RecordedLog(session.open_store(uri), session.ambient)
    number = version or log.found().latest
    if not number:
        raise TableNotFound(f"there are no Milvus manifests at {log.uri}: none lies in its folder _metadata")
    read = log.read(number)
    manifest = resolve(read.manifest, ManifestBase("", log.uri)) if resolved else read.manifest
    if session.format is Format.CSV:
        session.output.rows(MilvusSnapshot(log.uri, number, manifest).files(), FILE_COLUMNS.names)
        return
    session.output.document({"version": number, **_shown(manifest), "commit": _commit(log.record(read.id))})


def _shown(manifest: "Manifest") -> dict[str, Any]:
    shown: dict[str, Any] = {
        "form": manifest.form.value,
        "column_groups": [_group(group) for group in manifest.column_groups],
        "delta_logs": [_delta_log(log) for log in manifest.delta_logs],
        "stats": {key: _stat(stat) for key, stat in sorted(manifest.stats.items())},
    }
    if manifest.form.version >= 2:
        shown["indexes"] = [_fields(index) for index in manifest.indexes]
    if manifest.form.version >= 5:
        shown["lob_files"] = [_fields(file) for file in manifest.lob_files]
    if manifest.unknown:
        shown["unknown"] = list(manifest.unknown)
    return shown


def _group(group: ColumnGroup) -> dict[str, Any]:
    return {"columns": list(group.columns), "format": group.format, "files": [_file(file) for file in group.files]}


def _file(file: ColumnGroupFile) -> dict[str, Any]:
    shown: dict[str, Any] = {"path": file.path, "start_index": file.start_index, "end_index": file.end_index}
    if file.metadata:
        shown["metadata"] = base64.b64encode(file.metadata).decode("ascii")
    if file.properties:
        shown["properties"] = dict(file.properties)
    return shown


def _delta_log(log: DeltaLog) -> dict[str, Any]:
    known = {int(kind): kind.name for kind in DeltaLogType}
    return {"path": log.path, "type": known.get(int(log.type), int(log.type)), "num_entries": log.num_entries}


def _stat(stat: Stat) -> list[str] | dict[str, Any]:
    return {"paths": list(stat.paths), "metadata": dict(stat.metadata)} if stat.metadata else list(stat.paths)


def _fields(value: Any) -> dict[str, Any]:
    found = {name: getattr(value, name) for name in value.__slots__}
    return {name: dict(item) if name == "properties" else item for name, item in found.items()}


def _commit(record: "VersionRecord | None") -> dict[str, Any] | None:
    """The author and the decisions of the version; None for a foreign one."""
    commit = None if record is None else record.commit
    if commit is None:
        return None
    return {
        "operation": commit.operation,
        "time": commit.time_ms,
        "committer": None if commit.term is None else commit.term.committer,
        "epoch": None if commit.term is None else commit.term.epoch,
        "decisions": [decision.to_json() for decision in commit.decisions],
    }
