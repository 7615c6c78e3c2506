"""The fixture of the Spark session: one for all tests, started when the first of them asks for it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    # Every run of pytest loads this module, and only some need Spark.
    from support.spark.session import local_spark

    with local_spark() as session:
        yield session
