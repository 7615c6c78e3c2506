"""Finds nulls inside of lists and maps whose schema forbids them: Arrow's casts accept them, its Parquet writer
doesn't.
"""

from typing import Any

import pyarrow as pa
from pyarrow import types


def inner_null(batch: pa.RecordBatch) -> str | None:
    """The first column of the batch with such a null, by the batch's own schema; None if there is none."""
    for field, array in zip(batch.schema, batch.columns, strict=True):
        if _forbids(field.type) and _has_null(array):
            return str(field.name)
    return None


def _forbids(type_: Any) -> bool:
    """Whether a list or map anywhere inside of the type forbids nulls."""
    if types.is_list(type_):
        return not type_.value_field.nullable or _forbids(type_.value_type)
    if types.is_map(type_):
        return not type_.item_field.nullable or _forbids(type_.item_type)
    if types.is_struct(type_):
        return any(_forbids(item.type) for item in type_)
    return False


def _has_null(array: Any) -> bool:
    type_ = array.type
    if not _forbids(type_):
        return False
    if types.is_list(type_):
        inner = array.flatten()
        return bool(not type_.value_field.nullable and inner.null_count) or _has_null(inner)
    if types.is_map(type_):
        items = array.items
        return bool(not type_.item_field.nullable and items.null_count) or _has_null(items)
    # The fields of a null struct have no meaning.
    whole = array.filter(array.is_valid())
    return any(_has_null(whole.field(place)) for place in range(type_.num_fields))
