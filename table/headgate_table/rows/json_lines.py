"""Blocks of JSON with one object a line as batches. Arrow parses them; a number that a double would round is found before.

Where no table says what a column is, numbers that are too long for a double are decimals, and texts are dates or times if all are.
"""

import ctypes
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.json as arrow_json
from pyarrow import types

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.errors import InvalidInput
from headgate_table.rows.nested import with_leaves
from headgate_table.rows.text_values import TextMisfit, is_printed, number_is_held, time_type_of, type_of, values_of

_DOUBLE_MAY_ROUND = re.compile(rb"[0-9.]{16}|[eE][+-]?[0-9]{3}")
_FLOAT_MAY_ROUND = re.compile(rb"[0-9.]{7}|[eE][+-]?[0-9]{2}")
"""Without such a text, a block has no number that is rounded."""
_LONG_NUMBER = re.compile(r"[0-9.]{16,}(?:[eE][+-]?[0-9]+)?|[0-9.]+[eE][+-]?[0-9]{3,}")
"""Those of a double."""

REMEDY = (
    "Change it, or load it into a table whose column has a type that holds it, such as STRING or DECIMAL(38, 10): make a new "
    "table before, since its first rows say the types otherwise"
)


class _Number(str):
    """A number's text."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class JsonColumns:
    """What the objects of a file hold."""

    name: str
    """Of the file, for messages."""
    schema: pa.Schema

    @classmethod
    def of(cls, block: bytes, known: Mapping[str, pa.DataType], name: str) -> "JsonColumns":
        """As a table's columns say, and otherwise as the first block does. Raises `InvalidInput`, and what Arrow raises."""
        known_types = {name_key(column): type_ for column, type_ in known.items()}
        inferred: dict[str, pa.DataType] = {}
        columns: dict[str, pa.DataType] = {}
        for field in _parsed(block, {}, name, 1).schema:
            found = known_types.pop(name_key(field.name), None)
            columns[field.name] = _without_times(field.type) if found is None else found
            if found is None:
                inferred[field.name] = columns[field.name]
        if _may_round(block, inferred.values()):
            objects = [_numbered(line) for line in block.splitlines() if line.strip()]
            for column, type_ in inferred.items():
                cells = [cells.get(column) for cells in objects if isinstance(cells, dict)]
                columns[column] = _widened(type_, cells, column, block, name)
        if any(map(types.is_string, inferred.values())):
            rows = _parsed(block, columns, name, 1)
            columns |= {
                column: time_type_of(rows.column(column))
                for column, type_ in inferred.items()
                if types.is_string(type_)
            }
        lacking = {column: type_ for column, type_ in known.items() if name_key(column) in known_types}
        return cls(name, pa.schema(list((columns | lacking).items())))

    def read(self, block: bytes, line: int) -> pa.Table:
        """`line` is the number of the block's first line. Raises `InvalidInput`, and what Arrow raises."""
        floating = {field.name: field.type for field in self.schema if _floats(field.type)}
        if _may_round(block, floating.values()):
            for number, text in enumerate(block.splitlines(), line):
                cells = _numbered(text) if text.strip() else {}
                for column in floating.keys() & cells.keys():
                    for rounded in _rounded(floating[column], cells[column]):
                        raise _misfit(self.name, number, column, f"{rounded[:100]} would be rounded")
        wanted = {field.name: _without_times(field.type) for field in self.schema}
        parsed = _parsed(block, wanted, self.name, line)
        arrays = []
        for field in self.schema:
            cells = parsed.column(field.name).combine_chunks()
            try:
                arrays.append(with_leaves(cells, field.type, values_of))
            except TextMisfit as error:
                place = f'"{error.text}"'.encode()
                raise _misfit(self.name, line + _line_of(place, block), field.name, str(error)) from None
        return pa.Table.from_arrays(arrays, schema=self.schema)


