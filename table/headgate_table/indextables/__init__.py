"""The IndexTables V4 log: version files in JSON, states in Avro, and everything that reads, writes, checks or mends
them.

`headgate_table.table` and the committer call it. docs/format.md is the specification, and modules cite its sections.

Begin with `format` (the files), `log` (which version is the newest), `read` (its live files and rows), `rules` (what
is allowed) and `write` (the next version). The other folders are maintenance and history.
"""
