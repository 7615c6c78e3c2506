"""Spark's Kafka connector for tests: the jars that the lock beside this module names, which PySpark doesn't bring along."""

from pathlib import Path

from support.servers.maven_jars import Jar, locked_jars, provide_jars

VERSION = "4.2.0"
"""Of the connector itself. Newer releases of Spark run it; one of Spark's own version isn't always published."""
LOCK = Path(__file__).with_name(f"spark-sql-kafka-{VERSION}.lock")


def connector_jars(cache: Path | None = None) -> str:
    """As the setting `spark.jars` wants them."""
    folder = provide_jars("spark-sql-kafka", VERSION, LOCK, cache)
    return ",".join(str(folder / jar.file_name) for jar in the_jars())


def the_jars() -> list[Jar]:
    return locked_jars(LOCK.read_text())
