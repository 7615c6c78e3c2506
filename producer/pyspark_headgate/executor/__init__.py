"""The code of Spark's tasks: it reads rows of data files, and writes Parquet files by partition and size.

It needs PyArrow and the standard library and none of the other rooms, because executors have no other part of Headgate
installed. Some short modules, such as `fsync` and `stored_names`, therefore repeat code of the table room.

Begin with `parquet_parts` for writing and `file_rows` for reading. Files that a task wrote are in no table until the
driver commits them.
"""
