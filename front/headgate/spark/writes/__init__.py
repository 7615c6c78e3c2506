"""Writes a DataFrame or a stream to a table with a `SparkSession`, by Spark's own Parquet writer if possible.

`headgate.spark.write` and `headgate.spark.sink` call it. The commit is the data source's own
(`pyspark_headgate.write`), with the same promises.

Begin with `writing` and `sinking`, then `new_files`.
"""