def _parsed(block: bytes, columns: Mapping[str, pa.DataType], name: str, line: int) -> pa.Table:
    options = arrow_json.ParseOptions(
        explicit_schema=pa.schema(list(columns.items())) if columns else None,
        unexpected_field_behavior="error" if columns else "infer",
    )
    try:
        return arrow_json.read_json(
            pa.BufferReader(block), arrow_json.ReadOptions(block_size=max(len(block), 1)), options
        )
    except pa.ArrowException as error:
        raise InvalidInput(f"{name} can't be read as ndjson: {error} (row 0 is line {line})") from error


def _numbered(line: bytes) -> Any:
    """A line whose numbers are their texts."""
    try:
        return json.loads(line, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError):
        return {}  # Arrow says what is wrong


def _may_round(block: bytes, columns: "Iterator[pa.DataType] | Any") -> bool:
    found = {leaf for type_ in columns for leaf in _floats(type_)}
    return (pa.float32() in found and bool(_FLOAT_MAY_ROUND.search(block))) or (
        pa.float64() in found
        and bool(_DOUBLE_MAY_ROUND.search(block))
        and not all(map(is_printed, _LONG_NUMBER.findall(block.decode("utf-8", "replace"))))
    )


def _floats(type_: pa.DataType) -> set[pa.DataType]:
    if types.is_floating(type_):
        return {type_}
    return {leaf for field in _inner(type_) for leaf in _floats(field.type)}


def _inner(type_: Any) -> list["pa.Field[Any]"]:
    return [type_.field(place) for place in range(type_.num_fields)] if types.is_nested(type_) else []


def _rounded(type_: Any, value: Any) -> Iterator[str]:
    """The numbers of a cell that its type would round."""
    if isinstance(value, _Number) and types.is_floating(type_):
        if not _is_held(value, type_):
            yield value
    elif isinstance(value, list) and types.is_list(type_):
        for item in value:
            yield from _rounded(type_.value_type, item)
    elif isinstance(value, dict) and types.is_struct(type_):
        for field in type_.fields:
            yield from _rounded(field.type, value.get(field.name))


def _is_held(text: str, type_: pa.DataType) -> bool:
    value = float(text)
    return number_is_held(text, ctypes.c_float(value).value if types.is_float32(type_) else value)


def _widened(type_: Any, values: Sequence[Any], place: str, block: bytes, name: str) -> pa.DataType:
    """The type with decimals where doubles would round some of these numbers."""
    if types.is_floating(type_):
        numbers = [value for value in values if isinstance(value, _Number)]
        rounded = next((number for number in numbers if not _is_held(number, type_)), None)
        if rounded is None:
            return type_
        decimal = type_of(pa.chunked_array([pa.array(map(str, numbers), pa.string())]))
        if not types.is_decimal(decimal):
            line = 1 + _line_of(rounded.encode(), block)
            raise _misfit(
                name, line, place, f"neither a double nor a decimal holds {rounded[:100]} and what else is there"
            )
        return decimal
    if types.is_list(type_):
        items = [item for value in values if isinstance(value, list) for item in value]
        return pa.list_(_widened(type_.value_type, items, f"{place}.element", block, name))
    if types.is_struct(type_):
        return pa.struct(
            [
                (
                    field.name,
                    _widened(
                        field.type,
                        [each.get(field.name) for each in values if isinstance(each, dict)],
                        f"{place}.{field.name}",
                        block,
                        name,
                    ),
                )
                for field in type_.fields
            ]
        )
    return type_


def _without_times(type_: Any) -> pa.DataType:
    """As Arrow is to parse it: its own parser of times drops their zones."""
    if types.is_temporal(type_):
        return pa.string()
    if types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_without_times(type_.value_type)))
    if types.is_struct(type_):
        return pa.struct([field.with_type(_without_times(field.type)) for field in type_.fields])
    if types.is_map(type_):
        return pa.map_(
            type_.key_field.with_type(_without_times(type_.key_type)),
            type_.item_field.with_type(_without_times(type_.item_type)),
        )
    return type_


def _line_of(text: bytes, block: bytes) -> int:
    """How many lines come before the first one that has this text."""
    return block[: max(0, block.find(text))].count(b"\n")


def _misfit(name: str, line: int, column: str, problem: str) -> InvalidInput:
    return InvalidInput(f"{name}, line {line}, column {column!r}: {problem}. {REMEDY}")
