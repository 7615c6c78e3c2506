"""The columns of a merge's output, and the lossless conversion of each source's columns.

The merge engines and `sources` call it. A conversion that would lose a value is refused before a row is read.

Begin with `columns`. `inner_nulls` is short and apart because it closes one gap of Arrow's casts.
"""
