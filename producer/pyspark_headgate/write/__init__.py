"""Writing to a table from Spark, on the driver: what tasks are to write, and the commit of what they wrote.

`source` calls it for batch and stream writes, and `headgate.spark.write` for Spark's own Parquet writer. The files of
a write are in one version or in none. A micro-batch that is replayed is recognised by its query and number.

Begin with `stream_sink` or `batch_sink`, then `commit_files`, where both meet.
"""
