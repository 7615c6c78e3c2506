"""Columns in a form that Spark doesn't push into Parquet files.

Spark skips row groups by their statistics and dictionaries. That loses rows where Spark reads more into them than they
state: most writers leave NaN out of statistics, and a dictionary with -0.0 seems to lack 0.0. Spark evaluates a
computed column row by row, even if it is computed from nothing but itself.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType


def column_named(name: str) -> "Column":
    """The column itself, with any characters in its name."""
    from pyspark.sql import functions

    return functions.col(f"`{name.replace('`', '``')}`")


def unpushed_number(column: "Column") -> "Column":
    """The same floating point numbers."""
    from pyspark.sql import functions

    return functions.nanvl(column, column)


def without_pushing_floats(frame: "DataFrame", schema: "StructType") -> "DataFrame":
    """The frame with the same rows and columns, whose types are in `schema`."""
    if not any(_holds_floats(field.dataType) for field in schema.fields):
        return frame
    return frame.select(
        *(
            _unpushed(column_named(field.name), field.dataType).alias(field.name, metadata=field.metadata)
            if _holds_floats(field.dataType)
            else column_named(field.name)
            for field in schema.fields
        )
    )


def _unpushed(column: "Column", type_: "DataType") -> "Column":
    from pyspark.sql import functions
    from pyspark.sql.types import StructType

    return functions.coalesce(column, column) if isinstance(type_, StructType) else unpushed_number(column)


def _holds_floats(type_: "DataType") -> bool:
    """Whether Spark would push conditions on floating point numbers: top-level ones, and those in structs."""
    from pyspark.sql.types import DoubleType, FloatType, StructType

    if isinstance(type_, StructType):
        return any(_holds_floats(field.dataType) for field in type_.fields)
    return isinstance(type_, DoubleType | FloatType)
