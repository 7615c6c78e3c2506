"""What a `SparkSession` says about a table: its `spark.headgate.*` and `spark.indextables.*`, and its own S3 settings.

A Python data source doesn't see the session's settings, so whoever has the session hands them on as options.
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
    """Options of `format("headgate")` for the table at `uri`: those given, over the session's own."""
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
    """What is in force for the table at `uri`, for what the driver itself does there."""
    # Reads the environment when it is asked to, and imports the table room.
    from pyspark_headgate.effective_settings import effective

    return effective(SourceOptions.of(session_options(session, uri, options)))


def _settings(session: "SparkSession") -> dict[str, str]:
    """Everything the session is set to. On Spark Connect, what its server tells."""
    found: Mapping[str, str] = session.conf.getAll
    return dict(found)
