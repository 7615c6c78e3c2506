"""Whether rows of one schema can be written to a table of another, and the table's schema afterwards. Pure.

Every writer of rows uses it: Spark's sinks, and rows from Python.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.columns.spark_types import (
    ArrayOf,
    Atomic,
    Field,
    MapOf,
    SparkType,
    Struct,
    decimal_of,
    is_sized_text,
    kind_name,
    parse_schema,
    print_schema,
)
from headgate_schemas.columns.table_schema import check_partition_columns, schema_string_of
from headgate_schemas.errors import InvalidInput

_WHOLE = {"byte": 3, "short": 5, "integer": 10, "long": 19}
"""Whole numbers, narrow to wide, with the digits that they may have."""
_TO_DOUBLE = ("byte", "short", "integer", "float")
_TO_FLOAT = ("byte", "short")


@dataclass(frozen=True, slots=True)
class RowsFit:
    """How rows are written to a table."""

    schema_string: str
    """Of the table, once they are in it."""
    sources: Mapping[str, int]
    """By column of the table, the place of the rows' own column."""
    new_columns: tuple[str, ...] = ()
    """Columns that the table has to be given first."""


def fit_rows(
    rows: str, table: str, address: str, *, merge_schema: bool, adds_by: str | None = "the option mergeSchema"
) -> RowsFit:
    """The first two are schemas in Spark's JSON. `adds_by` names the setting by which a user allows new columns.

    Raises `InvalidInput` with the column that doesn't fit, and the reason.
    """
    given, held = parse_schema(rows), parse_schema(table)
    _check_names(given)
    places = _places(given)
    sources: dict[str, int] = {}
    for field in held.fields:
        place = places.pop(name_key(field.name), None)
        if place is None:
            if not field.nullable:
                raise InvalidInput(
                    f"the rows have no column {field.name!r}, which the table at {address} needs: it is NOT NULL"
                )
            continue
        problem = _problem(given.fields[place].type, field.type, f"column {field.name!r}")
        if problem:
            raise InvalidInput(f"the rows don't fit into the table at {address}: {problem}")
        sources[field.name] = place
    added = [given.fields[place] for place in sorted(places.values())]
    if added and not merge_schema:
        names = ", ".join(repr(field.name) for field in added)
        way = "alter the table" if adds_by is None else f"set {adds_by} to true"
        raise InvalidInput(f"the table at {address} has no column {names}; leave it out, or {way} to add it")
    if not sources and not added:
        raise InvalidInput(f"the rows have no column of the table at {address}")
    _check_typed(added)
    new = tuple(_nullable_field(field) for field in added)
    sources |= {field.name: places[name_key(field.name)] for field in new}
    schema = Struct((*held.fields, *new))
    whole = schema_string_of(print_schema(schema)) if new else table
    return RowsFit(whole, sources, tuple(field.name for field in new))


def fit_new_table(rows: str, partition_by: Sequence[str]) -> RowsFit:
    """For a table that is created for these rows: all of its columns are nullable."""
    given = parse_schema(rows)
    _check_names(given)
    _check_typed(given.fields)
    whole = schema_string_of(print_schema(Struct(tuple(_nullable_field(field) for field in given.fields))))
    check_partition_columns(whole, partition_by)
    return RowsFit(whole, {field.name: place for place, field in enumerate(given.fields)})


def _check_names(rows: Struct) -> None:
    if not rows.fields:
        raise InvalidInput("the rows have no columns; select some before they are written")
    seen: dict[str, str] = {}
    for field in rows.fields:
        other = seen.setdefault(name_key(field.name), field.name)
        if other is not field.name:
            raise InvalidInput(
                f"the rows have {other!r} and {field.name!r}, which are one column (case is ignored); rename one"
            )


def _check_typed(new: Sequence[Field]) -> None:
    for field in new:
        if _is_untyped(field.type):
            raise InvalidInput(
                f"column {field.name!r} holds nothing but nulls, or empty lists, so that nobody knows its type, and the table has no "
                f"such column yet; cast it"
            )


def _is_untyped(type_: SparkType) -> bool:
    match type_:
        case Atomic(name):
            return name == "void"
        case ArrayOf(element):
            return _is_untyped(element)
        case MapOf(key, value):
            return _is_untyped(key) or _is_untyped(value)
        case Struct(fields):
            return any(_is_untyped(field.type) for field in fields)


def _places(rows: Struct) -> dict[str, int]:
    return {name_key(field.name): place for place, field in enumerate(rows.fields)}


def _problem(given: SparkType, held: SparkType, where: str) -> str | None:
    """The reason why some value of one type isn't one of the other. Nulls at the top level are checked when rows are
    written.
    """
    match given, held:
        case Atomic("void"), _:
            return None
        case Atomic(name), Atomic(wanted):
            if _widens(name, wanted):
                return None
        case ArrayOf(element, may_be_null), ArrayOf(wanted_element, takes_null):
            if may_be_null and not takes_null:
                return f"{where} may hold null elements, which the table's may not"
            return _problem(element, wanted_element, f"{where}.element")
        case MapOf(key, value, may_be_null), MapOf(wanted_key, wanted_value, takes_null):
            if may_be_null and not takes_null:
                return f"{where} may hold null values, which the table's may not"
            return _problem(key, wanted_key, f"{where}.key") or _problem(value, wanted_value, f"{where}.value")
        case Struct(fields), Struct(wanted_fields):
            return _struct_problem(fields, wanted_fields, where)
        case _:
            pass
    return f"{where} is {kind_name(given)} in the rows and {kind_name(held)} in the table; cast it"


def _struct_problem(given: Sequence[Field], held: Sequence[Field], where: str) -> str | None:
    names, wanted = [field.name for field in given], [field.name for field in held]
    if names != wanted:
        return f"{where} has the fields {', '.join(names)} in the rows and {', '.join(wanted)} in the table"
    for field, target in zip(given, held, strict=True):
        if field.nullable and not target.nullable:
            return f"{where}.{field.name} may be null in the rows, but not in the table"
        problem = _problem(field.type, target.type, f"{where}.{field.name}")
        if problem:
            return problem
    return None


def _widens(given: str, held: str) -> bool:
    if given == held:
        return True
    if is_sized_text(given) or given == "string":
        return held == "string" or is_sized_text(held)
    if given in _WHOLE and held in _WHOLE:
        return _WHOLE[given] < _WHOLE[held]
    if held == "double":
        return given in _TO_DOUBLE
    if held == "float":
        return given in _TO_FLOAT
    target, source = decimal_of(held), decimal_of(given)
    if target is None:
        return False
    if source is None:
        return given in _WHOLE and target[0] - target[1] >= _WHOLE[given]
    return target[1] >= source[1] and target[0] - target[1] >= source[0] - source[1]


def _nullable_field(field: Field) -> Field:
    return Field(field.name, _nullable(field.type), True, field.metadata)


def _nullable(type_: SparkType) -> SparkType:
    match type_:
        case Atomic():
            return type_
        case ArrayOf(element, _):
            return ArrayOf(_nullable(element), True)
        case MapOf(key, value, _):
            return MapOf(_nullable(key), _nullable(value), True)
        case Struct(fields):
            return Struct(tuple(_nullable_field(field) for field in fields))
