"""Finds the column of a file that is a table's column, and its type in Parquet. For executors, so without Headgate.

The same as `headgate_schemas.columns.column_names` and `rows.row_shape`.
"""

import unicodedata
from collections.abc import Collection
from typing import Any

import pyarrow as pa
from pyarrow import types


def name_key(name: str) -> str:
    """Equal for two names that differ only in case, or in the way in which Unicode composes a letter."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


def stored_names(name: str, held: Collection[str], table: Collection[str]) -> list[str]:
    """The columns of a file that may be the table's column `name`: that one, else those of the same name."""
    if name in held:
        return [name]
    key = name_key(name)
    return [other for other in held if name_key(other) == key and other not in table]


def respelled(source: pa.DataType, target: pa.DataType) -> str | None:
    """An inner field with another spelling than the table's, which a cast would take for another field; None without
    one.
    """
    if types.is_struct(source) and types.is_struct(target):
        held, wanted = [item.name for item in source], [item.name for item in target]
        for name in wanted:
            others = [] if name in held else [other for other in held if name_key(other) == name_key(name)]
            if others and others[0] not in wanted:
                return f"it spells the field {name!r} as {others[0]!r}"
        pairs = [(source.field(name).type, target.field(name).type) for name in wanted if held.count(name) == 1]
    elif _is_list(source) and _is_list(target):
        pairs = [(source.value_type, target.value_type)]
    elif types.is_map(source) and types.is_map(target):
        pairs = [(source.key_type, target.key_type), (source.item_type, target.item_type)]
    else:
        return None
    return next((found for pair in pairs if (found := respelled(*pair)) is not None), None)


def stored_type(type_: Any) -> pa.DataType:
    """The type in Parquet: Arrow's duration is a whole number to all other readers."""
    if types.is_duration(type_):
        return pa.int64()
    if types.is_struct(type_):
        return pa.struct([item.with_type(stored_type(item.type)) for item in type_])
    if types.is_list(type_):
        return pa.list_(type_.value_field.with_type(stored_type(type_.value_type)))
    if types.is_large_list(type_):
        return pa.large_list(type_.value_field.with_type(stored_type(type_.value_type)))
    if types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(stored_type(type_.value_type)), type_.list_size)
    if types.is_map(type_):
        key, item = type_.key_field, type_.item_field
        return pa.map_(key.with_type(stored_type(key.type)), item.with_type(stored_type(item.type)))
    return type_


def _is_list(type_: pa.DataType) -> bool:
    return bool(types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_))
