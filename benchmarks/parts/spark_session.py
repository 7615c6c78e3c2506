"""The Spark session that benchmarks measure in: all cores of this machine, one JVM, nothing that others could see."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.spark.java_home import local_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
MEMORY = "2g"
LOOPBACK = "127.0.0.1"


def prepare_environment() -> None:
    """Before the first session of this process."""
    os.environ |= local_environment() | {
        "SPARK_LOCAL_IP": LOOPBACK,
        "PYTHONPATH": os.pathsep.join(place for place in sys.path if place),
    }


def quiet_settings(folder: Path) -> dict[str, str]:
    """Spark's defaults, but for where things lie, who sees them, and how much is printed."""
    return {
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder / 'derby'}",
        "spark.local.dir": str(folder / "blocks"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }


@contextmanager
def measured_session(folder: Path, settings: Mapping[str, str] | None = None) -> "Iterator[SparkSession]":
    from pyspark.sql import SparkSession

    prepare_environment()
    place = folder / "session"
    builder = SparkSession.builder.master(MASTER).appName("benchmarks")
    for key, value in (quiet_settings(place) | dict(settings or {})).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()
        shutil.rmtree(place, ignore_errors=True)
