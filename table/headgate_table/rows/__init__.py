"""Writes rows from Python as files of a table: taken from any Arrow producer, split by partition, in bounded memory.

`Table.write`, `Producer.write`, `headgate.write` and `headgate load` call it. The table doesn't change before all files
are written, and no log names the files of a failure. Spark's sinks share the rules: which rows fit
(`headgate_schemas.columns.rows_fit`), which values can be stored (`row_columns`), and how a table is created and gets
new columns (`evolving`).

Begin with `writing`, then `incoming` and `file_writer`. `row_columns` and `partition_split` are short and apart because
Spark's executors have copies of them; merges use `output_file`, too.
"""
