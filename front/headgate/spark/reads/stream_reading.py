"""`headgate.spark.read_stream`: a table as a stream of changes, with the session's own settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headgate.spark.session_settings import session_options
from headgate_schemas import arguments
from headgate_schemas.arguments import checked

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@checked(uri=arguments.address)
def read_stream(spark: "SparkSession", uri: str, *, options: Mapping[str, str] | None = None) -> "DataFrame":
    """The changes of the table at `uri`, as a streaming DataFrame. `options` are those of `format("headgate")`.

    It works as `spark.readStream.format("headgate").load(uri)`, but also uses the session's `spark.headgate.*` and
    `spark.hadoop.fs.s3a.*`.
    """
    taken = session_options(spark, uri, options)
    return spark.readStream.format("headgate").options(**taken).load()
