"""Rows of data files: scanned in bounded memory, in the table's types, with partition values as columns, and filtered.

`Snapshot.scan`, merges and Spark call it. Values are never changed by reading: what can't be converted without loss
is an error.

Begin with `scan`, then `row_shape` and `row_filter`. `column_defaults` is short and apart because Spark's readers
share it.
"""
