"""Avro schemas and states that libraries choke on: always an error that names the file, never one of the library's own."""

import io
import json
from typing import Any

import fastavro
import pytest

from headgate_schemas.actions.avro_schemas import schema_text
from headgate_table.avro.container import block_bytes, header_bytes, parse_container
from headgate_table.avro.records import read_records
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.state_manifest import decode_state

_SYNC = bytes(16)


def _container(schema: Any, payload: bytes) -> bytes:
    return header_bytes(json.dumps(schema).encode(), "null", _SYNC) + block_bytes(1, payload, "null", _SYNC)


def _record_of(*types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": each} for number, each in enumerate(types)]
    return {"type": "record", "name": "r", "fields": fields}


_FIXED = {"type": "fixed", "name": "twice", "size": 1}
_REFUSED = {
    "an enum without symbols": _record_of({"type": "enum", "name": "e"}),
    "a type that is defined twice": _record_of(_FIXED, _FIXED),
    "a decimal of negative precision": _record_of({"type": "bytes", "logicalType": "decimal", "precision": -1}),
    "a decimal whose precision is a text": _record_of({"type": "bytes", "logicalType": "decimal", "precision": "x"}),
    "a type within a type": _record_of({"type": {"type": {"type": "string"}}}),
}


@pytest.mark.parametrize("name", _REFUSED)
def test_a_schema_that_the_library_refuses_names_the_file(name: str) -> None:
    """Break: `read_records` lets errors of `parse_schema` through."""
    with pytest.raises(CorruptTable, match=r"odd\.avro"):
        read_records(parse_container(_container(_REFUSED[name], b"\x02\x02"), "odd.avro"))


def _state(**changes: Any) -> bytes:
    """A state whose changed fields have the Avro type that is given with their value."""
    schema = json.loads(schema_text("state_manifest"))
    record: dict[str, Any] = {
        "formatVersion": 1,
        "stateVersion": 1,
        "createdAt": 1,
        "numFiles": 0,
        "totalBytes": 0,
        "manifests": [],
        "tombstones": [],
        "schemaRegistry": {},
        "protocolVersion": 4,
        "metadata": None,
        "coordinator": None,
    }
    for field in schema["fields"]:
        if field["name"] in changes:
            field["type"], record[field["name"]] = changes[field["name"]]
            field.pop("default", None)
    plain = io.BytesIO()
    fastavro.schemaless_writer(plain, fastavro.parse_schema(schema), record)
    return _container(schema, plain.getvalue())


def test_tombstones_that_are_numbers_name_the_state() -> None:
    """Break: `_from_record` takes tombstones of any type."""
    with pytest.raises(CorruptTable, match="odd state"):
        decode_state(_state(tombstones=({"type": "array", "items": "long"}, [1, 2])), "odd state")


def test_bounds_that_are_numbers_name_the_state() -> None:
    """Break: `_info` takes bounds of any type."""
    bounds = {"type": "map", "values": _named("Bound", min="long", max="long")}
    info = _named("Info", path="string", numEntries="long", partitionBounds=bounds)
    item = {"path": "manifests/manifest-1.avro", "numEntries": 1, "partitionBounds": {"date": {"min": 1, "max": 2}}}
    with pytest.raises(CorruptTable, match="odd state"):
        decode_state(_state(manifests=({"type": "array", "items": info}, [item])), "odd state")


def _named(record: str, /, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": record, "fields": [{"name": name, "type": fields[name]} for name in fields]}
