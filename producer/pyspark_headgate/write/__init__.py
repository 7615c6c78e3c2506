"""Writes to a table from Spark, on the driver: the plan for the tasks, and the commit of their files.

`source` calls it for batch and stream writes, and `headgate.spark.write` for Spark's own Parquet writer. The files of a
write are in one version or in none. A repeated micro-batch is recognised by its query and number.

Begin with `stream_sink` or `batch_sink`, then `commit_files`, which both use.
"""
