"""One schema for many files: columns that only some have become nullable, types are widened without loss. No I/O.

`parquet.schema` gives a single file's columns; `rows.row_shape` limits the conversions, and nothing wider is done here.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import assert_never

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.columns.spark_types import (
    ArrayOf,
    Atomic,
    Field,
    MapOf,
    SparkType,
    Struct,
    check_known,
    decimal_of,
    is_sized_text,
    kind_name,
)
from headgate_schemas.errors import InvalidInput
from headgate_table.parquet.schema import VOID, StoredColumn, Unusable

_INTEGERS = ("byte", "short", "integer", "long")
_DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_EXACT_AS_DOUBLE = ("byte", "short", "integer", "float", "double")
_MAX_DIGITS = 38
_SHOWN_COLUMNS = 20


@dataclass(slots=True)
class _Column:
    name: str
    type: SparkType
    nullable: bool
    path: str
    """The first file that has the column."""
    widest: str
    """The file that gave the type."""
    files: int = 1


class MergedSchema:
    """Takes the columns of one file after the other; the first files give the order."""

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._names: dict[str, str] = {}
        self._files = 0
        self._last: tuple[StoredColumn, ...] | None = None

    def add(self, path: str, columns: tuple[StoredColumn, ...]) -> None:
        """Raises `InvalidInput` for columns that no table can hold, naming the file, and for a contradiction, naming
        both files.
        """
        self._files += 1
        if columns == self._last:  # as in nearly all files
            for column in columns:
                self._columns[column.name].files += 1
            return
        usable = [_usable(path, column) for column in columns]
        if usable:  # a file without any column has no values to lose
            try:
                check_known(Struct(tuple(Field(field.name, _without_void(field.type)) for field in usable)))
            except InvalidInput as error:
                raise InvalidInput(f"the columns of {path} can't be a table's: {error}") from error
        for field in usable:
            self._add(path, field)
        self._last = columns

    def _add(self, path: str, field: Field) -> None:
        spelled = self._names.setdefault(name_key(field.name), field.name)
        if spelled != field.name:
            raise InvalidInput(
                f"{self._columns[spelled].path} has a column {spelled!r} and {path} one {field.name!r}, which is the same name "
                f"(case is ignored); give the schema that the table is to have, or move one of the files away"
            )
        known = self._columns.get(field.name)
        if known is None:
            self._columns[field.name] = _Column(field.name, field.type, field.nullable, path, path)
            return
        wider = widened(known.type, field.type)
        if wider is None:
            raise InvalidInput(
                f"column {field.name!r} is {shown(known.type)} in {known.widest} and {shown(field.type)} in {path}, and no type "
                f"holds the values of both; give the schema that the table is to have, or move one of the files away"
            )
        if wider != known.type:
            known.type, known.widest = wider, path
        known.nullable = known.nullable or field.nullable
        known.files += 1

    def type_of(self, name: str) -> SparkType | None:
        """The type of a column so far; None if no file has it, or none with a value."""
        known = self._columns.get(name)
        return None if known is None or _holds_void(known.type) else known.type

    def fields(self, without: Collection[str] = ()) -> tuple[Field, ...]:
        """The columns, in the order in which they were found. A column without any value becomes text."""
        return tuple(
            Field(column.name, _without_void(column.type), column.nullable or column.files < self._files)
            for column in self._columns.values()
            if column.name not in without
        )

    def untyped(self) -> tuple[str, ...]:
        """The columns that have no value in any file."""
        return tuple(column.name for column in self._columns.values() if _holds_void(column.type))


class GivenSchema:
    """Compares files with a schema from the user."""

    def __init__(self, struct: Struct) -> None:
        self._fields = {field.name: field for field in struct.fields}
        self._names = {name_key(field.name): field.name for field in struct.fields}
        self._unnamed: dict[str, str] = {}
        self._last: tuple[StoredColumn, ...] | None = None

    def add(self, path: str, columns: tuple[StoredColumn, ...], partition_columns: Collection[str]) -> None:
        """Raises `InvalidInput` if readers could not read the file in this schema."""
        if columns == self._last:
            return
        held = set()
        for column in columns:
            if column.name in partition_columns:
                continue  # its value comes from the log
            spelled = self._names.get(name_key(column.name))
            if spelled is None:
                if len(self._unnamed) < _SHOWN_COLUMNS:
                    self._unnamed.setdefault(column.name, path)
                continue
            if spelled != column.name:
                raise InvalidInput(
                    f"{path} has a column {column.name!r} and the given schema one {spelled!r}; spell it as the file does"
                )
            held.add(column.name)
            self._check(path, column)
        for field in self._fields.values():
            if not field.nullable and field.name not in held and field.name not in partition_columns:
                raise InvalidInput(
                    f"{path} has no column {field.name!r}, which the given schema says is NOT NULL; make it nullable"
                )
        self._last = columns

    def _check(self, path: str, column: StoredColumn) -> None:
        wanted = self._fields[column.name].type
        if isinstance(column.type, Unusable):
            raise InvalidInput(
                f"column {column.name!r} of {path} can't be read: {column.type.reason}; leave it out of the given schema"
            )
        if not _is_readable(column.type, wanted):
            raise InvalidInput(
                f"column {column.name!r} is {shown(column.type)} in {path}, which can't be read as the {shown(wanted)} of the "
                f"given schema; give a type that it can be read as"
            )

    def unnamed(self) -> Mapping[str, str]:
        """The first of the columns that files have and the schema doesn't name, with a file that has each."""
        return self._unnamed


