"""Makes a new log from a damaged one, or from the data files if no log is left.

`headgate table repair` and `REPAIR` call it. It only reads the old log. The new log becomes a table with its last
write, so a killed run leaves nothing that looks like a table.

Begin with `repair` and `salvage` (a damaged log), or `rebuild` (no log at all).
"""
