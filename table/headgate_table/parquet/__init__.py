"""Parquet footers: their bounds, schemas and statistics, in the texts and types of a table.

Data files are described with it when they are added, merged, verified or repaired. Only the end of a file is read.
Our own decoder is used because a damaged footer ends the process of PyArrow's.

Begin with `footer`, then `bounds` and `schema`.
"""
