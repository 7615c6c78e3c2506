"""SQL in a Spark session: operator statements, tables named by paths, and table functions.

`headgate.spark.enable`, `disable` and `sql` call it. One session is changed, and all other text goes to Spark as it
is.

Begin with `enabling`, then `operator_sql` and `path_queries`. `arrow_frames` is short and apart because all results
go through it.
"""
