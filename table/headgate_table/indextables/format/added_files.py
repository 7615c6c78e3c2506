"""Converts entries of an Arrow table back to add actions, for the few places that need them one by one."""

from collections.abc import Iterator

import pyarrow as pa

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, FieldKind
from headgate_table.indextables.format.replay import AddedFile

_ADD_FIELDS = tuple(field for field in ENTRY_FIELDS if not field.column.startswith("added_at_"))


def added_files(entries: pa.Table) -> Iterator[AddedFile]:
    """All rows of a table that has every column of a file entry."""
    for batch in entries.to_batches(max_chunksize=8192):
        for row in batch.to_pylist():
            values = {}
            for field in _ADD_FIELDS:
                value = row[field.column]
                if value is not None and field.kind is FieldKind.STRING_MAP:
                    value = dict(value)
                elif value is not None and field.kind is FieldKind.STRING_LIST:
                    value = tuple(value)
                values[field.column] = value
            yield AddedFile(AddFile(**values), row["added_at_version"], row["added_at_timestamp"])
