"""A table's columns: Spark's `schemaString` to Arrow and back, the rules for a table's columns, and their evolution.

Other modules read a schema from a file.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, assert_never, runtime_checkable

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
    parse_schema,
    print_schema,
)
from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

_METADATA_KEY = b"spark.metadata"
"""Where an Arrow field keeps the metadata of its column, as JSON."""

_TYPE_KEY = b"spark.type"
"""Where an Arrow field keeps a Spark type that Arrow has no equal of: varchar(n), char(n)."""


@runtime_checkable
class HasJson(Protocol):
    """A `pyspark.sql.types.StructType`, or any other object with Spark's JSON."""

    def json(self) -> str: ...


def schema_string_of(value: "pa.Schema | str | HasJson") -> str:
    """The `schemaString` for an Arrow schema, a column list in SQL, Spark's JSON, or a Spark StructType.

    Raises `InvalidInput` for an invalid schema: no columns, duplicate names, unknown types, too many or too deep.
    """
    struct = _struct_of(value)
    check_known(struct)
    return print_schema(struct)


def row_schema_string(schema: "pa.Schema") -> str:
    """The `schemaString` of rows that are to be fitted to a table: a column of nulls is `void`, and nothing else is
    checked.

    Raises `InvalidInput` for types that no table holds.
    """
    return print_schema(_struct_of(schema))


def _struct_of(value: "pa.Schema | str | HasJson") -> Struct:
    import pyarrow as pa

    if isinstance(value, str):
        if value.lstrip().startswith("{"):
            return parse_schema(value)
        from headgate_schemas.columns.schema_ddl import parse_ddl  # imports sqlglot, which only SQL needs

        return parse_ddl(value)
    if isinstance(value, pa.Schema):
        return Struct(tuple(_field_from_arrow(field, 0) for field in value))
    if isinstance(value, HasJson):
        return parse_schema(value.json())
    raise InvalidInput(
        f"a schema can't be made from {type(value).__name__}; give a pyarrow.Schema, a Spark StructType, "
        "Spark's JSON, or columns like 'id BIGINT, name STRING'"
    )


def column_kinds(schema_string: str) -> Mapping[str, str]:
    """Spark's name of the type of every top-level column, in order. Empty for a table with an unknown schema."""
    if not schema_string:
        return {}
    return {field.name: kind_name(field.type) for field in parse_schema(schema_string).fields}


def check_partition_columns(schema_string: str, partition_columns: Sequence[str]) -> None:
    """Raise `InvalidInput` unless the columns exist once each, hold plain values, and leave at least one other."""
    kinds = column_kinds(schema_string)
    for position, name in enumerate(partition_columns):
        if name in partition_columns[:position]:
            raise InvalidInput(f"the table is partitioned by {name!r} twice; name each column once")
        if name not in kinds:
            near = [column for column in kinds if name_key(column) == name_key(name)]
            hint = f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(kinds)[:300]}"
            raise InvalidInput(f"the table can't be partitioned by {name!r}, which is no column of its schema; {hint}")
        if kinds[name] in ("array", "map", "struct", "binary"):
            raise InvalidInput(
                f"the table can't be partitioned by {name!r} of type {kinds[name]}; only by plain values"
            )
    if kinds and len(partition_columns) == len(kinds):
        raise InvalidInput("the table can't be partitioned by all of its columns; leave one for the files to hold")


def additive_evolution(old: str, new: str) -> str | None:
    """The reason why the schema can't become `new`; None if it only gains nullable columns at its end, or doesn't
    change.
    """
    before, after = parse_schema(old).fields, parse_schema(new).fields
    for position, field in enumerate(before):
        if position >= len(after):
            return f"column {field.name!r} is missing; columns can't be dropped"
        reason = _change(field, after[position])
        if reason:
            return reason
    taken = {name_key(field.name) for field in before}
    added = after[len(before) :]
    for field in added:
        if name_key(field.name) in taken:
            return f"column {field.name!r} is there already (case is ignored)"
        if not field.nullable:
            return f"new column {field.name!r} is NOT NULL; files written before don't have it, so it must be nullable"
        taken.add(name_key(field.name))
    if added:
        try:
            check_known(Struct(added))
        except InvalidInput as error:
            return f"the new columns can't be a table's: {error}"
    return None


def _change(old: Field, new: Field) -> str | None:
    if old.name != new.name:
        return f"column {old.name!r} became {new.name!r}; columns can't be renamed, moved or dropped"
    if old.type != new.type:
        return (
            f"column {old.name!r} changed its type ({kind_name(old.type)} to {kind_name(new.type)}); types can't change"
        )
    if old.nullable != new.nullable:
        return f"column {old.name!r} changed whether it may be null; that can't change"
    if dict(old.metadata) != dict(new.metadata):
        return f"column {old.name!r} changed its metadata; existing columns stay as they are"
    return None


# ---- Spark to Arrow


def arrow_schema(schema_string: str) -> "pa.Schema":
    """The schema of the table's rows. Raises `InvalidInput` for types without an Arrow type."""
    import pyarrow as pa

    return pa.schema([_field_to_arrow(field, f"column {field.name!r}") for field in parse_schema(schema_string).fields])


