"""A Spark session on this machine: two cores, nothing outside of a scratch folder, nothing that listens to others."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from headgate.spark.java_home import local_environment
from headgate_worker.merge.engines.spark_session import spark_session
from support.processes.isolated import module_path
from support.servers.processes import STOP_LIMIT_S, scratch_folder
from support.spark.kafka_connector import connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2,3]"
"""A task may fail twice, as on a cluster; plain `local[2]` gives up at the first failure."""
GENTLE_JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
LOOPBACK = "127.0.0.1"


def spark_settings(folder: Path) -> dict[str, str]:
    """With Spark's Kafka connector."""
    return {**local_settings(folder), "spark.jars": connector_jars()}


def local_settings(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": f"{GENTLE_JVM} -Dderby.system.home={folder / 'derby'}",
        "spark.local.dir": str(folder / "blocks"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.default.parallelism": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # How long a task that is cancelled may go on before its Python process is ended.
        "spark.python.task.killTimeout": "200ms",
    }


@contextmanager
def local_spark() -> "Iterator[SparkSession]":
    """Its Python processes find the modules that this one finds."""
    with scratch_folder("spark") as folder, ExitStack() as stack:
        environment = local_environment() | {
            "PYTHONPATH": module_path(),
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        with mock.patch.dict(os.environ, environment):
            session = stack.enter_context(spark_session(MASTER, spark_settings(folder)))
        gateway: Any = session.sparkContext._gateway
        try:
            yield session
        finally:
            stack.close()
            _end(gateway)


def _end(gateway: Any) -> None:
    """A stopped session leaves its JVM to the end of the process; we have no more use for it."""
    from pyspark import SparkContext

    gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    jvm: subprocess.Popen[bytes] = gateway.proc
    assert jvm.stdin is not None, "the JVM ends with its input"
    jvm.stdin.close()
    try:
        jvm.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        jvm.kill()
        jvm.wait(STOP_LIMIT_S)
