"""Spark finds this package by its name, and in it the data source of `format("headgate")`.

Spark imports it whenever any data source is looked up, so that importing it is cheap and never raises.
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
