"""Nulls inside of lists and maps that the table's schema says hold none: Arrow's casts let them pass, its writer doesn't."""

from typing import Any

import pyarrow as pa
from pyarrow import types


def inner_null(batch: pa.RecordBatch) -> str | None:
    """The first column of the batch that holds such a null, by the batch's own schema; None without one."""
    for field, array in zip(batch.schema, batch.columns, strict=True):
        if _forbids(field.type) and _has_null(array):
            return str(field.name)
    return None


def _forbids(type_: Any) -> bool:
    """Whether the type says anywhere inside that a list or a map holds no null."""
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
    # Fields of a struct that is null itself say nothing.
    whole = array.filter(array.is_valid())
    return any(_has_null(whole.field(place)) for place in range(type_.num_fields))
