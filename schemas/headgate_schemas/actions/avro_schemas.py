"""The Avro schemas that Headgate writes, from the `.avsc` files beside this module, as compact JSON text."""

import json
from functools import cache
from importlib.resources import files


@cache
def schema_text(name: str) -> bytes:
    """The text of `file_entry_a`, `file_entry_b` or `state_manifest` for an Avro header."""
    source = files("headgate_schemas").joinpath(f"avsc/{name}.avsc").read_text(encoding="utf-8")
    return json.dumps(json.loads(source), separators=(",", ":")).encode("utf-8")
