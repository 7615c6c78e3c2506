"""Reads a table as a DataFrame by Spark's own Parquet reader, without listing a store.

`headgate.spark.read` and SQL over paths call it. The log gives the files of a version, and rows are filtered as in SQL.
A session without access to Spark's internals gets the same rows by public means.

Begin with `reading`, then `native_scan`. `stream_reading` is short and apart because it needs none of the rest.
"""
