"""Rows that come from Python, as files of a table: taken from any Arrow producer, split by partition, written in bounded memory.

`Table.write`, `Producer.write`, `headgate.write` and `headgate load` call it. Nothing of the table changes before all files are there, and what
a failure leaves is named by no log. Spark's sinks share the rules: which rows fit (`headgate_schemas.columns.rows_fit`), which
values are storable (`row_columns`), how a table is made and widened (`evolving`).

Begin with `writing`, then `incoming` and `file_writer`. `row_columns` and `partition_split` are short and apart because Spark's
executors have copies of them; merges use `output_file`, too.
"""
