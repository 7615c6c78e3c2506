"""Writing a DataFrame or a stream to a table with a `SparkSession` in hand, by Spark's own Parquet writer where that is
right.

`headgate.spark.write` and `headgate.spark.sink` call it. The commit is the data source's own
(`pyspark_headgate.write`), with the same promises.

Begin with `writing` and `sinking`, then `new_files`.
"""
