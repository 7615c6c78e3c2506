"""What a table is to its users, whatever its format: what a format must do, and the values of which its answers are made.

`headgate_table.table` asks, `headgate_table.indextables` and `headgate_table.milvus` answer, and neither knows of the other.

Begin with `table_format` and `snapshot`.
"""
