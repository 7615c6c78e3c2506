"""New manifests: entries encoded by the writer profile, written under a new name, and described for a state."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.actions.avro_schemas import schema_text
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, EntryField
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.messages.operations import NewManifest
from headgate_table.avro.encode import encode_manifest
from headgate_table.indextables.format.bounds import compute_partition_bounds
from headgate_table.indextables.format.names import log_key, manifest_path
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store
from headgate_table.totals import total_of

_SCHEMA_A = tuple(field for field in ENTRY_FIELDS if field.in_schema_a)
_ONLY_B = tuple(field.column for field in ENTRY_FIELDS if not field.in_schema_a)


@dataclass(frozen=True, slots=True)
class NewName:
    """The random parts of a new manifest: its path, and the mark between its blocks."""

    path: str
    sync: bytes


def new_name(ambient: Ambient) -> NewName:
    return NewName(manifest_path(ambient.new_id()[:16]), bytes.fromhex(ambient.new_id()))


def write_manifest(
    store: Store, ambient: Ambient, options: TableOptions, entries: pa.Table, metadata: Metadata
) -> NewManifest:
    """Put one manifest with these entries into the log. Nothing refers to it yet."""
    data, manifest = encode_named(new_name(ambient), options, entries, metadata)
    store.put(log_key(manifest.path), data)
    return manifest


def encode_named(
    name: NewName, options: TableOptions, entries: pa.Table, metadata: Metadata
) -> tuple[bytes, NewManifest]:
    """The bytes of a manifest with these entries, and its item in a state."""
    schema, fields = schema_for(entries)
    data = encode_manifest(
        entries,
        fields,
        schema_text(schema),
        name.sync,
        name=name.path,
        codec=options.codec,
        level=options.state_compression_level,
    )
    return data, describe_manifest(name.path, entries, metadata)


def describe_manifest(path: str, entries: pa.Table, metadata: Metadata) -> NewManifest:
    versions = pc.min_max(entries.column("added_at_version")).as_py()
    bounds = compute_partition_bounds(
        entries, metadata.partition_columns, kinds_of(column_kinds(metadata.schema_string))
    )
    return NewManifest(
        path=path,
        num_entries=entries.num_rows,
        min_added_at_version=versions["min"] or 0,
        max_added_at_version=versions["max"] or 0,
        total_bytes=total_of(entries.column("size")),
        partition_bounds=None
        if bounds is None
        else {column: (bound.min, bound.max) for column, bound in bounds.items()},
    )


def schema_for(entries: pa.Table) -> tuple[str, Sequence[EntryField]]:
    """Schema A, which every reader keeps whole, unless an entry has a field that only schema B has."""
    for column in _ONLY_B:
        if column in entries.column_names and entries.column(column).null_count < entries.num_rows:
            return "file_entry_b", ENTRY_FIELDS
    return "file_entry_a", _SCHEMA_A
