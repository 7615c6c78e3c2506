"""Parquet footers: their bounds, schemas and statistics, in the texts and types of a table.

Data files are described with it when they are added, merged, verified or repaired. Only the end of a file is read. It
has its own decoder, because a damaged footer crashes PyArrow's.

Begin with `footer`, then `bounds` and `schema`.
"""
