"""Composition: a session of a Spark cluster. Importing this module has no effect."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from headgate_worker.merge.engines.spark_errors import SparkFailed, spark_errors, spark_failed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APPLICATION = "headgate-merge"
_CONNECT = "sc://"


@contextmanager
def spark_session(address: str, settings: Mapping[str, str] | None = None) -> "Iterator[SparkSession]":
    """A session until the end of the block, for a process without another session.

    `address` is a Spark Connect server (`sc://host:port`) or a master (`spark://host:port`, `yarn`, `k8s://…`,
    `local[4]`); `settings` are Spark's own. Raises `SparkFailed` if no session can be opened.
    """
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        raise SparkFailed(
            "merging on Spark needs a library that is not installed: pip install 'headgate[spark]'"
        ) from error
    named = SparkSession.builder.appName(APPLICATION)
    builder = named.remote(address) if address.startswith(_CONNECT) else named.master(address)
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except spark_errors() as error:
        where = address.partition(";")[0]  # the rest of the address may hold a token
        raise spark_failed(f"no session could be had of the Spark cluster at {where}", error) from error
    try:
        yield session
    finally:
        session.stop()
