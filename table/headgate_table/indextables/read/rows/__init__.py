"""Rows of data files: scanned in bounded memory, in the table's types, with partition values as columns, and filtered.

`Snapshot.scan`, merges and Spark call it. Reading never changes a value: a lossy conversion is an error.

Begin with `scan`, then `row_shape` and `row_filter`. `column_defaults` is short and apart because Spark's readers share
it.
"""
