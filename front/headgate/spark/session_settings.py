"""The settings of a `SparkSession` for a table: its `spark.headgate.*` and `spark.indextables.*`, and its own S3
settings.

A Python data source doesn't see the session's settings, so callers with a session pass them on as options.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark_headgate.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pyspark_headgate.effective_settings import Effective

_OF_TABLES = ("spark.headgate.", "spark.indextables.")
_OF_HADOOP = "spark.hadoop."
_OF_S3 = "fs.s3a."


def session_options(session: "SparkSession", uri: str, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Options of `format("headgate")` for the table at `uri`: the given ones override the session's own."""
    found: dict[str, str] = {}
    takes_s3 = uri.lower().startswith(("s3:", "s3a:", "s3n:"))
    for key, text in _settings(session).items():
        name = key.lower()
        if name.startswith(_OF_TABLES):
            found[name] = text
        elif takes_s3 and name.startswith((_OF_HADOOP + _OF_S3, _OF_S3)):
            found[name.removeprefix(_OF_HADOOP)] = text
    given = {key.lower(): text for key, text in (options or {}).items()}
    return found | given | {"path": uri}


def session_settings(session: "SparkSession", uri: str, options: Mapping[str, str] | None = None) -> "Effective":
    """The effective settings for the table at `uri`, for work on the driver itself."""
    # Reads the environment when it is called, and imports the table room.
    from pyspark_headgate.effective_settings import effective

    return effective(SourceOptions.of(session_options(session, uri, options)))


def _settings(session: "SparkSession") -> dict[str, str]:
    """All settings of the session. On Spark Connect, those of its server."""
    found: Mapping[str, str] = session.conf.getAll
    return dict(found)
