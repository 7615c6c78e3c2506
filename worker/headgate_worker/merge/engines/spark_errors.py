"""The exceptions of Spark, and their translation into errors of Headgate."""

from headgate_schemas.errors import HeadgateError

MAX_REASON_CHARS = 800
"""Of what Spark says: the stack traces of two machines follow."""
_INSTALL = (
    "install headgate[spark], and the extras for the tables' stores, for the Python of the worker and of the executors "
    "(PYSPARK_PYTHON)"
)
_ADVICE = {
    "ModuleNotFoundError": _INSTALL,
    "PACKAGE_NOT_INSTALLED": _INSTALL,
    "JAVA_GATEWAY_EXITED": "give this machine a Java that Spark runs on (`headgate doctor` tells), or merge on a cluster",
}
"""By a sign in what Spark says."""


class SparkFailed(HeadgateError):
    """The Spark cluster could not be reached, or didn't finish a merge. The message contains Spark's own."""


def spark_errors() -> tuple[type[Exception], ...]:
    """All exceptions of Spark's public functions: its own, those of the connection to its JVM, and broken connections."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ModuleNotFoundError:  # only the client of Spark Connect raises these
        return PySparkException, ConnectionError
    return PySparkException, Py4JError, ConnectionError


def spark_failed(what: str, error: BaseException) -> SparkFailed:
    said = " ".join(str(error).split())
    shown = said if len(said) <= MAX_REASON_CHARS else said[: MAX_REASON_CHARS - 1] + "…"
    advice = next((advice for sign, advice in _ADVICE.items() if sign in said), "see the cluster's own logs")
    return SparkFailed(f"{what}: {shown or type(error).__name__}. To mend it, {advice}")
