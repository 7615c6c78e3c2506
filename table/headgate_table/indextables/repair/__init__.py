"""A new log out of a damaged one, or out of the data files where nothing of a log is left.

`headgate table repair` and `REPAIR` call it. The old log is only read. The new log becomes a table with its last
write, so that a run that is killed leaves nothing that looks like a table.

Begin with `repair` and `salvage` (a log that is damaged), or `rebuild` (no log at all).
"""
