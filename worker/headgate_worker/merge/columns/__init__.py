"""Columns of a merge: which ones the output has, and how each source's columns become them without loss.

The merge engines and `sources` call it. A conversion that would lose a value is refused before a row is read.

Begin with `columns`. `inner_nulls` is short and apart because it makes up for one gap of Arrow's casts.
"""
