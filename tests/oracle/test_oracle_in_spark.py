"""Random histories that Spark takes part in: it writes files, and reads by its own reader and by the data source."""

from typing import TYPE_CHECKING

import pytest

from support.oracle.history import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = 3


@pytest.mark.parametrize("seed", range(SEEDS))
def test_spark_reads_the_rows_of_a_tables_history(spark: "SparkSession", seed: int) -> None:
    played = play(seed, spark=spark)
    assert not played.kind, f"{played.failure}\nreplay: {played.replay}"
