"""Spark finds this package by its name, and in it the data source of `format("headgate")`.

Spark imports it whenever any data source is looked up, so that importing it is cheap and never raises. It plans and
commits on the driver, and reads and writes files in tasks. Executors need PyArrow and this package, and nothing else
of Headgate.

Begin with `source`. `write` and `read` are the two directions, `changes` the stream of changes, `executor` what runs
in tasks.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark_headgate.source import HeadgateSource as DefaultSource

__all__ = ["DefaultSource"]


def __getattr__(name: str) -> object:
    if name != "DefaultSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from pyspark_headgate.source import HeadgateSource
    except ImportError as error:
        # A Spark without Python data sources: one that fails here would break every format of that session.
        raise AttributeError(f"there is no data source in {__name__!r}: {error}") from error
    globals()[name] = HeadgateSource
    return HeadgateSource
