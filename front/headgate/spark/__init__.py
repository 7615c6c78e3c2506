"""Headgate in a Spark program: reads, writes and statements with a `SparkSession`. Each name is loaded at its first
use.

Users call it as `headgate.spark`. The data source of `format("headgate")` is in `pyspark_headgate`; this package adds
the functions that need the session.

Begin with `lake_table` for the object with all methods, then `reads`, `writes` and `statements`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.spark.java_home import local_environment as local_environment
    from headgate.spark.lake_table import HeadgateTable as HeadgateTable
    from headgate.spark.reads.reading import read as read
    from headgate.spark.reads.stream_reading import read_stream as read_stream
    from headgate.spark.statements.enabling import disable as disable
    from headgate.spark.statements.enabling import enable as enable
    from headgate.spark.statements.operator_sql import sql as sql
    from headgate.spark.writes.sinking import sink as sink
    from headgate.spark.writes.writing import write as write

# No module may have one of these names: importing it anywhere would replace the function by the module.
_HOMES = {
    "HeadgateTable": "headgate.spark.lake_table",
    "disable": "headgate.spark.statements.enabling",
    "enable": "headgate.spark.statements.enabling",
    "local_environment": "headgate.spark.java_home",
    "read": "headgate.spark.reads.reading",
    "read_stream": "headgate.spark.reads.stream_reading",
    "sink": "headgate.spark.writes.sinking",
    "sql": "headgate.spark.statements.operator_sql",
    "write": "headgate.spark.writes.writing",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
