"""A manifest from a record with an unknown schema: of a newer, older, or another writer's release.

Fields are taken by name; a missing one gets its default. Unknown fields are listed, never dropped.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, TypeVar

from headgate_schemas.milvus import EMPTY, ColumnGroup, ColumnGroupFile, DeltaLog, DeltaLogType, Index, LobFile, Stat
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus.format.container_schemas import schema_of
from headgate_table.milvus.format.manifest import Manifest, ManifestForm

_Value = TypeVar("_Value")

_MOST_NAMED = 20
"""So many unknown fields are named; the rest is counted."""


def manifest_of_record(schema: dict[str, Any], record: dict[str, Any], name: str) -> Manifest:
    """Raises `UnsupportedTable` if a known field has an unknown type."""
    found = _Fields(record, "", name)
    groups = tuple(
        ColumnGroup(
            group.texts("columns"),
            tuple(_file(file) for file in group.records("files")),
            group.required("format", str),
        )
        for group in found.records("column_groups")
    )
    logs = tuple(_log(log) for log in found.records("delta_logs"))
    stats = {key: _stat(value, key, name) for key, value in found.value("stats", dict, {}).items()}
    indexes = tuple(_index(index) for index in found.records("indexes"))
    lob_files = tuple(_lob_file(file) for file in found.records("lob_files"))
    unknown = list(_unknown(schema, _expected(), "", _definitions(schema, name)))
    shown = tuple(unknown[:_MOST_NAMED])
    if len(unknown) > _MOST_NAMED:
        shown = (*shown, f"{len(unknown) - _MOST_NAMED} more fields")
    return Manifest(groups, logs, stats, indexes, lob_files, _form(schema), shown)


def _file(file: "_Fields") -> ColumnGroupFile:
    return ColumnGroupFile(
        file.required("path", str),
        file.value("start_index", int, 0),
        file.value("end_index", int, 0),
        file.value("metadata", bytes, b""),
        file.properties("properties"),
    )


def _log(log: "_Fields") -> DeltaLog:
    kind = log.value("type", int, 0)
    known = {int(each): each for each in DeltaLogType}
    return DeltaLog(log.required("path", str), log.value("num_entries", int, 0), known.get(kind, kind))


def _stat(value: Any, key: str, name: str) -> Stat:
    if isinstance(value, list | tuple):  # as in the first raw versions
        return Stat(_Fields({"paths": value}, f"stats[{key[:100]}].", name).texts("paths"))
    if not isinstance(value, dict):
        raise _odd(name, f"stats[{key[:100]}]")
    stat = _Fields(value, f"stats[{key[:100]}].", name)
    return Stat(stat.texts("paths"), stat.properties("metadata"))


def _index(index: "_Fields") -> Index:
    values: dict[str, Any] = {}
    for each in fields(Index):
        if each.name == "properties":
            values[each.name] = index.properties("properties")
        elif each.name == "index_file_keys":
            values[each.name] = index.texts(each.name)
        elif each.name in ("column_name", "index_type", "path"):
            values[each.name] = index.required(each.name, str)
        elif each.name == "index_name":
            values[each.name] = index.value(each.name, str, "")
        else:
            values[each.name] = index.value(each.name, int, 0)
    return Index(**values)


def _lob_file(file: "_Fields") -> LobFile:
    counts = (file.value(key, int, 0) for key in ("field_id", "total_rows", "valid_rows", "file_size_bytes"))
    return LobFile(file.required("path", str), *counts)


class _Fields:
    """The fields of one decoded record, by name and type."""

    def __init__(self, record: dict[str, Any], where: str, name: str) -> None:
        self._record = record
        self._where = where
        self._name = name

    def value(self, key: str, kind: type[_Value], default: _Value) -> _Value:
        found = self._record.get(key)
        if found is None:
            return default
        if not isinstance(found, kind) or isinstance(found, bool):
            raise _odd(self._name, self._where + key)
        return found

    def required(self, key: str, kind: type[_Value]) -> _Value:
        if self._record.get(key) is None:
            raise UnsupportedTable(
                f"{self._name}: the field {self._where}{key} is missing, without which a manifest means nothing to us. "
                f"Read it with a newer Headgate, if it was written by a newer Milvus"
            )
        return self.value(key, kind, kind())

    def texts(self, key: str) -> tuple[str, ...]:
        found = self.value(key, tuple, ())
        if not all(isinstance(text, str) for text in found):
            raise _odd(self._name, self._where + key)
        return found

    def properties(self, key: str) -> Any:
        found = self.value(key, dict, {})
        if not all(isinstance(text, str) for text in found.values()):
            raise _odd(self._name, self._where + key)
        return found or EMPTY

    def records(self, key: str) -> Iterator["_Fields"]:
        for record in self.value(key, tuple, ()):
            if not isinstance(record, dict):
                raise _odd(self._name, self._where + key)
            yield _Fields(record, f"{self._where}{key}.", self._name)


def _odd(name: str, field: str) -> UnsupportedTable:
    return UnsupportedTable(
        f"{name}: the field {field} has a type that we don't know. Read it with a newer Headgate, if it was written by a "
        f"newer Milvus"
    )


def _expected() -> dict[str, Any]:
    """Every field of every version, as the schema of one manifest."""
    newest = schema_of(ManifestForm.CONTAINER_V6)
    older_file = schema_of(ManifestForm.CONTAINER_V3)["fields"][0]["type"]["items"]["fields"][1]["type"]["items"]
    groups, *others = newest["fields"]
    group = groups["type"]["items"]
    columns, files, file_format = group["fields"]
    metadata = older_file["fields"][-1]
    file = {**files["type"]["items"], "fields": [*files["type"]["items"]["fields"], metadata]}
    whole_group = {**group, "fields": [columns, {**files, "type": {"type": "array", "items": file}}, file_format]}
    return {**newest, "fields": [{**groups, "type": {"type": "array", "items": whole_group}}, *others]}


def _unknown(found: Any, expected: Any, where: str, defined: dict[str, Any]) -> Iterator[str]:
    """The fields of `found` that `expected` lacks. The walk follows `expected`, so it ends."""
    for schema in _plain(found, defined):
        if not isinstance(expected, dict) or schema.get("type") != expected["type"]:
            continue
        match expected["type"]:
            case "record":
                known = {field["name"]: field["type"] for field in expected["fields"]}
                for field in schema["fields"]:
                    if field["name"] in known:
                        yield from _unknown(field["type"], known[field["name"]], f"{where}{field['name']}.", defined)
                    else:
                        yield f"the field {where}{field['name'][:100]}"
            case "array":
                yield from _unknown(schema["items"], expected["items"], where, defined)
            case _:
                yield from _unknown(schema["values"], expected["values"], where, defined)


def _plain(schema: Any, defined: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The complex types of a type: its branches if it is a union."""
    if isinstance(schema, list):
        for branch in schema:
            yield from _plain(branch, defined)
    elif isinstance(schema, str):
        if schema.rpartition(".")[2] in defined:
            yield defined[schema.rpartition(".")[2]]
    elif isinstance(schema["type"], str) and schema["type"] in ("record", "array", "map"):
        yield schema
    elif isinstance(schema["type"], dict | list):
        yield from _plain(schema["type"], defined)


def _definitions(schema: Any, name: str) -> dict[str, Any]:
    """Every record by its short name."""
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case list() as branches:
                waiting.extend(branches)
            case {"type": "record", "fields": children} as record:
                found[record["name"].rpartition(".")[2]] = record
                names = [field["name"] for field in children]
                if len(set(names)) < len(names):
                    raise CorruptTable(f"{name}: the Avro schema is refused: a record names a field twice")
                waiting.extend(field["type"] for field in children)
            case {"type": "array", "items": items}:
                waiting.append(items)
            case {"type": "map", "values": values}:
                waiting.append(values)
            case {"type": (dict() | list()) as inner}:
                waiting.append(inner)
    return found


def _form(schema: dict[str, Any]) -> ManifestForm:
    """The oldest form that can hold the same fields, whatever their values."""
    text = str(schema)
    if "'index_name'" in text:
        return ManifestForm.CONTAINER_V6
    if "'lob_files'" in text:
        return ManifestForm.CONTAINER_V5
    return ManifestForm.CONTAINER_V4 if "'properties'" in text else ManifestForm.CONTAINER_V3
