"""Reading a table as a DataFrame that Spark's own Parquet reader fills, without listing a store.

`headgate.spark.read` and SQL over paths call it. Rows are those of the log's version, filtered as SQL says. A session
that can't be served natively gets the same rows by public means.

Begin with `reading`, then `native_scan`. `stream_reading` is short and apart because it needs none of the rest.
"""
