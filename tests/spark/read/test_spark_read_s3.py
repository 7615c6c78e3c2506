"""Reading a table in a bucket: executors use what the driver was told, and nothing of their own environment."""

from typing import TYPE_CHECKING

import pyarrow as pa

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.open import open_store
from support.merging import append, new_parquet_table, put_file
from support.servers.versitygw import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_table_in_a_bucket_is_read_with_the_settings_of_the_options(
    spark: "SparkSession", versitygw: S3Server, s3_bucket: str
) -> None:
    settings = versitygw.settings()
    store = open_store(f"s3://{s3_bucket}/lake/a table", settings, SystemAmbient())
    table = new_parquet_table(store, "id BIGINT, part STRING", ["part"])
    part = pa.table({"id": [1, 2]})
    append(table, *(put_file(table, f"part={name}/f {name}.parquet", part, {"part": name}) for name in ("p", "q")))
    options = {
        "s3.endpoint": settings.s3_endpoint,
        "s3.region": settings.s3_region,
        "s3.access-key": settings.s3_access_key,
        "s3.secret-key": settings.s3_secret_key,
    }
    reader = spark.read.format("headgate").options(**{key: text for key, text in options.items() if text})
    found = reader.option("where", "part = 'q'").load(f"s3://{s3_bucket}/lake/a table").collect()
    assert sorted(tuple(row) for row in found) == [(1, "q"), (2, "q")]
