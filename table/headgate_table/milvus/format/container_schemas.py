"""The Avro schemas of manifests in containers, one for each version whose fields differ (docs/format.md, section 10.3).

Names, order and types are the format's own.
"""

import json
from functools import cache
from typing import Any

from headgate_table.milvus.format.manifest import ManifestForm

_TEXTS = {"type": "array", "items": "string"}
_PROPERTIES = {"type": "map", "values": "string"}


@cache
def schema_of(form: ManifestForm) -> dict[str, Any]:
    """The schema as JSON; not to be changed."""
    version = form.version
    file_fields = [_field("path", "string"), _field("start_index", "long", 0), _field("end_index", "long", 0)]
    if version >= 4:
        file_fields.append(_field("properties", _PROPERTIES, {}))
    else:
        file_fields.append(_field("metadata", "bytes", ""))
    group_fields = [
        _field("columns", _TEXTS),
        _field("files", _array(_record("ColumnGroupFile", file_fields))),
        _field("format", "string"),
    ]
    log_fields = [_field("path", "string"), _field("type", "int"), _field("num_entries", "long")]
    stat_fields = [_field("paths", _TEXTS), _field("metadata", _PROPERTIES, {})]
    fields = [
        _field("column_groups", _array(_record("ColumnGroup", group_fields))),
        _field("delta_logs", _array(_record("DeltaLog", log_fields))),
        _field("stats", {"type": "map", "values": _record("Statistics", stat_fields)}, {}),
        _field("indexes", _array(_record("Index", _index_fields(whole=version >= 6))), []),
    ]
    if version >= 5:
        lob_fields = [_field("path", "string")] + [
            _field(name, "long") for name in ("field_id", "total_rows", "valid_rows", "file_size_bytes")
        ]
        fields.append(_field("lob_files", _array(_record("LobFileInfo", lob_fields)), []))
    return {**_record("Manifest", fields), "namespace": "milvus_storage"}


@cache
def schema_text(form: ManifestForm) -> bytes:
    return json.dumps(schema_of(form), separators=(",", ":")).encode("ascii")


def _index_fields(*, whole: bool) -> list[dict[str, Any]]:
    if not whole:
        fields = [_field(name, "string") for name in ("column_name", "index_type", "path")]
    else:
        longs = ("field_id", "index_id", "build_id", "index_version", "num_rows", "serialized_size", "mem_size")
        ints = ("current_index_version", "current_scalar_index_version", "index_store_path_version")
        fields = [
            _field("column_name", "string"),
            _field("index_name", "string", ""),
            _field("index_type", "string"),
            _field("path", "string"),
            *(_field(name, "long", 0) for name in longs),
            *(_field(name, "int", 0) for name in ints),
            _field("index_file_keys", _TEXTS, []),
        ]
    return [*fields, _field("properties", _PROPERTIES, {})]


def _field(name: str, kind: Any, *default: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({"default": default[0]} if default else {})}


def _record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": fields}


def _array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}
