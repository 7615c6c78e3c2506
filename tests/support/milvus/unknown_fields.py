"""A manifest as a release might write it that nobody here knows yet."""

import io
import json
from typing import Any

import fastavro

from headgate_table.milvus.format.container_schemas import schema_of
from headgate_table.milvus.format.manifest import ManifestForm


def with_an_unknown_field() -> bytes:
    """A container of version 6 with one field more, `novelty`, and nothing else in it."""
    schema: dict[str, Any] = json.loads(json.dumps(schema_of(ManifestForm.CONTAINER_V6)))
    schema["fields"].append({"name": "novelty", "type": "string", "default": "new"})
    record = {"column_groups": [], "delta_logs": [], "stats": {}, "indexes": [], "lob_files": [], "novelty": "new"}
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [record])
    return out.getvalue()
