"""Text columns with repeated values, which are read as dictionaries.

Their values stay indexes into a dictionary on the whole way from source to output. This halves the work on them.
"""

import base64
from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from headgate_table.parquet.footer import Footer, Physical
from headgate_table.parquet.thrift import Struct

REPEATING_BYTES = 64 << 10
"""A larger dictionary in a source, as it is stored, may be one that was given up, or that others don't share."""

_ARROW_SCHEMA = b"ARROW:schema"
"""Where Arrow's readers look for the types that a file's columns had in Arrow."""


def repeating_texts(footer: Footer) -> frozenset[str]:
    """The top-level text columns of a source whose row groups all have a small dictionary, according to the footer.

    This is only a hint: a wrong one costs time when the rows are read.
    """
    return frozenset(
        column.name
        for column in footer.columns
        # Arrow names such columns by their path, in which a dot separates levels.
        if column.physical is Physical.BYTES and column.leaf >= 0 and "." not in column.name
        if footer.row_groups and all(_has_small_dictionary(group, column.leaf) for group in footer.row_groups)
    )


def _has_small_dictionary(group: Struct, leaf: int) -> bool:
    """Whether the dictionary takes less than a byte for each value; then values repeat, however long they are."""
    chunks: Any = group.get(1)
    metadata = chunks[leaf].get(3)
    if not isinstance(metadata, dict):
        return False
    values, data_at, dictionary_at = metadata.get(5), metadata.get(9), metadata.get(11)
    if not type(values) is type(data_at) is type(dictionary_at) is int:
        return False
    return 0 < data_at - dictionary_at <= min(values, REPEATING_BYTES)


def encoded(schema: pa.Schema, repeating: Collection[str]) -> pa.Schema:
    """The schema with these columns as dictionaries; all are texts or bytes."""
    return pa.schema(
        [
            field.with_type(pa.dictionary(pa.int32(), field.type)) if field.name in repeating else field
            for field in schema
        ],
        schema.metadata,
    )


def shown_metadata(schema: pa.Schema) -> dict[bytes, bytes]:
    """File metadata that makes Arrow's readers return `schema`, whatever schema the writer got."""
    return {**(schema.metadata or {}), _ARROW_SCHEMA: base64.b64encode(schema.serialize().to_pybytes())}


def decoded_bytes(batch: pa.RecordBatch) -> int:
    """The size of the batch with each dictionary value in the place of its index."""
    size: int = batch.nbytes
    for column in batch.columns:
        if types.is_dictionary(column.type):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            size += (pc.sum(lengths).as_py() or 0) - column.dictionary.nbytes
    return size
