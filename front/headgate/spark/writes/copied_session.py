"""The same rows in a copy of their session with other settings: Spark knows some of what a writer does as settings only, and in the
session itself others may be writing. Owns what it takes of Spark's private parts, and says so when a Spark has others."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_REASON_CHARS = 500


class SessionNotCopied(Exception):
    """There is no copy of the session for these rows. The message says why."""


class SessionCopy:
    """Makes a copy when it is first needed, and keeps it: a stream comes back with the same session for each of its batches, and
    what a new one has to set up takes a tenth of a second."""

    def __init__(self) -> None:
        self._kept: tuple[object, Any] | None = None

    def of(self, rows: "DataFrame", settings: Mapping[str, str]) -> "DataFrame":
        """For a session with a JVM. What the rows are is settled already; `settings` are for what is done with them.

        Raises `SessionNotCopied`.
        """
        from py4j.protocol import Py4JError
        from pyspark.sql import DataFrame

        own: Any = rows.sparkSession
        given: Any = rows
        try:
            analyzed = given._jdf.queryExecution().analyzed()
            if analyzed.containsPattern(own._jvm.org.apache.spark.sql.catalyst.trees.TreePattern.COLLECT_METRICS()):
                raise SessionNotCopied("the rows are observed, and who waits for what was observed would wait for ever")
            copied = self._copied(own, settings)
            frame = own._jvm.org.apache.spark.sql.classic.Dataset.ofRows(copied._jsparkSession, analyzed)
            return DataFrame(frame, copied)
        except (Py4JError, TypeError, AttributeError) as error:
            # A name that isn't there is a package to py4j, and a package can't be called.
            raise SessionNotCopied(" ".join(str(error).split())[:MAX_REASON_CHARS]) from error

    def _copied(self, own: Any, settings: Mapping[str, str]) -> Any:
        from pyspark.sql import SparkSession

        key = own._jsparkSession.sessionUUID(), tuple(settings.items())
        if self._kept is None or self._kept[0] != key:
            made = own._jsparkSession.cloneSession()
            for name, value in settings.items():
                made.conf().set(name, value)
            self._kept = key, SparkSession(own.sparkContext, made)
        return self._kept[1]
