"""Copies of a session with other settings, for writing its rows.

Spark accepts some options of a writer only as settings of the session, and other threads may be writing in the session
itself. This module owns the private parts of Spark that it uses, and reports a Spark with different ones.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MAX_REASON_CHARS = 500


class SessionNotCopied(Exception):
    """The session can't be copied for these rows. The message gives the reason."""


class SessionCopy:
    """Makes a copy at its first use, and keeps it: all batches of a stream use the same session, and a new copy takes a
    tenth of a second.
    """

    def __init__(self) -> None:
        self._kept: tuple[object, Any] | None = None

    def of(self, rows: "DataFrame", settings: Mapping[str, str]) -> "DataFrame":
        """The rows in the copied session; needs a session with a JVM. The rows are defined already; `settings` apply to
        writing them.

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
            # py4j treats an unknown name as a package, which can't be called.
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
