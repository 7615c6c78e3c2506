"""The values of older files for a later column with a default: the value in the column's metadata, as Spark keeps it."""

import re
from collections.abc import Mapping
from datetime import datetime

import pyarrow as pa

from headgate_schemas.columns.column_kinds import column_kind, literal_value
from headgate_schemas.columns.spark_types import Field, kind_name, parse_schema
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.tree import Comparison, Op

EXISTENCE_DEFAULT = "EXISTS_DEFAULT"
"""Spark's key: the default when the column was added, as SQL. A default that was changed since is for new rows only."""

_CAST = re.compile(r"CAST\((.*) AS [A-Z_]+(?:\([0-9, ]+\))?\)", re.IGNORECASE | re.DOTALL)


def column_defaults(schema_string: str, schema: pa.Schema) -> Mapping[str, pa.Scalar | None]:
    """The typed default of each column of `schema` that has one; None for an unknown form (other than a plain literal)."""
    found: dict[str, pa.Scalar | None] = {}
    for field in parse_schema(schema_string).fields:
        text = field.metadata.get(EXISTENCE_DEFAULT)
        if isinstance(text, str) and field.name in schema.names and text.strip().upper() != "NULL":
            found[field.name] = _scalar(text, field, schema.field(field.name).type)
    return found


def _scalar(text: str, field: Field, type_: pa.DataType) -> pa.Scalar | None:
    # These import sqlglot, which hardly any table needs.
    from headgate_schemas.predicates.text import parse_predicate
    from headgate_table.indextables.read.rows.row_filter import nearest

    cast = _CAST.fullmatch(text.strip())
    try:
        said = parse_predicate(f"`c` = {cast[1] if cast else text}")
        if not isinstance(said, Comparison) or said.op is not Op.EQ:
            return None
        if isinstance(said.value, datetime) and said.value.tzinfo is None and type_.tz is not None:
            return None  # a timestamp in the unknown zone of an earlier session
        value, side = nearest(literal_value("c", column_kind(kind_name(field.type)), said.value), type_)
    except InvalidInput:
        return None
    return value if side == 0 else None