def _usable(path: str, column: StoredColumn) -> Field:
    if isinstance(column.type, Unusable):
        raise InvalidInput(
            f"column {column.name!r} of {path} can't be a table's: {column.type.reason}, which tables can't hold; give a schema "
            f"without the column"
        )
    return Field(column.name, column.type, column.nullable)


# ---- types


def widened(left: SparkType, right: SparkType) -> SparkType | None:
    """The narrowest type that holds every value of both exactly, and in which readers can read both; None without one."""
    match left, right:
        case _ if left == right or right == VOID:
            return left
        case _ if left == VOID:
            return right
        case Atomic(one), Atomic(other):
            name = _wider_atomic(one, other)
            return None if name is None else Atomic(name)
        case ArrayOf(one_element, one_nulls), ArrayOf(other_element, other_nulls):
            element = widened(one_element, other_element)
            return None if element is None else ArrayOf(element, one_nulls or other_nulls)
        case MapOf(one_key, one_value, one_nulls), MapOf(other_key, other_value, other_nulls):
            key, value = widened(one_key, other_key), widened(one_value, other_value)
            return None if key is None or value is None else MapOf(key, value, one_nulls or other_nulls)
        case Struct(), Struct():
            return _wider_struct(left, right)
        case _:
            return None


def _wider_atomic(one: str, other: str) -> str | None:
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    if one in _EXACT_AS_DOUBLE and other in _EXACT_AS_DOUBLE:
        return "double"
    first, second = _as_decimal(one), _as_decimal(other)
    if first is None or second is None:
        return None
    scale = max(first[1], second[1])
    precision = max(first[0] - first[1], second[0] - second[1]) + scale
    return f"decimal({precision},{scale})" if precision <= _MAX_DIGITS else None


def _as_decimal(name: str) -> tuple[int, int] | None:
    return (_DIGITS[name], 0) if name in _DIGITS else decimal_of(name)


def _wider_struct(left: Struct, right: Struct) -> Struct | None:
    """Field by field; a field that only one side has becomes nullable."""
    others = {field.name: field for field in right.fields}
    fields: list[Field] = []
    for field in left.fields:
        other = others.pop(field.name, None)
        if other is None:
            fields.append(Field(field.name, field.type, nullable=True))
            continue
        type_ = widened(field.type, other.type)
        if type_ is None:
            return None
        fields.append(Field(field.name, type_, field.nullable or other.nullable))
    fields += [Field(field.name, field.type, nullable=True) for field in others.values()]
    return Struct(tuple(fields))


def _holds_void(type_: SparkType) -> bool:
    match type_:
        case Atomic():
            return type_ == VOID
        case ArrayOf(element):
            return _holds_void(element)
        case MapOf(key, value):
            return _holds_void(key) or _holds_void(value)
        case Struct(fields):
            return any(_holds_void(field.type) for field in fields)
        case _:
            assert_never(type_)


def _without_void(type_: SparkType) -> SparkType:
    match type_:
        case Atomic():
            return Atomic("string") if type_ == VOID else type_
        case ArrayOf(element, nulls):
            return ArrayOf(_without_void(element), nulls)
        case MapOf(key, value, nulls):
            return MapOf(_without_void(key), _without_void(value), nulls)
        case Struct(fields):
            return Struct(tuple(Field(field.name, _without_void(field.type), field.nullable) for field in fields))
        case _:
            assert_never(type_)


def _is_readable(stored: SparkType, wanted: SparkType) -> bool:
    """Whether readers convert one type to the other; a single value may still not fit."""
    if stored == VOID:
        return True
    match stored, wanted:
        case Atomic(one), Atomic(other):
            source, target = _family(one), _family(other)
            return source == target or (source == "integer" and target in ("floating", "decimal"))
        case ArrayOf(one_element), ArrayOf(other_element):
            return _is_readable(one_element, other_element)
        case MapOf(one_key, one_value), MapOf(other_key, other_value):
            return _is_readable(one_key, other_key) and _is_readable(one_value, other_value)
        case Struct(fields), Struct(others):
            held = {field.name: field.type for field in fields}
            return all(_is_readable(held[other.name], other.type) for other in others if other.name in held)
        case _:
            return False


def _family(name: str) -> str:
    if name in _INTEGERS:
        return "integer"
    if name in ("float", "double"):
        return "floating"
    if decimal_of(name) is not None:
        return "decimal"
    if name in ("string", "binary") or is_sized_text(name):
        return "text"
    return "timestamp" if name.startswith("timestamp") else name


def shown(type_: SparkType) -> str:
    """A type in few words."""
    match type_:
        case ArrayOf(element):
            return f"array<{shown(element)}>"
        case MapOf(key, value):
            return f"map<{shown(key)},{shown(value)}>"
        case Struct(fields):
            return f"struct<{', '.join(f'{field.name}: {shown(field.type)}' for field in fields[:_SHOWN_COLUMNS])}>"
        case _:
            return kind_name(type_)
