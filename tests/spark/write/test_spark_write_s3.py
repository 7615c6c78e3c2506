"""Writing from Spark to an object store, by the data source's options and by the session's own S3 settings."""

from typing import TYPE_CHECKING

import pytest

from headgate.spark import write
from headgate_table.table import Table
from support.servers.versitygw import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def uri(s3_bucket: str) -> str:
    return f"s3a://{s3_bucket}/lake/t"


def ids(uri: str, server: S3Server) -> list[int]:
    found: list[int] = Table.open(uri, server.settings()).snapshot().scan(["id"]).read_all().column("id").to_pylist()
    return sorted(found)


def test_options_say_how_to_get_at_the_store(spark: "SparkSession", uri: str, versitygw: S3Server) -> None:
    rows = spark.range(0, 4, 1, 2).selectExpr("id", "concat('a/b ', id % 2) AS k")
    options = {
        "s3.endpoint": versitygw.endpoint,
        "s3.access-key": versitygw.access_key,
        "s3.secret-key": versitygw.secret_key,
        "partitionBy": "k",
    }
    rows.write.format("headgate").mode("append").options(**options).save(uri)
    assert ids(uri, versitygw) == [0, 1, 2, 3]


def test_the_sessions_own_s3_settings_will_do(spark: "SparkSession", uri: str, versitygw: S3Server) -> None:
    settings = {
        "spark.hadoop.fs.s3a.endpoint": versitygw.endpoint,
        "spark.hadoop.fs.s3a.access.key": versitygw.access_key,
        "spark.hadoop.fs.s3a.secret.key": versitygw.secret_key,
    }
    for key, text in settings.items():
        spark.conf.set(key, text)
    try:
        write(spark.range(3), uri)
    finally:
        for key in settings:
            spark.conf.unset(key)
    assert ids(uri, versitygw) == [0, 1, 2]


def test_a_wrong_secret_is_told_without_showing_it(spark: "SparkSession", uri: str, versitygw: S3Server) -> None:
    from headgate_table.errors import StoreError

    with pytest.raises(StoreError) as caught:
        write(
            spark.range(1),
            uri,
            options={
                "s3.endpoint": versitygw.endpoint,
                "s3.access-key": versitygw.access_key,
                "s3.secret-key": "a-wrong-secret",
            },
        )
    assert "a-wrong-secret" not in str(caught.value)
