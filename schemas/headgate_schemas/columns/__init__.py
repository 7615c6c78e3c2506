"""The columns of a table: names, types, schema texts, and how values of a type compare.

Rules, pruning, row readers and Spark all call it, so that a type means the same everywhere. Nothing here reads a
file. A type that is not known is an error or "unknown", never a guess.

Begin with `table_schema` and `column_kinds`. `column_names` and `near_names` are short and apart because each is one
rule about names that many rooms share.
"""
