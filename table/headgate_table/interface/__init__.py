"""The interface of a table for its users, whatever its format, and the values of its answers.

`headgate_table.table` calls it, `headgate_table.indextables` and `headgate_table.milvus` implement it, and neither of
the two imports the other.

Begin with `table_format` and `snapshot`.
"""
