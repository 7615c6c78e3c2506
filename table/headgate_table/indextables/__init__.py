"""The IndexTables V4 log: version files in JSON, states in Avro, and all code that reads, writes, checks or repairs
them.

`headgate_table.table` and the committer call it. docs/format.md is the specification, and modules cite its sections.

Begin with `format` (the files), `log` (the newest version), `read` (its live files and rows), `rules` (the allowed
operations) and `write` (the next version). The other folders are maintenance and history.
"""