def _field_to_arrow(field: Field, place: str) -> "pa.Field[Any]":
    import pyarrow as pa

    metadata: dict[bytes | str, bytes | str] = {}
    if field.metadata:
        metadata[_METADATA_KEY] = json.dumps(dict(field.metadata), ensure_ascii=False).encode("utf-8")
    _note_type(field.type, metadata)
    return pa.field(field.name, _to_arrow(field.type, place), field.nullable, metadata or None)


def _inner_field(name: str, type_: SparkType, nullable: bool, place: str) -> "pa.Field[Any]":
    return _field_to_arrow(Field(name, type_, nullable), f"{place}.{name}")


def _note_type(type_: SparkType, metadata: dict[bytes | str, bytes | str]) -> None:
    if isinstance(type_, Atomic) and is_sized_text(type_.name):
        metadata[_TYPE_KEY] = type_.name.encode("ascii")


def _to_arrow(type_: SparkType, place: str) -> "pa.DataType":
    import pyarrow as pa

    match type_:
        case Atomic(name):
            return _atomic_to_arrow(name, place)
        case ArrayOf(element, contains_null):
            return pa.list_(_inner_field("element", element, contains_null, place))
        case MapOf(key, value, nulls):
            return pa.map_(_inner_field("key", key, False, place), _inner_field("value", value, nulls, place))
        case Struct(fields):
            return pa.struct([_field_to_arrow(field, f"{place}.{field.name}") for field in fields])
        case _:
            assert_never(type_)


def _atomic_to_arrow(name: str, place: str) -> "pa.DataType":
    import pyarrow as pa

    plain = {
        "string": pa.string(),
        "binary": pa.binary(),
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    if name in plain:
        return plain[name]
    if is_sized_text(name):
        return pa.string()
    decimal = decimal_of(name)
    if decimal is not None and 1 <= decimal[0] <= 38:
        return pa.decimal128(*decimal)
    raise InvalidInput(f"{place} has the type {name!r}, which has no Arrow form; read the other columns without it")


# ---- Arrow to Spark


def _field_from_arrow(field: "pa.Field[Any]", depth: int, place: str = "") -> Field:
    where = f"{place}.{field.name}" if place else f"column {field.name!r}"
    notes = field.metadata or {}
    noted = notes.get(_TYPE_KEY)
    type_ = _from_arrow(field.type, where, depth)
    if noted is not None and type_ == Atomic("string"):
        type_ = Atomic(noted.decode("utf-8", "replace"))
    return Field(field.name, type_, field.nullable, _metadata_from_arrow(notes.get(_METADATA_KEY), where))


def _metadata_from_arrow(text: bytes | None, place: str) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the Arrow metadata {_METADATA_KEY.decode()!r} of {place} is not JSON; remove it"
        ) from error
    if not isinstance(metadata, dict):
        raise InvalidInput(f"the Arrow metadata {_METADATA_KEY.decode()!r} of {place} is no JSON object; remove it")
    return metadata


def _from_arrow(type_: "pa.DataType", place: str, depth: int) -> SparkType:
    import pyarrow as pa
    from pyarrow import types

    if depth > 100:
        raise InvalidInput(f"{place[:200]} is nested too deeply")
    if isinstance(type_, pa.DictionaryType):
        return _from_arrow(type_.value_type, place, depth + 1)
    if isinstance(type_, pa.BaseExtensionType):
        return _from_arrow(type_.storage_type, place, depth + 1)
    if isinstance(type_, pa.StructType):
        return Struct(tuple(_field_from_arrow(field, depth + 1, place) for field in type_.fields))
    if isinstance(type_, pa.MapType):
        key = _field_from_arrow(type_.key_field, depth + 1, place)
        item = _field_from_arrow(type_.item_field, depth + 1, place)
        return MapOf(key.type, item.type, item.nullable)
    if isinstance(
        type_, pa.ListType | pa.LargeListType | pa.FixedSizeListType | pa.ListViewType | pa.LargeListViewType
    ):
        element = _field_from_arrow(type_.value_field, depth + 1, place)
        return ArrayOf(element.type, element.nullable)
    if isinstance(type_, pa.TimestampType):
        return Atomic("timestamp_ntz" if type_.tz is None else "timestamp")
    if types.is_decimal(type_):
        return Atomic(f"decimal({type_.precision},{type_.scale})")
    for is_type, name in _ARROW_ATOMICS:
        if getattr(types, is_type)(type_):
            return Atomic(name)
    raise InvalidInput(f"{place} has the Arrow type {type_}, which tables can't hold; cast it first")


_ARROW_ATOMICS = (
    ("is_null", "void"),
    ("is_string", "string"),
    ("is_large_string", "string"),
    ("is_string_view", "string"),
    ("is_boolean", "boolean"),
    ("is_int8", "byte"),
    ("is_int16", "short"),
    ("is_int32", "integer"),
    ("is_int64", "long"),
    # An unsigned type becomes the smallest signed one that holds all of its values.
    ("is_uint8", "short"),
    ("is_uint16", "integer"),
    ("is_uint32", "long"),
    ("is_uint64", "decimal(20,0)"),
    ("is_float16", "float"),
    ("is_float32", "float"),
    ("is_float64", "double"),
    ("is_date", "date"),
    ("is_binary", "binary"),
    ("is_large_binary", "binary"),
    ("is_binary_view", "binary"),
    ("is_fixed_size_binary", "binary"),
)
"""The test in `pyarrow.types` and Spark's name."""
