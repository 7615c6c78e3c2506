"""Manifests as Avro containers, the form since March 2026: one record, its schema in the header.

The schema of a known release is read part by part. Any other is read by the schema itself, and every unknown field is
noted, so that no successor is written without it.
"""

from typing import Any

from headgate_table.avro.container import MAGIC, block_bytes, header_bytes, parse_container
from headgate_table.avro.records import checked_schema
from headgate_table.errors import CorruptTable
from headgate_table.milvus.format import parts
from headgate_table.milvus.format.any_record import read_by_schema
from headgate_table.milvus.format.binary import Cursor
from headgate_table.milvus.format.container_schemas import schema_of, schema_text
from headgate_table.milvus.format.limits import MAX_MANIFEST_BYTES
from headgate_table.milvus.format.manifest import Manifest, ManifestForm
from headgate_table.milvus.format.other_record import manifest_of_record

__all__ = ["MAGIC", "decode_container", "encode_container"]

_FORMS = tuple(form for form in ManifestForm if form.is_container)


def decode_container(data: bytes, name: str) -> Manifest:
    """The manifest in `data`. Raises `CorruptTable`, or `UnsupportedTable` if a known field has an unknown type."""
    container = parse_container(data, name)
    schema = checked_schema(container)
    blocks = [block for block in container.blocks if block.count]
    if not blocks:
        raise CorruptTable(f"{name} is an Avro container without a record; a manifest has one")
    payload = container.payload(blocks[0], MAX_MANIFEST_BYTES)
    cursor = Cursor(payload, name)
    try:
        form = next((form for form in _FORMS if _is_same(schema, schema_of(form))), None)
        manifest = (
            _read_known(cursor, form) if form else manifest_of_record(schema, read_by_schema(schema, cursor), name)
        )
    except IndexError:
        raise CorruptTable(f"{name} is truncated: its record ends inside of a value") from None
    if container.num_records > 1:
        raise CorruptTable(f"{name} holds {container.num_records} records; a manifest is one")
    if cursor.position != len(payload):
        raise CorruptTable(f"{name}: {len(payload) - cursor.position} bytes are left over after its record")
    return manifest


def encode_container(manifest: Manifest, form: ManifestForm, sync: bytes) -> bytes:
    """One block, not compressed, as the known writers write it. The caller has checked that the form can hold the
    values.
    """
    version = form.version
    pieces = [
        parts.groups_bytes(manifest.column_groups, with_properties=version >= 4),
        parts.delta_logs_bytes(manifest.delta_logs),
        parts.stats_bytes(manifest.stats, as_records=True),
        parts.indexes_bytes(manifest.indexes, whole=version >= 6),
    ]
    if version >= 5:
        pieces.append(parts.lob_files_bytes(manifest.lob_files))
    return header_bytes(schema_text(form), "null", sync) + block_bytes(1, b"".join(pieces), "null", sync)


def _read_known(cursor: Cursor, form: ManifestForm) -> Manifest:
    version = form.version
    groups = parts.read_groups(cursor, with_properties=version >= 4)
    logs = parts.read_delta_logs(cursor)
    stats = parts.read_stats(cursor, as_records=True)
    indexes = parts.read_indexes(cursor, whole=version >= 6)
    lob_files = parts.read_lob_files(cursor) if version >= 5 else ()
    return Manifest(groups, logs, stats, indexes, lob_files, form)


def _is_same(found: Any, known: Any) -> bool:
    """Whether both schemas describe the same bytes with the same field names. Names of records don't matter.

    The walk follows the known schema, which has no recursive types, so it ends.
    """
    if isinstance(found, dict) and isinstance(found.get("type"), dict | str) and len(found) == 1:
        found = found["type"]
    if isinstance(known, str) or not isinstance(found, dict):
        return bool(found == known)
    if found.get("type") != known["type"]:
        return False
    match known["type"]:
        case "array":
            return _is_same(found["items"], known["items"])
        case "map":
            return _is_same(found["values"], known["values"])
        case _:
            pairs = zip(found["fields"], known["fields"], strict=False)
            return len(found["fields"]) == len(known["fields"]) and all(
                one["name"] == other["name"] and _is_same(one["type"], other["type"]) for one, other in pairs
            )
