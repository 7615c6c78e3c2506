"""SQL in a Spark session: operator statements, tables named by paths, and table functions.

`headgate.spark.enable`, `disable` and `sql` call it. They change one session only, and pass all other text to Spark
unchanged.

Begin with `enabling`, then `operator_sql` and `path_queries`. `arrow_frames` is short and apart because all results use
it.
"""
