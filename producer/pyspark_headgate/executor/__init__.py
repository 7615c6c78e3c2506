"""What runs in Spark's tasks: reading rows of data files, and writing Parquet files by partition and size.

It needs PyArrow and the standard library, and none of the other rooms, because executors have nothing else of
Headgate installed. That is why some short modules, such as `fsync` and `stored_names`, repeat what the table room
has.

Begin with `parquet_parts` for writing and `file_rows` for reading. Files that a task wrote are in no table until the
driver commits them.
"""
