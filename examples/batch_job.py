"""A batch job in Spark: counts one table's rows by country, and replaces just these countries in another table.

    python examples/batch_job.py kafka://127.0.0.1:9092 lake/clicks lake/clicks-by-country

It takes what streaming_sink.py beside this has written. Run it as often as you like: each run is one version.
"""

import os
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import count
from pyspark.sql.functions import max as latest

import headgate
import headgate.spark


def main(bus: str, clicks: str, totals: str) -> None:
    spark = SparkSession.builder.appName("clicks-by-country").getOrCreate()

    # One version of the table, whatever comes meanwhile. Spark reads its files by itself: nothing is listed.
    rows = headgate.spark.read(spark, clicks)
    found = rows.groupBy("country").agg(count("*").alias("clicks"), latest("day").alias("last_day"))

    receipt = headgate.spark.write(
        found, totals, mode="overwrite", bus=bus, partitionBy="country", partitionOverwriteMode="dynamic"
    )
    match receipt:
        case headgate.Committed(version=version) | headgate.Duplicate(version=version):
            print(f"committed as version {version}")
        case None:
            print("there was nothing to count")
    for row in headgate.spark.read(spark, totals).orderBy("country").collect():
        print(f"{row.country}: {row.clicks} clicks, last on {row.last_day}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} BUS CLICKS TOTALS")
    os.environ |= headgate.spark.local_environment()
    try:
        main(*sys.argv[1:])
    except headgate.HeadgateError as error:
        sys.exit(str(error))
