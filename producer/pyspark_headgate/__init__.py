"""The data source of `format("headgate")`. Spark finds this package by its name.

Spark imports it whenever it looks up any data source, so importing it is cheap and never raises. It plans and commits
on the driver, and reads and writes files in tasks. Executors need PyArrow and this package, and no other part of
Headgate.

Begin with `source`. `write` and `read` are the two directions, `changes` is the stream of changes, and `executor` runs
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
        # A Spark without Python data sources: an error here would break every format of its session.
        raise AttributeError(f"there is no data source in {__name__!r}: {error}") from error
    globals()[name] = HeadgateSource
    return HeadgateSource
